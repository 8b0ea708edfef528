// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/domain"
	"sibyl/state"
)

// needActive is need_active_balance (mechanisms 7.9): nothing could be
// detached, but is the imbalance worth disturbing a running task? The veto of
// cache-aware balance is not modelled.
func (b *Balancer) needActive() bool {
	s, e := b.s, &b.env
	d := e.d
	if e.idle != NotIdle && b.usePrio(d, e.dst) && (b.prefer(e.dst, e.src) || !b.usePrio(d, e.src)) {
		return true
	}
	if e.migration == MigrateTask && s.Domains[d.ID].NrBalanceFailed > d.CacheNiceTries+2 {
		return true
	}
	if e.idle != NotIdle && b.hNr(e.src) == 1 && b.reduced(e.src, d.ImbalancePct) &&
		s.CPUs[e.src].CapNow*int64(d.ImbalancePct) < s.CPUs[e.dst].CapNow*100 {
		return true
	}
	return e.migration == MigrateMisfit
}

// activate decides about the active balance of a pass for self that moved
// nothing. It returns false if the source's current task cannot be moved.
func (b *Balancer) activate(self int) bool {
	s, e := b.s, &b.env
	src := &s.CPUs[e.src]
	if src.Curr != state.None {
		t := s.Tasks[src.Curr]
		if t.MigrationDisabled || !t.Allowed.Has(self) {
			return false
		}
		if !t.Queued && !b.r.ActiveAnyCurrent {
			return false // it is about to sleep
		}
	}
	e.allPinned = false
	if !src.ActiveBalance {
		src.ActiveBalance, src.PushCPU = true, self
		b.plan.Active = true
	}
	return true
}

// ActiveTask is what the stopper of src does for a plan with Active set
// (active_load_balance_cpu_stop): it returns the task to be moved to dst, None
// if there is none. It is the first one from the tail of src's MRU list that
// may go; the one that the stopper interrupted is a candidate like the others.
// src's ActiveBalance is cleared.
func (b *Balancer) ActiveTask(src, dst int, now int64) state.TaskID {
	s := b.s
	q := &s.CPUs[src]
	if !q.ActiveBalance {
		return state.None
	}
	q.ActiveBalance = false
	// The kernel asks for more than one task, the stopper included.
	if q.NrRunning < 1 || !s.H.Active.Has(src) || !s.H.Active.Has(dst) {
		return state.None
	}
	d := spanning(s.H.Base[dst], src)
	if d == nil {
		return state.None
	}
	// migration_type is left at its first value here, so that delayed tasks
	// may go.
	b.env = env{d: d, dst: dst, src: src, idle: CPUIdle, now: now, cpus: b.env.cpus, active: true, migration: MigrateLoad}
	b.plan.Tasks = b.plan.Tasks[:0]
	for id := s.MRULast(src); id != state.None; id = s.MRUBefore(id) {
		if b.canMigrate(s.Tasks[id]) {
			s.Domains[d.ID].NrBalanceFailed = 0
			return id
		}
	}
	return state.None
}

// spanning is the lowest domain from d upward that holds CPU c.
func spanning(d *domain.Domain, c int) *domain.Domain {
	for d != nil && !d.Span.Has(c) {
		d = d.Parent
	}
	return d
}
