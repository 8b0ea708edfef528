// SPDX-License-Identifier: Apache-2.0

package runqueue

// Pick returns the entity to run next (pick_eevdf), nil if none is queued. It
// may be a delayed sleeper, which the caller must Drop. The current entity
// keeps running while it is eligible and protected.
func (q *Queue) Pick() *Entity { return q.pick(true) }

func (q *Queue) pick(protect bool) *Entity {
	c := q.curr
	if c == nil && len(q.ents) == 1 {
		return q.ents[0]
	}
	if len(q.ents) == 0 {
		return c
	}
	if c != nil && !q.Eligible(c) {
		c = nil
	}
	if c != nil && protect && q.protected(c) {
		return c
	}
	for _, e := range q.ents { // by deadline: the first eligible one is it
		if c != nil && before(c, e) {
			return c
		}
		if q.Eligible(e) {
			return e
		}
	}
	if c != nil {
		return c
	}
	return q.ents[0] // rounding left nobody eligible
}

// protected tells whether e may run on although another could be picked
// (protect_slice).
func (q *Queue) protected(e *Entity) bool { return e.VRuntime-e.VProt < 0 }

// SetNext makes the queued entity e the current one. Its slice is protected up
// to its deadline, or up to the shortest queued request (set_protect_slice).
func (q *Queue) SetNext(e *Entity) {
	if e == q.curr {
		return
	}
	short := q.shortest(e.Slice)
	q.remove(e)
	q.curr = e
	e.VProt = e.Deadline
	if short < e.Slice && !q.rules.ProtectToDeadline {
		e.VProt = min(e.VProt, e.VRuntime+vdelta(short, e.Weight))
	}
}

// shortest is the shortest request on the queue, at most slice.
func (q *Queue) shortest(slice int64) int64 {
	for _, e := range q.ents {
		slice = min(slice, e.Slice)
	}
	if q.curr != nil {
		slice = min(slice, q.curr.Slice)
	}
	return slice
}

// PutPrev puts the current entity back among the queued ones.
func (q *Queue) PutPrev() {
	if c := q.curr; c != nil {
		q.curr = nil
		q.insert(c)
	}
}

// WakeupPreempt tells whether the entity p, which has just come onto the queue,
// takes the CPU from the current one (wakeup_preempt_fair, mechanisms 9.3). A
// "no" shortens the current one's protection.
func (q *Queue) WakeupPreempt(p *Entity, fork bool) bool {
	c := q.curr
	switch {
	case c == nil || c == p:
		return c == nil
	case c.Idle && !p.Idle:
		return true
	case p.Idle || p.Batch:
		q.shorten(c)
		return false
	case p.Delayed && !q.rules.OldPreempt:
		q.shorten(c)
		return false
	}
	if p.Slice < c.Slice {
		if q.pick(false) == p || q.Eligible(p) {
			return true
		}
	}
	if fork && !q.rules.OldPreempt {
		q.shorten(c)
		return false
	}
	if q.pick(true) == p {
		return true
	}
	q.shorten(c)
	return false
}

// shorten is update_protect_slice: a waiting task lets the current one run for
// the shortest request from now, no longer.
func (q *Queue) shorten(c *Entity) {
	if q.rules.ProtectToDeadline {
		return
	}
	from := min(c.VRuntime, q.AvgVRuntime())
	c.VProt = min(c.VProt, from+vdelta(q.shortest(c.Slice), c.Weight))
}

// TickResched tells whether the current entity's protection is over while
// others wait.
func (q *Queue) TickResched() bool {
	return q.curr != nil && len(q.ents) > 0 && !q.protected(q.curr)
}

// SliceLeft is how long the current entity may still run before its deadline,
// in ns of wall time; the high-resolution tick fires then.
func (q *Queue) SliceLeft() int64 {
	c := q.curr
	if c == nil {
		return 0
	}
	return max(0, c.Deadline-c.VRuntime) * c.Weight / NiceZero
}

// Yield gives up the rest of the current request (yield_task_fair): an eligible
// entity is moved to its deadline and gets the next one.
func (q *Queue) Yield() {
	c := q.curr
	if c == nil || len(q.ents) == 0 {
		return
	}
	if q.Eligible(c) {
		c.VRuntime = c.Deadline
		c.Deadline += vdelta(c.Slice, c.Weight)
	}
	c.VProt = c.VRuntime
}
