// SPDX-License-Identifier: Apache-2.0

package balance

// Kick is what the tick of a CPU does for the tickless idle ones
// (nohz_balancer_kick and kick_ilb, mechanisms 6.2 and 6.3). It returns the CPU
// that gets an interrupt and the flags of this kick, or target -1 if no
// interrupt is to be sent. The target's NohzFlags have been set; BeginILB takes
// them when the interrupt arrives. jiffies is the tick's number. The kernel runs
// it before the tick's own periodic balance, which is a softirq.
func (b *Balancer) Kick(cpu int, jiffies int64) (target int, flags uint8) {
	s := b.s
	if s.H.Base[cpu] == nil || s.Idle.Has(cpu) {
		return -1, 0
	}
	b.ExitNohz(cpu)
	n := &s.Nohz
	if n.HasBlocked && jiffies > n.NextBlocked {
		flags = StatsKick
	}
	if jiffies >= n.NextBalance {
		if n.IdleMask.Empty() {
			return -1, 0
		}
		if b.wantsBalance(cpu) {
			flags = StatsKick | BalanceKick
		}
	}
	if n.NeedsUpdate {
		flags |= NextKick
	}
	if flags == 0 {
		return -1, 0
	}
	return b.kickILB(cpu, flags, jiffies)
}

// wantsBalance is conditions 5 to 7 of mechanisms 6.2: does the busy CPU give a
// reason to balance tickless idle CPUs?
func (b *Balancer) wantsBalance(cpu int) bool {
	s := b.s
	q := &s.CPUs[cpu]
	if q.NrRunning >= 2 {
		return true
	}
	fair := q.NrRunnable
	if b.r.KickCountsDelayed {
		fair = q.NrQueued
	}
	if fair >= 1 && b.reduced(cpu, s.H.Base[cpu].ImbalancePct) {
		return true
	}
	if d := s.H.AsymPacking[cpu]; d != nil {
		for i := d.Span.NextAnd(s.Nohz.IdleMask, 0); i >= 0; i = d.Span.NextAnd(s.Nohz.IdleMask, i+1) {
			if b.asymMove(d, i, cpu) {
				return true
			}
		}
	}
	if s.H.AsymCapacity[cpu] != nil {
		// The rule on busy CPUs of the LLC is skipped here: with asymmetric
		// capacities a core that is busy may be where the task belongs.
		return q.MisfitLoad != 0
	}
	i := s.H.BalanceShared[cpu]
	return i >= 0 && s.Shared[i].NrBusyCPUs > 1
}

// kickILB is kick_ilb.
func (b *Balancer) kickILB(cpu int, flags uint8, jiffies int64) (int, uint8) {
	s := b.s
	if flags&BalanceKick != 0 {
		// One full kick per jiffy in the whole system.
		s.Nohz.NextBalance = jiffies + 1
	}
	target := b.FindILB(cpu)
	if target < 0 {
		return -1, 0
	}
	pending := &s.CPUs[target].NohzFlags
	had := *pending
	*pending |= flags
	if had&kickMask != 0 {
		return -1, 0 // an interrupt is on its way already
	}
	return target, flags
}
