// SPDX-License-Identifier: Apache-2.0

package runqueue

// The kernel's tree is a sorted slice here: queues are short.

// before is entity_before: a has the earlier deadline.
func before(a, b *Entity) bool {
	if d := a.Deadline - b.Deadline; d != 0 {
		return d < 0
	}
	return a.ID < b.ID
}

// insert puts e into the tree (__enqueue_entity).
func (q *Queue) insert(e *Entity) {
	if len(q.ents) == 0 {
		q.shortest, q.longest = e.Slice, e.Slice
	} else {
		q.shortest, q.longest = min(q.shortest, e.Slice), max(q.longest, e.Slice)
	}
	q.ents = append(q.ents, e)
	i := len(q.ents) - 1
	for ; i > 0 && before(e, q.ents[i-1]); i-- {
		q.ents[i] = q.ents[i-1]
	}
	q.ents[i] = e
	q.sumW += e.Weight
	q.sumWV += e.Weight * (e.VRuntime - q.v0)
}

// remove takes e out of the tree (__dequeue_entity).
func (q *Queue) remove(e *Entity) {
	i := 0
	for ; ; i++ {
		if i == len(q.ents) {
			panic("runqueue: entity is not queued here")
		}
		if q.ents[i] == e {
			break
		}
	}
	copy(q.ents[i:], q.ents[i+1:])
	q.ents = q.ents[:len(q.ents)-1]
	q.sumW -= e.Weight
	q.sumWV -= e.Weight * (e.VRuntime - q.v0)
	if q.shortest != q.longest && (e.Slice == q.shortest || e.Slice == q.longest) && len(q.ents) > 0 {
		q.measure()
	}
}

// measure finds the shortest and the longest slice in the tree.
func (q *Queue) measure() {
	q.shortest, q.longest = q.ents[0].Slice, q.ents[0].Slice
	for _, e := range q.ents[1:] {
		q.shortest, q.longest = min(q.shortest, e.Slice), max(q.longest, e.Slice)
	}
}

// minSlice is the shortest queued request, at most limit (cfs_rq_min_slice).
func (q *Queue) minSlice(limit int64) int64 {
	if len(q.ents) > 0 {
		limit = min(limit, q.shortest)
	}
	if q.curr != nil {
		limit = min(limit, q.curr.Slice)
	}
	return limit
}

// maxSlice is the longest queued request (cfs_rq_max_slice).
func (q *Queue) maxSlice() int64 {
	longest := int64(0)
	if len(q.ents) > 0 {
		longest = q.longest
	}
	if q.curr != nil {
		longest = max(longest, q.curr.Slice)
	}
	return longest
}
