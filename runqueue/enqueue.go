// SPDX-License-Identifier: Apache-2.0

package runqueue

// place gives e, which is not in the tree, a vruntime that is e.VLag behind
// the mean once e is part of it, and a deadline one request later
// (place_entity). e joining moves the mean towards e, so the distance to the
// present mean must be larger by (W+w)/W. On a queue without others lag has no
// meaning.
func (q *Queue) place(e *Entity, request int64, others bool) {
	lag := int64(0)
	v := q.rebase()
	if others && e.VLag != 0 {
		w := q.Weight()
		lag = e.VLag * (w + e.Weight) / w
	}
	e.VRuntime = v - lag
	if e.RelDeadline {
		e.Deadline += e.VRuntime
		e.RelDeadline = false
		return
	}
	e.Deadline = e.VRuntime + vdelta(request, e.Weight)
}

// Enqueue puts a woken or new entity on the queue. A new one (initial) gets
// half a request, so that it does not push others back at once. Run must have
// accounted the current entity.
func (q *Queue) Enqueue(e *Entity, initial bool) {
	request := e.Slice
	if initial {
		request /= 2
	}
	q.place(e, request, q.Len() > 0)
	e.OnRQ = true
	q.insert(e)
}

// EnqueueMoved puts an entity on the queue that DequeueMove took off another:
// it keeps its lag and what was left of its request. A delayed sleeper stays
// one.
func (q *Queue) EnqueueMoved(e *Entity) { q.Enqueue(e, false) }

// Requeue re-enables a delayed sleeper that was woken before it was picked
// (requeue_delayed_entity). It goes on where it stands, with its deadline,
// unless its lag was capped: then it is placed anew with the capped one.
func (q *Queue) Requeue(e *Entity) {
	if q.saveLag(e) {
		others := q.Len() > 1
		if e != q.curr {
			q.remove(e)
		}
		q.place(e, e.Slice, others)
		if e != q.curr {
			q.insert(e)
		}
	}
	e.Delayed = false
}
