// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/domain"
	"sibyl/state"
)

// canMigrate is can_migrate_task (mechanisms 7.8). It clears e.allPinned for a
// task that may run on dst, and notes tasks that may not.
func (b *Balancer) canMigrate(t *state.Task) bool {
	e := &b.env
	failed := b.s.Domains[e.d.ID].NrBalanceFailed
	if !b.r.PullsIneligible {
		if t.SE.Delayed && e.migration != MigrateLoad {
			return false
		}
		if failed == 0 && b.s.CPUs[e.dst].NrQueued > 0 && !b.eligible(t) {
			return false
		}
	}
	if t.Kthread && t.NrAllowed == 1 {
		return false // a per-CPU kthread
	}
	if t.MigrationDisabled || !t.Allowed.Has(e.dst) {
		b.notePinned(t)
		return false
	}
	e.allPinned = false
	if e.active {
		return true
	}
	if b.s.CPUs[e.src].Curr == t.ID {
		return false
	}
	return failed > e.d.CacheNiceTries || !b.hot(t)
}

// notePinned remembers a task that may not run on dst, and another CPU of the
// local group where it may. A newly idle CPU wants work for itself only.
func (b *Balancer) notePinned(t *state.Task) {
	e := &b.env
	e.somePinned = true
	if e.idle == NewlyIdle || e.dstPinned || e.active || t.MigrationDisabled {
		return
	}
	span := e.d.Groups[0].BalanceMask
	for c := span.NextAnd(e.cpus, 0); c >= 0; c = span.NextAnd(e.cpus, c+1) {
		if t.Allowed.Has(c) {
			e.dstPinned, e.newDst = true, c
			return
		}
	}
}

// hot is task_hot: the task ran so lately that its data is probably still in
// the source's cache. Inside a core there is nothing to lose.
func (b *Balancer) hot(t *state.Task) bool {
	return t.Policy != state.IdlePolicy &&
		!is(b.env.d, domain.ShareCPUCapacity) &&
		b.env.now-t.LastRan < migrationCost
}

// eligible is entity_eligible: the task's lag is not negative. The source's
// queue counts without the tasks that this pass has already detached, which
// still stand in it here.
func (b *Balancer) eligible(t *state.Task) bool {
	var sum int64
	for id := b.s.MRUFirst(b.env.src); id != state.None; id = b.s.MRUAfter(id) {
		if o := b.s.Tasks[id]; !b.planned(id) {
			sum += o.SE.Weight * (o.SE.VRuntime - t.SE.VRuntime)
		}
	}
	return sum >= 0
}

// planned tells whether the pass has already detached task id.
func (b *Balancer) planned(id state.TaskID) bool {
	for i := range b.plan.Tasks {
		if b.plan.Tasks[i].Task == id {
			return true
		}
	}
	return false
}
