// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"math"

	"sibyl/domain"
)

// jiffies is msecs_to_jiffies: rounded up.
func (b *Balancer) jiffies(ms int64) int64 { return (ms*b.hz + 999) / 1000 }

// Interval is get_sd_balance_interval: how many jiffies have to pass between
// two periodic passes over d. A busy CPU waits BusyFactor times as long, minus
// one jiffy so that the passes of different levels do not fall together.
func (b *Balancer) Interval(d *domain.Domain, busy bool) int64 {
	ms := int64(b.s.Domains[d.ID].BalanceInterval)
	if busy {
		ms *= int64(d.BusyFactor)
	}
	j := b.jiffies(ms)
	if busy {
		j--
	}
	return min(max(j, 1), b.maxInterval)
}

// walk is the state of one sched_balance_domains.
type walk struct {
	next int64 // earliest next balance, jiffies
	due  bool  // the present domain's pass was due
	top  *domain.Domain
}

// BeginDomains starts the periodic walk of a CPU's domains
// (sched_balance_domains). The caller goes on, from the base domain upward,
//
//	b.BeginDomains(c)
//	for d := base; d != nil && more; d = d.Parent {
//		if b.Due(d, busy, jiffies) {
//			plan := b.Pass(d, c, idle, now, jiffies) // and moves the tasks
//			// if some moved, idle and busy are judged anew from c
//		}
//		b.DomainDone(d, busy, jiffies)
//		// more is plan.Continue of the last pass
//	}
//	b.FinishDomains(c, jiffies)
//
// where busy says that the CPU is not idle; that a CPU with nothing but
// SCHED_IDLE tasks counts as not busy is seen to here.
func (b *Balancer) BeginDomains(int) {
	b.walk = walk{next: math.MaxInt64}
}

// Due tells whether the periodic pass over d is due. DomainDone notes the pass
// if it was.
func (b *Balancer) Due(d *domain.Domain, busy bool, jiffies int64) bool {
	b.walk.due = jiffies >= b.s.Domains[d.ID].LastBalance+b.Interval(d, b.busy(d, busy))
	return b.walk.due
}

// DomainDone ends d's turn, whether or not its pass was due.
func (b *Balancer) DomainDone(d *domain.Domain, busy bool, jiffies int64) {
	st := &b.s.Domains[d.ID]
	if b.walk.due {
		st.LastBalance = jiffies
		b.walk.due = false
	}
	b.walk.next = min(b.walk.next, st.LastBalance+b.Interval(d, b.busy(d, busy)))
	b.walk.top = d
}

// FinishDomains ends the walk: cpu's next_balance, and the decay of what newly
// idle passes are believed to cost.
func (b *Balancer) FinishDomains(cpu int, jiffies int64) {
	q := &b.s.CPUs[cpu]
	if b.walk.next < jiffies+60*b.hz {
		q.NextBalance = b.walk.next
	}
	var sum int64
	decayed := false
	for d := b.s.H.Base[cpu]; d != nil; d = d.Parent {
		decayed = b.decayNewidleCost(d, jiffies)
		sum += b.s.Domains[d.ID].MaxNewidleCost
		// Above a level that ended the walk only due decays go on.
		if !decayed && b.walk.top != nil && d.Level > b.walk.top.Level {
			break
		}
	}
	if decayed {
		q.MaxIdleCost = max(migrationCost, sum)
	}
}

func (b *Balancer) busy(d *domain.Domain, busy bool) bool {
	return busy && !b.s.IdlePolicy.Has(d.CPU)
}

// IdleCoreWalk does the periodic walk of CPU c in one step where nothing can come
// of it: c's core is wholly idle, its SMT domain is due and no wider one is. The
// idle balancer meets this on most CPUs at most ticks. It returns false, having
// done nothing, if the ordinary walk is needed; the state afterwards is the same
// as after the ordinary walk with CPUIdle.
func (b *Balancer) IdleCoreWalk(c int, jiffies int64) bool {
	s := b.s
	d := s.H.Base[c]
	if d == nil || d.Parent == nil || d.Shared >= 0 || !is(d, domain.ShareCPUCapacity) || !s.IdleCore.Has(c) || !s.H.Active.Has(c) {
		return false
	}
	st := &s.Domains[d.ID]
	if jiffies < st.LastBalance+b.Interval(d, false) {
		return false
	}
	next := int64(math.MaxInt64)
	top := d
	for up := d.Parent; up != nil; up = up.Parent {
		at := s.Domains[up.ID].LastBalance + b.Interval(up, false)
		if jiffies >= at {
			return false
		}
		next, top = min(next, at), up
	}
	b.UpdateGroupCapacity(d, c, jiffies)
	s.Groups[d.Parent.Groups[0].ID].Imbalance = false
	st.NrBalanceFailed = 0
	if st.BalanceInterval < d.MaxInterval {
		st.BalanceInterval *= 2
	}
	st.LastBalance = jiffies
	b.walk = walk{next: min(next, jiffies+b.Interval(d, false)), top: top}
	b.FinishDomains(c, jiffies)
	return true
}
