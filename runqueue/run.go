// SPDX-License-Identifier: Apache-2.0

package runqueue

// Run accounts exec ns of running to the current entity (update_curr). One that
// has used up its request gets the next (update_deadline). It returns whether
// the CPU should reschedule: others wait, and the request was used up or the
// protection is over.
func (q *Queue) Run(exec int64) (resched bool) {
	c := q.curr
	if c == nil || exec <= 0 {
		return false
	}
	c.VRuntime += vdelta(exec, c.Weight)
	used := c.VRuntime-c.Deadline >= 0
	if used {
		c.Deadline = c.VRuntime + vdelta(c.Slice, c.Weight)
		q.rebase()
	}
	return len(q.ents) > 0 && (used || q.unprotected(c))
}

// TickResched tells whether the current entity's protection, which ends at its
// deadline at the latest, is over while others wait.
func (q *Queue) TickResched() bool {
	return q.curr != nil && len(q.ents) > 0 && q.unprotected(q.curr)
}

// unprotected tells whether the current entity c should make way by itself. Up
// to 6.12 protection ends early only by preemption, and then it is enough that
// c is eligible to go on (did_preempt_short).
func (q *Queue) unprotected(c *Entity) bool {
	return !protected(c) && !(q.rules.ProtectToDeadline && q.Eligible(c))
}

// SliceLeft is how long the current entity may still run before its deadline,
// in ns of wall time, rounded up so that it is reached; the high-resolution
// tick fires then (hrtick_start_fair). 0 without a current entity.
func (q *Queue) SliceLeft() int64 {
	c := q.curr
	if c == nil {
		return 0
	}
	left := max(0, c.Deadline-c.VRuntime)
	if c.Weight == NiceZero {
		return left
	}
	return (left*c.Weight + NiceZero - 1) / NiceZero
}

// Yield gives up the rest of the current request (yield_task_fair): an eligible
// entity is moved to its deadline and gets the next one. Run must have
// accounted it; the caller reschedules.
func (q *Queue) Yield() {
	c := q.curr
	if c == nil || len(q.ents) == 0 {
		return
	}
	q.clearBuddy(c)
	if q.Eligible(c) {
		c.VRuntime = c.Deadline
		c.Deadline += vdelta(c.Slice, c.Weight)
		q.rebase()
	}
}
