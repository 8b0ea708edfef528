// SPDX-License-Identifier: Apache-2.0

package balance

import "math"

// blockedPeriod is how long blocked load may go without a refresh, in ms
// (LOAD_AVG_PERIOD).
const blockedPeriod = 32

// ilb is the state of one _nohz_idle_balance.
type ilb struct {
	self       int
	flags      uint8
	jiffies    int64
	pos        int
	wrapped    bool
	cur        int // the CPU handed out last, -1 for none
	refreshed  bool
	next       int64
	hasBlocked bool
	aborted    bool
}

// BeginILB is the arrival of a kick at CPU self (nohz_csd_func and the start of
// _nohz_idle_balance): it takes the pending flags. It returns those to be
// served, 0 if there are none or if self is no longer idle (then the kick is
// lost and self does its own periodic balance as usual).
//
// If flags is not 0 the caller goes on with
//
//	for {
//		c, refresh, balance := b.NextILB()
//		if c < 0 {
//			break
//		}
//		// refresh: bring CPUs[c].Avg up to now
//		// balance: the domain walk of c with CPUIdle, as at a tick of c
//		//          (BeginDomains, Due, Pass, DomainDone, FinishDomains)
//	}
//	b.EndILB()
//
// Tasks are pulled to c, not to self.
func (b *Balancer) BeginILB(self int, jiffies int64) (flags uint8) {
	q := &b.s.CPUs[self]
	flags = q.NohzFlags & kickMask
	q.NohzFlags = 0
	if flags == 0 || !b.s.Idle.Has(self) {
		return 0
	}
	b.startILB(self, flags, jiffies)
	return flags
}

// BeginNewILB is nohz_run_idle_balance: the idle loop of self serves its own
// NewILBKick, which NewidleFailed has set: blocked load is refreshed, nothing
// is balanced, no other CPU is woken. It returns whether there is something to
// do, which the caller does as for BeginILB. A real kick that is pending at
// the same time takes precedence.
func (b *Balancer) BeginNewILB(self int, jiffies int64) bool {
	q := &b.s.CPUs[self]
	flags := q.NohzFlags
	q.NohzFlags &^= NewILBKick
	if flags != NewILBKick || !b.s.Idle.Has(self) {
		return false
	}
	b.startILB(self, StatsKick, jiffies)
	return true
}

func (b *Balancer) startILB(self int, flags uint8, jiffies int64) {
	if flags&StatsKick != 0 {
		b.s.Nohz.HasBlocked = false
	}
	if flags&NextKick != 0 {
		b.s.Nohz.NeedsUpdate = false
	}
	b.ilb = ilb{self: self, flags: flags, jiffies: jiffies, pos: self + 1, cur: -1, next: math.MaxInt64}
}

// NextILB returns the next tickless CPU that the ILB has to do something for,
// from self+1 upward and around, self last; -1 when it is through. refresh asks
// for c's averages to be brought up to date, balance for its domain walk. It
// reads the mask live and finishes the CPU that it returned before.
func (b *Balancer) NextILB() (c int, refresh, balance bool) {
	s, w := b.s, &b.ilb
	b.leaveILB()
	for !w.aborted {
		c = b.scanILB()
		if c < 0 {
			return -1, false, false
		}
		if !s.Idle.Has(c) {
			continue
		}
		if !s.Idle.Has(w.self) {
			b.abortILB()
			break
		}
		q := &s.CPUs[c]
		if w.flags&StatsKick != 0 && q.HasBlockedLoad {
			if w.jiffies > q.BlockedStamp {
				q.BlockedStamp = w.jiffies
				refresh = true
			} else {
				w.hasBlocked = true
			}
		}
		balance = w.jiffies >= q.NextBalance && w.flags&BalanceKick != 0
		if refresh || balance {
			w.cur, w.refreshed = c, refresh
			return c, refresh, balance
		}
		w.next = min(w.next, q.NextBalance)
	}
	return -1, false, false
}

// scanILB is one step of the wrapped walk over the idle mask.
func (b *Balancer) scanILB() int {
	w, mask := &b.ilb, b.s.Nohz.IdleMask
	if !w.wrapped {
		if c := mask.Next(w.pos); c >= 0 {
			w.pos = c + 1
			return c
		}
		w.wrapped, w.pos = true, 0
	}
	c := mask.Next(w.pos)
	if c < 0 || c > w.self {
		return -1
	}
	w.pos = c + 1
	return c
}

// leaveILB takes account of what the caller did for the last CPU.
func (b *Balancer) leaveILB() {
	w := &b.ilb
	if w.cur < 0 {
		return
	}
	q := &b.s.CPUs[w.cur]
	if w.refreshed {
		q.HasBlockedLoad = q.Avg.LoadAvg != 0 || q.Avg.UtilAvg != 0 || q.RTUtil != 0 || q.IRQUtil != 0
		w.hasBlocked = w.hasBlocked || q.HasBlockedLoad
	}
	w.next = min(w.next, q.NextBalance)
	w.cur = -1
}

// abortILB: self got work. The rest is left to the next kick.
func (b *Balancer) abortILB() {
	w := &b.ilb
	w.aborted = true
	if w.flags&StatsKick != 0 {
		w.hasBlocked = true
	}
	if w.flags&NextKick != 0 {
		b.s.Nohz.NeedsUpdate = true
	}
}

// EndILB is the tail of _nohz_idle_balance, after NextILB returned -1: the time
// of the next balance and of the next refresh of blocked load.
func (b *Balancer) EndILB() {
	w, n := &b.ilb, &b.s.Nohz
	b.leaveILB()
	if !w.aborted {
		if w.next < w.jiffies+60*b.hz {
			n.NextBalance = w.next
		}
		if w.flags&StatsKick != 0 {
			n.NextBlocked = w.jiffies + b.jiffies(blockedPeriod)
		}
	}
	if w.hasBlocked {
		n.HasBlocked = true
	}
}
