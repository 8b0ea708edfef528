// SPDX-License-Identifier: Apache-2.0

package runqueue

import "sibyl/policy"

// Init prepares an empty queue. r must outlive the queue and not change;
// tickNS is the length of a jiffy, which bounds the lag of a sleeper.
func (q *Queue) Init(r *policy.Rules, tickNS int64) {
	*q = Queue{rules: r, tick: tickNS, ents: q.ents[:0]}
}

// Curr returns the running entity, nil if there is none.
func (q *Queue) Curr() *Entity { return q.curr }

// Len returns the number of queued entities, current and delayed included.
func (q *Queue) Len() int {
	if q.curr != nil {
		return len(q.ents) + 1
	}
	return len(q.ents)
}

// Weight returns the sum of the queued entities' weights, current included.
func (q *Queue) Weight() int64 {
	if q.curr != nil {
		return q.sumW + q.curr.Weight
	}
	return q.sumW
}

// vdelta turns ns of running into virtual ns of an entity of weight w.
func vdelta(ns, w int64) int64 {
	if w == NiceZero {
		return ns
	}
	return ns * NiceZero / w
}

// moment is Σ w(v-v0) over all queued entities, current included.
func (q *Queue) moment() int64 {
	if q.curr != nil {
		return q.sumWV + q.curr.Weight*(q.curr.VRuntime-q.v0)
	}
	return q.sumWV
}

// AvgVRuntime is V, the weighted mean of the queued vruntimes, rounded down
// (avg_vruntime).
func (q *Queue) AvgVRuntime() int64 {
	w := q.Weight()
	if w == 0 {
		return q.v0
	}
	m := q.moment()
	avg := m / w
	if m%w != 0 && m < 0 {
		avg--
	}
	return q.v0 + avg
}

// Eligible tells whether e's lag is not negative (entity_eligible), exactly:
// without the division that V needs.
func (q *Queue) Eligible(e *Entity) bool {
	return q.moment() >= (e.VRuntime-q.v0)*q.Weight()
}

// rebase moves v0 to V so that the products stay small.
func (q *Queue) rebase() {
	v := q.AvgVRuntime()
	q.sumWV -= (v - q.v0) * q.sumW
	q.v0 = v
}

func before(a, b *Entity) bool {
	if d := a.Deadline - b.Deadline; d != 0 {
		return d < 0
	}
	return a.ID < b.ID
}

// insert puts e into the order of deadlines.
func (q *Queue) insert(e *Entity) {
	q.ents = append(q.ents, e)
	i := len(q.ents) - 1
	for ; i > 0 && before(e, q.ents[i-1]); i-- {
		q.ents[i] = q.ents[i-1]
	}
	q.ents[i] = e
	q.sumW += e.Weight
	q.sumWV += e.Weight * (e.VRuntime - q.v0)
}

// remove takes e out of the order of deadlines.
func (q *Queue) remove(e *Entity) {
	for i := range q.ents {
		if q.ents[i] == e {
			q.ents = append(q.ents[:i], q.ents[i+1:]...)
			q.sumW -= e.Weight
			q.sumWV -= e.Weight * (e.VRuntime - q.v0)
			return
		}
	}
	panic("runqueue: entity is not queued here")
}

// lag is V-v, bounded by what one request and a tick can make (update_entity_lag,
// entity_lag).
func (q *Queue) lag(e *Entity) int64 {
	slice := e.Slice
	if q.rules.SliceLagBound {
		slice = max(2*e.Slice, q.tick)
	} else {
		for _, o := range q.ents {
			slice = max(slice, o.Slice)
		}
		if q.curr != nil {
			slice = max(slice, q.curr.Slice)
		}
		slice += q.tick
	}
	bound := vdelta(slice, e.Weight)
	return max(-bound, min(bound, q.AvgVRuntime()-e.VRuntime))
}

// place gives e a vruntime that restores its lag once it is part of the queue
// (place_entity).
func (q *Queue) place(e *Entity, request int64) {
	v := q.AvgVRuntime()
	lag := int64(0)
	if w := q.Weight(); w > 0 && e.VLag != 0 {
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

// Enqueue puts a woken or new entity on the queue. A new one (initial) gets half
// a request, so that it does not push others back at once.
func (q *Queue) Enqueue(e *Entity, initial bool) {
	q.rebase()
	request := e.Slice
	if initial {
		request /= 2
	}
	q.place(e, request)
	e.OnRQ = true
	q.insert(e)
}

// EnqueueMoved puts an entity on the queue that DequeueMove took off another: it
// keeps its lag and what was left of its request.
func (q *Queue) EnqueueMoved(e *Entity) {
	q.Enqueue(e, false)
}

// Dequeue takes e off because it sleeps (or ends: sleep false). A sleeper with
// negative lag stays queued, marked Delayed, until it is picked or woken; then
// the result is true.
func (q *Queue) Dequeue(e *Entity, sleep bool) (delayed bool) {
	if sleep && !q.Eligible(e) {
		e.Delayed = true
		return true
	}
	q.take(e)
	return false
}

// DequeueMove takes a queued entity off to be moved to another queue.
func (q *Queue) DequeueMove(e *Entity) {
	q.take(e)
	e.Deadline -= e.VRuntime
	e.RelDeadline = true
}

// Requeue re-enables a delayed sleeper that was woken before it was picked
// (requeue_delayed_entity): its debt is kept unless it has been paid off.
func (q *Queue) Requeue(e *Entity) {
	e.Delayed = false
	lag := q.lag(e)
	if lag <= 0 || e == q.curr {
		return
	}
	// DELAY_ZERO: sleeping must not earn lag.
	q.remove(e)
	e.VLag = 0
	q.place(e, e.Slice)
	q.insert(e)
}

// Drop takes off a delayed sleeper that was picked. DELAY_ZERO caps its lag at
// zero.
func (q *Queue) Drop(e *Entity) {
	e.Delayed = false
	q.take(e)
	e.VLag = min(e.VLag, 0)
}

// take removes e, current or not, and notes its lag.
func (q *Queue) take(e *Entity) {
	e.VLag = q.lag(e)
	if e == q.curr {
		q.curr = nil
	} else {
		q.remove(e)
	}
	e.OnRQ = false
	q.rebase()
}

// Run accounts exec ns of running to the current entity (update_curr). It
// returns whether the entity has used up its request.
func (q *Queue) Run(exec int64) (resched bool) {
	c := q.curr
	if c == nil || exec <= 0 {
		return false
	}
	c.VRuntime += vdelta(exec, c.Weight)
	if c.VRuntime-c.Deadline < 0 {
		return false
	}
	c.Deadline = c.VRuntime + vdelta(c.Slice, c.Weight)
	return true
}
