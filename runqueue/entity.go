// SPDX-License-Identifier: Apache-2.0

// Package runqueue is the fair class's queue: EEVDF with one tree of tasks per
// CPU, as 7.3's kernel/sched/fair.c keeps it (mechanisms 9.1 to 9.3). It is
// pure: the caller says how long the current entity ran.
package runqueue

import "sibyl/policy"

// Entity is the scheduling state of one task. The zero value with Weight and
// Slice set is a task that never ran.
type Entity struct {
	ID     int32 // the task; ties in deadline are broken by it
	Weight int64 // load weight: 1024 at nice 0, 3 for SCHED_IDLE
	Slice  int64 // request size, ns
	Idle   bool  // SCHED_IDLE
	Batch  bool  // SCHED_BATCH

	VRuntime    int64 // virtual ns
	Deadline    int64
	VLag        int64 // V - vruntime when last dequeued
	VProt       int64 // protected until this vruntime
	OnRQ        bool
	Delayed     bool // sched_delayed: asleep but still queued
	RelDeadline bool // Deadline is relative (queued task being moved)
	CustomSlice bool
}

// Queue is one CPU's cfs_rq. Init must be called before use.
type Queue struct {
	ents  []*Entity // queued and not current, by (deadline, ID)
	curr  *Entity
	rules *policy.Rules
	tick  int64
	// v0 is zero_vruntime; sumW and sumWV are Σ w and Σ w(v-v0) over ents.
	v0, sumW, sumWV int64
}
