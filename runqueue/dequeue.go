// SPDX-License-Identifier: Apache-2.0

package runqueue

// Dequeue takes the queued e off because it sleeps, or ends (sleep false). A
// sleeper that is not eligible stays queued, marked Delayed, until it is picked
// (Drop) or woken (Requeue); then the result is true. Run must have accounted
// the current entity.
//
// Sleepers in a special state (stopped, traced, parked, dead) are never
// delayed: the caller must say sleep false.
func (q *Queue) Dequeue(e *Entity, sleep bool) (delayed bool) {
	if sleep && !q.Eligible(e) {
		q.clearBuddy(e)
		q.saveLag(e)
		e.Delayed = true
		return true
	}
	q.take(e)
	e.Delayed = false
	return false
}

// Drop takes off a delayed sleeper that was picked.
func (q *Queue) Drop(e *Entity) {
	q.take(e)
	e.Delayed = false
}

// DequeueMove takes a queued entity off to be moved to another queue, or to be
// changed and put back: its deadline becomes relative (PLACE_REL_DEADLINE).
func (q *Queue) DequeueMove(e *Entity) {
	q.take(e)
	e.Deadline -= e.VRuntime
	e.RelDeadline = true
}

// take removes e, current or not, and notes its lag.
func (q *Queue) take(e *Entity) {
	q.clearBuddy(e)
	q.saveLag(e)
	if e == q.curr {
		q.curr = nil
	} else {
		q.remove(e)
	}
	e.OnRQ = false
}

// clearBuddy forgets e as the one to pick next (clear_buddies).
func (q *Queue) clearBuddy(e *Entity) {
	if q.next == e {
		q.next = nil
	}
}
