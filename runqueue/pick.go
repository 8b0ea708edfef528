// SPDX-License-Identifier: Apache-2.0

package runqueue

// Pick returns the entity to run next (pick_eevdf), nil if none is queued: the
// earliest deadline among the eligible. A buddy, then the current entity while
// it is protected, come first if they are eligible.
//
// It may be a delayed sleeper, which the caller must Drop before it asks again.
func (q *Queue) Pick() *Entity { return q.pick(true) }

func (q *Queue) pick(protect bool) *Entity {
	c := q.curr
	if len(q.ents) == 0 {
		return c
	}
	if c == nil && len(q.ents) == 1 {
		return q.ents[0]
	}
	moment, weight := q.moment(), q.Weight()
	eligible := func(e *Entity) bool { return moment >= (e.VRuntime-q.v0)*weight }
	if protect && q.next != nil && eligible(q.next) {
		return q.next
	}
	if c != nil {
		if !eligible(c) {
			c = nil
		} else if protect && protected(c) {
			return c
		}
	}
	for _, e := range q.ents { // by deadline: the first eligible one is it
		if c != nil && before(c, e) {
			break
		}
		if eligible(e) {
			return e
		}
	}
	return c // there is one: not all can be behind the mean of all
}

// SetNext makes the queued entity e the current one (set_next_entity) and
// protects it. The former must have been PutPrev or dequeued. If e is current
// already nothing changes: a slice is not protected twice.
func (q *Queue) SetNext(e *Entity) {
	if e == q.curr {
		return
	}
	q.clearBuddy(e)
	q.remove(e)
	q.curr = e
	q.protect(e)
}

// PutPrev puts the current entity back among the queued ones
// (put_prev_entity).
func (q *Queue) PutPrev() {
	if c := q.curr; c != nil {
		q.curr = nil
		q.insert(c)
	}
}
