// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/placement"
	"sibyl/state"
)

// detach is detach_tasks (mechanisms 7.8): it adds tasks of the source, from
// the tail of its MRU list, to the plan until the imbalance is used up. Tasks
// that it passes over go to the head. It returns how many it added.
func (b *Balancer) detach() int {
	s, e := b.s, &b.env
	src := &s.CPUs[e.src]
	before := len(b.plan.Tasks)
	left := int(src.NrRunning) - before
	if left <= 1 {
		e.allPinned = false // nothing was tested
		return 0
	}
	if e.imbalance <= 0 {
		return 0
	}
	for {
		id := b.tail()
		if id == state.None || e.idle != NotIdle && left <= 1 {
			break
		}
		e.loop++
		if e.loop > e.loopMax {
			break
		}
		t := s.Tasks[id]
		if !b.canMigrate(t) || !b.charge(t) {
			s.MRUTouch(e.src, id)
			continue
		}
		b.plan.Tasks = append(b.plan.Tasks, Move{Task: id, Dst: e.dst})
		left--
		// A preemptible kernel keeps a newly idle CPU from its next
		// wakeup for one task only.
		if e.idle == NewlyIdle || e.imbalance <= 0 {
			break
		}
	}
	return len(b.plan.Tasks) - before
}

// charge takes task t's part off the imbalance; false if t is too much for it.
// Each failed pass lets tasks of twice the size through.
func (b *Balancer) charge(t *state.Task) bool {
	e := &b.env
	failed := b.s.Domains[e.d.ID].NrBalanceFailed
	switch e.migration {
	case MigrateLoad:
		load := max(t.HLoad, 1)
		if shrBound(load, failed) > e.imbalance {
			return false
		}
		e.imbalance -= load
	case MigrateUtil:
		util := placement.TaskUtil(t)
		if shrBound(util, failed) > e.imbalance {
			return false
		}
		e.imbalance -= util
	case MigrateTask:
		e.imbalance--
	case MigrateMisfit:
		if placement.TaskFits(b.s, t, e.src) {
			return false
		}
		e.imbalance = 0
	}
	return true
}

// shrBound is shr_bound: a shift that never reaches the width of the number.
func shrBound(v int64, n int) int64 { return v >> min(n, 63) }

// tail is the last task of the source's MRU list that is not yet detached.
func (b *Balancer) tail() state.TaskID {
	id := b.s.MRULast(b.env.src)
	for id != state.None && b.planned(id) {
		id = b.s.MRUBefore(id)
	}
	return id
}
