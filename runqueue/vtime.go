// SPDX-License-Identifier: Apache-2.0

package runqueue

// vdelta turns ns of running into virtual ns of an entity of weight w
// (calc_delta_fair). The kernel multiplies by a rounded inverse of w and may
// differ in the last digits unless w is 1024.
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

// floorDiv is a/b rounded down, b > 0.
func floorDiv(a, b int64) int64 {
	d := a / b
	if a < 0 && d*b != a {
		d--
	}
	return d
}

// AvgVRuntime is V, the weighted mean of the queued vruntimes, rounded down so
// that an entity of that time is eligible (avg_vruntime). On an empty queue it
// is what it was last.
func (q *Queue) AvgVRuntime() int64 {
	if len(q.ents) == 0 {
		if q.curr != nil {
			return q.curr.VRuntime
		}
		return q.v0
	}
	if q.curr == nil && len(q.ents) == 1 {
		return q.ents[0].VRuntime
	}
	return q.v0 + floorDiv(q.moment(), q.Weight())
}

// rebase makes V the zero of the keys (update_zero_vruntime) and returns it.
func (q *Queue) rebase() int64 {
	v := q.AvgVRuntime()
	q.sumWV -= (v - q.v0) * q.sumW
	q.v0 = v
	return v
}

// Eligible tells whether the CPU owes the queued entity e time, or nothing
// (entity_eligible). It is exact: V's division would round.
//
//	V >= v   <=>   Σ w(v_j-v0) >= (v-v0) * Σ w
func (q *Queue) Eligible(e *Entity) bool {
	return q.moment() >= (e.VRuntime-q.v0)*q.Weight()
}

// ineligibleAt is the vruntime at which the current entity stops being
// eligible (ineligible_vruntime): just above the mean of the others, of which
// there must be some.
func (q *Queue) ineligibleAt() int64 { return q.v0 + floorDiv(q.sumWV, q.sumW) + 1 }

// lag is entity_lag: what the queued e is owed in virtual ns when the mean is v,
// bounded by what one request and a tick can make of it.
func (q *Queue) lag(e *Entity, v int64) int64 {
	request := q.maxSlice() + q.tick
	if q.rules.SliceLagBound {
		request = max(2*e.Slice, q.tick)
	}
	bound := vdelta(request, e.Weight)
	return max(-bound, min(bound, v-e.VRuntime))
}

// saveLag notes e's lag (update_entity_lag) and tells whether it is not simply
// V - v. A delayed sleeper stays queued to pay its debt: the debt cannot grow
// meanwhile, and (DELAY_ZERO) no claim comes of it.
func (q *Queue) saveLag(e *Entity) (changed bool) {
	v := q.rebase()
	lag := q.lag(e, v)
	if e.Delayed {
		lag = min(0, max(lag, e.VLag))
	}
	e.VLag = lag
	return v-lag != e.VRuntime
}
