// SPDX-License-Identifier: Apache-2.0

// Package runqueue is the fair class's queue: EEVDF with one tree of tasks per
// CPU, as 7.3's kernel/sched/fair.c keeps it (mechanisms 9.1 to 9.3). It is
// pure: the caller says how long the current entity ran, and keeps the counts
// and averages of the CPU.
//
// Virtual time is in ns of a nice 0 task: an entity of weight w that runs for t
// gets t*1024/w older. V is the weighted mean of the queued entities' virtual
// times, current and delayed ones included; V minus its own time is an entity's
// lag, what the CPU owes it. Virtual times may wrap, so they are compared by
// their difference.
//
// The life of an entity:
//
//	Enqueue ... SetNext, Run, PutPrev ... Dequeue   awake, then asleep
//	Dequeue = true ... Drop or Requeue              a sleeper that still owes
//	DequeueMove, EnqueueMoved                       queued, to another CPU
//
// Nothing here is safe for concurrent use. In steady state nothing allocates.
package runqueue

import "sibyl/policy"

// Entity is the scheduling state of one task (struct sched_entity). The zero
// value with Weight and Slice set is a task that never ran. While it is queued
// the caller must change no field.
type Entity struct {
	ID     int32 // the task; ties in deadline are broken by it
	Weight int64 // load weight: 1024 at nice 0, 3 for SCHED_IDLE
	Slice  int64 // request size, ns
	Idle   bool  // SCHED_IDLE
	Batch  bool  // SCHED_BATCH

	VRuntime    int64 // virtual ns
	Deadline    int64 // virtual time at which the request should be served
	VLag        int64 // V - VRuntime when last dequeued or delayed, bounded
	VProt       int64 // protected until this vruntime, while current
	OnRQ        bool
	Delayed     bool // sched_delayed: asleep but still queued
	RelDeadline bool // Deadline is relative (queued task being moved)
	CustomSlice bool // Slice is the task's own, not the base slice
}

// Queue is one CPU's cfs_rq. Init must be called before use.
type Queue struct {
	ents  []*Entity // the tree: queued and not current, by (deadline, ID)
	curr  *Entity
	next  *Entity // the buddy: to be picked next if eligible
	rules *policy.Rules
	tick  int64
	// v0 is zero_vruntime, a V of the near past; sumW and sumWV are Σ w and
	// Σ w(v-v0) over ents. Keys v-v0 stay within a few lag bounds, so the
	// sums stay within 63 bits for any weights and some hundred entities.
	v0, sumW, sumWV int64
	// shortest and longest slice in ents; meaningless while it is empty.
	shortest, longest int64
}

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
