// SPDX-License-Identifier: Apache-2.0

package balance

// The bits of a run queue's nohz_flags (NOHZ_*_KICK, kernel/sched/sched.h).
const (
	BalanceKick uint8 = 1 << iota // run the domain passes
	StatsKick                     // refresh blocked load
	NewILBKick                    // refresh blocked load in the own idle loop
	NextKick                      // recompute nohz.next_balance

	kickMask = BalanceKick | StatsKick | NextKick // NOHZ_KICK_MASK
)

// EnterNohz is nohz_balance_enter_idle: CPU c, which idles, has really stopped
// its tick. It has no effect on a CPU that is not active or has no domain. A
// further call while the tick stays stopped only says that there may be
// blocked load again.
func (b *Balancer) EnterNohz(c int) {
	s := b.s
	if !s.H.Active.Has(c) {
		return
	}
	q := &s.CPUs[c]
	q.HasBlockedLoad = true
	if !q.TickStopped {
		if s.H.Base[c] == nil {
			return
		}
		q.TickStopped = true
		s.Nohz.IdleMask.Set(c)
		if i := s.H.LLCShared[c]; i >= 0 {
			s.Shared[i].NrBusyCPUs--
		}
		s.Nohz.NeedsUpdate = true
	}
	s.Nohz.HasBlocked = true
}

// ExitNohz is nohz_balance_exit_idle. The kernel runs it at c's first tick that
// finds the CPU busy, not at the wakeup, so that the idle mask holds busy CPUs
// for up to one tick. Kick calls it.
func (b *Balancer) ExitNohz(c int) {
	s := b.s
	q := &s.CPUs[c]
	if !q.TickStopped {
		return
	}
	q.TickStopped = false
	s.Nohz.IdleMask.Clear(c)
	if i := s.H.LLCShared[c]; i >= 0 {
		s.Shared[i].NrBusyCPUs++
	}
}
