// SPDX-License-Identifier: Apache-2.0

package pelt

// UpdateEntity is __update_load_avg_se for a task that is, or is not, on the
// run queue and running since the last update. now is on the run queue's
// clock, weight the task's load weight (1024 at nice 0). It returns whether a
// period ended, so that the averages were recomputed. A delayed sleeper needs
// UpdateDelayed.
func (a *Avg) UpdateEntity(now, weight int64, queued, running bool) bool {
	a.Weight = weight
	on := bit(queued)
	if !a.accumulate(now, on, on, bit(running)) {
		return false
	}
	a.average(a.weight())
	return true
}

// UpdateDelayed is UpdateEntity for a task that sleeps but is still queued
// (sched_delayed): it has load, since it competes, but is not runnable
// (se_runnable).
func (a *Avg) UpdateDelayed(now, weight int64) bool {
	a.Weight = weight
	if !a.accumulate(now, 1, 0, 0) {
		return false
	}
	a.average(a.weight())
	return true
}

// UpdateBlocked is __update_load_avg_blocked_se: a task that slept since the
// last update.
func (a *Avg) UpdateBlocked(now int64) bool {
	if !a.accumulate(now, 0, 0, 0) {
		return false
	}
	a.average(a.weight())
	return true
}

// UpdateQueue is __update_load_avg_cfs_rq: weight is the sum of the queued
// tasks' load weights, hNrRunnable their number without delayed sleepers;
// running tells whether one of them had the CPU. Blocked tasks stay in the
// averages and decay with them.
func (a *Avg) UpdateQueue(now, weight int64, hNrRunnable int, running bool) bool {
	if !a.accumulate(now, uint64(max(0, weight)), uint64(max(0, hNrRunnable)), bit(running)) {
		return false
	}
	a.average(1)
	return true
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
