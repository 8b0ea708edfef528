// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/domain"
	"sibyl/state"
)

const (
	// migrationCost is sysctl_sched_migration_cost, ns.
	migrationCost = state.MigrationCost
	// newidleCalls is the number of calls after which the success ratio of
	// newly idle passes is computed anew.
	newidleCalls = 1024
)

// NewidleAllowed tells whether cpu, which has just run out of tasks, may look
// for some at all (the head of sched_balance_newidle, mechanisms 7.1). It
// clears the CPU's own misfit.
func (b *Balancer) NewidleAllowed(cpu int) bool {
	s := b.s
	q := &s.CPUs[cpu]
	q.MisfitLoad = 0
	if q.TTWUPending || !s.H.Active.Has(cpu) {
		return false
	}
	d := s.H.Base[cpu]
	if d == nil {
		return false
	}
	if !s.RDOverloaded || q.AvgIdle < s.Domains[d.ID].MaxNewidleCost {
		b.hastenNext(d)
		return false
	}
	return true
}

// NewidleDomain decides about one domain of a newly idle CPU's walk, which goes
// from the base upward. spent is what the levels below cost, draw a uniform
// number in [0,1024) from the caller's stream, now in ns. run asks for Pass
// with NewlyIdle and then NewidleDone; stop ends the walk. The walk also ends
// at the first success, when the CPU got work, and when Plan.Continue is false.
//
// The gate NI_RANDOM skips a domain in proportion to how seldom it yielded a
// task; a skip counts as a failure.
func (b *Balancer) NewidleDomain(d *domain.Domain, spent int64, draw uint32, now int64) (run, stop bool) {
	st := &b.s.Domains[d.ID]
	b.hastenNext(d)
	if b.s.CPUs[d.CPU].AvgIdle < spent+st.MaxNewidleCost {
		return false, true
	}
	if !is(d, domain.BalanceNewidle) {
		return false, false
	}
	if w := b.newidleWeight(d); w > 0 && int(draw) > w {
		b.noteNewidle(d, 0, now)
		return false, false
	}
	return true, false
}

// NewidleDone notes a newly idle pass over d: whether it pulled a task and what
// it cost in ns (above 0).
func (b *Balancer) NewidleDone(d *domain.Domain, success bool, cost, now int64) {
	st := &b.s.Domains[d.ID]
	n := 0
	if success {
		n = 1
		if w := b.newidleWeight(d); w > 0 {
			n = (1024 + w/2) / w // it stands for the skipped ones too
		}
	}
	b.noteNewidle(d, n, now)
	if cost > st.MaxNewidleCost {
		st.MaxNewidleCost = min(cost, migrationCost+200)
		st.NewidleDecay = now / b.s.TickNS
	}
}

// NewidleFailed ends a newly idle walk that found no task; spent is what it
// cost, 0 if NewidleAllowed refused it. It is the tail of sched_balance_newidle
// with nohz_newidle_balance: if blocked load is due for a refresh, the CPU will
// see to it in its idle loop, where BeginNewILB serves it.
func (b *Balancer) NewidleFailed(cpu int, spent, jiffies int64) {
	b.NewidleSpent(cpu, spent)
	q, n := &b.s.CPUs[cpu], &b.s.Nohz
	if q.AvgIdle >= migrationCost && n.HasBlocked && jiffies >= n.NextBlocked {
		q.NohzFlags |= NewILBKick
	}
}

// NewidleSpent notes what a whole newly idle walk cost, in ns; NewidleFailed
// does it too.
func (b *Balancer) NewidleSpent(cpu int, spent int64) {
	q := &b.s.CPUs[cpu]
	q.MaxIdleCost = max(q.MaxIdleCost, spent)
}

// AvgIdle samples an idle period of idleNS that CPU c leaves (update_rq_avg_idle):
// an eighth of the difference, at most twice what newly idle passes may cost.
// Editions of row 19 call it for idle periods that a wakeup ends only.
func (b *Balancer) AvgIdle(cpu int, idleNS int64) {
	q := &b.s.CPUs[cpu]
	q.AvgIdle += (idleNS - q.AvgIdle) / 8
	q.AvgIdle = min(q.AvgIdle, 2*q.MaxIdleCost)
}

// newidleWeight is the draw up to which d's pass runs; 0 if there is no gate.
func (b *Balancer) newidleWeight(d *domain.Domain) int {
	ratio := b.s.Domains[d.ID].NewidleRatio
	if b.r.NoNewidleRandom || ratio >= newidleCalls {
		return 0
	}
	return 1 + ratio
}

// noteNewidle is update_newidle_stats. With NI_RATE, domains that are seldom
// asked get a higher ratio: one unit for each 2^22 ns that 512 calls took.
func (b *Balancer) noteNewidle(d *domain.Domain, success int, now int64) {
	st := &b.s.Domains[d.ID]
	st.NewidleCall++
	st.NewidleSuccess += success
	if st.NewidleCall < newidleCalls {
		return
	}
	ratio := int64(st.NewidleSuccess)
	if !b.r.NoNewidleRate {
		ratio += max(0, now-st.NewidleStamp) >> 22
	}
	st.NewidleStamp = now
	st.NewidleRatio = int(min(ratio, newidleCalls))
	st.NewidleCall /= 2
	st.NewidleSuccess /= 2
}

// decayNewidleCost is the periodic half of update_newidle_cost: once a second
// d's highest cost loses a little over one per cent.
func (b *Balancer) decayNewidleCost(d *domain.Domain, jiffies int64) bool {
	st := &b.s.Domains[d.ID]
	if jiffies <= st.NewidleDecay+b.hz {
		return false
	}
	st.MaxNewidleCost = st.MaxNewidleCost * 253 / 256
	st.NewidleDecay = jiffies
	return true
}

// hastenNext is update_next_balance: cpu's next periodic balance is not later
// than d's interval for an idle CPU allows.
func (b *Balancer) hastenNext(d *domain.Domain) {
	q := &b.s.CPUs[d.CPU]
	q.NextBalance = min(q.NextBalance, b.s.Domains[d.ID].LastBalance+b.Interval(d, false))
}
