// SPDX-License-Identifier: Apache-2.0

package runqueue

// claim is what an entity that came onto the queue may do to the current one.
type claim uint8

const (
	refused  claim = iota // it waits
	certain               // it takes the CPU
	byPick                // it takes the CPU if it would be picked
	byShort               // the same, protection set aside: its slice is shorter
	toWakeup              // it is the current one or the CPU idles
)

// claimOf is the first half of wakeup_preempt_fair (mechanisms 9.3): what can
// be said without a pick.
func (q *Queue) claimOf(p *Entity, fork bool) claim {
	c := q.curr
	old := q.rules.OldPreempt
	switch {
	case c == nil || c == p:
		return toWakeup
	case c.Idle && !p.Idle:
		return certain
	case c.Idle != p.Idle, p.Idle, p.Batch, p.Delayed && !old:
		return refused
	case p.Slice < c.Slice:
		return byShort
	case fork && !old:
		return refused
	}
	return byPick
}

// WakeupPreempt tells whether the entity p, which has just come onto the queue,
// takes the CPU from the current one (wakeup_preempt_fair, mechanisms 9.3); on
// a queue without a current one it does. fork is WF_FORK. Run must have
// accounted the current entity.
//
// In 7.3 a "yes" ends the current one's protection, and makes p the buddy if its
// slice is shorter; a "no" shortens the protection. With OldPreempt and
// PreemptByPick (mechanisms 0.3 row 26) the caller must not ask if a
// reschedule is pending already.
func (q *Queue) WakeupPreempt(p *Entity, fork bool) bool {
	c := q.curr
	switch q.claimOf(p, fork) {
	case toWakeup:
		return c == nil
	case certain:
		if !q.rules.OldPreempt {
			unprotect(c)
		}
		return true
	case refused:
		if !q.rules.PreemptByPick {
			q.shorten(c)
		}
		return false
	case byShort:
		if q.shortPreempt(c, p) {
			return true
		}
	case byPick:
		if q.pick(true) == p {
			if !q.rules.OldPreempt && !q.rules.PreemptByPick {
				unprotect(c)
			}
			return true
		}
	}
	q.shorten(c)
	return false
}

// shortPreempt is WakeupPreempt for a p whose slice is shorter than that of c.
// In 7.3 it is enough that p is eligible; p is then the buddy, so that it is
// what runs next.
func (q *Queue) shortPreempt(c, p *Entity) bool {
	switch {
	case q.rules.OldPreempt: // do_preempt_short
		if q.Eligible(p) && (before(p, c) || !q.Eligible(c)) {
			unprotect(c)
		}
		return q.pick(true) == p
	case q.rules.PreemptByPick:
		if q.pick(false) != p {
			return false
		}
	default:
		if q.pick(false) != p && !q.Eligible(p) {
			return false
		}
		if q.next == nil || q.next.Slice >= p.Slice { // set_short_buddy
			q.next = p
		}
	}
	unprotect(c)
	return true
}

// PreemptDrops returns the delayed sleeper that stands in p's way: the pick
// within wakeup_preempt_fair drops those that it meets. The caller Drops it and
// asks again, until the answer is nil, before it asks WakeupPreempt.
func (q *Queue) PreemptDrops(p *Entity, fork bool) *Entity {
	if q.rules.OldPreempt {
		return nil
	}
	claim := q.claimOf(p, fork)
	if claim != byPick && claim != byShort {
		return nil
	}
	if e := q.pick(claim == byPick); e.Delayed {
		return e
	}
	return nil
}
