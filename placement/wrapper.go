// SPDX-License-Identifier: Apache-2.0

package placement

import "sibyl/state"

// SelectTaskRQ is select_task_rq, the wrapper that wakeup and fork go through
// (mechanisms 2.1): tasks that can run on one CPU only are not placed, and a
// CPU that the task may not use is replaced.
func (p *Placer) SelectTaskRQ(req Request) int {
	t := p.s.Tasks[req.Task]
	var c int
	if t.NrAllowed > 1 && !t.MigrationDisabled {
		c = p.Select(req)
	} else {
		p.begin(req)
		c = t.Allowed.First()
		p.step(RuleWrapper, c, true, "select_task_rq: the task has one allowed CPU")
	}
	if !p.usable(t, c) {
		p.step(RuleFallback, c, false, "is_cpu_allowed: not in the task's mask or not active")
		c = p.fallback(t)
	}
	return c
}

// QueueWakelist is ttwu_queue_cond: whether a wakeup of the task on cpu, made
// on here, is handed to cpu by its wake list instead of being enqueued by here
// (mechanisms 2.1). The same test, on the task's old CPU, lets a task that is
// still being switched out there skip placement.
func (p *Placer) QueueWakelist(task state.TaskID, cpu, here int) bool {
	if p.Rules.NoTTWUQueue {
		return false
	}
	if !p.s.H.Online.Has(cpu) || !p.s.Tasks[task].Allowed.Has(cpu) {
		return false
	}
	if !p.s.ShareCache(here, cpu) {
		return true
	}
	return cpu != here && p.s.CPUs[cpu].NrRunning == 0
}
