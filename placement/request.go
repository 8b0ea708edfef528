// SPDX-License-Identifier: Apache-2.0

// Package placement chooses the CPU for a task that wakes, forks or execs, as
// kernel/sched/fair.c does (mechanisms 2 to 5). One file holds one rule.
//
// The functions read and write a state.State and nothing else: no clock, no
// I/O, no allocation. Side effects that the kernel has (wakee bookkeeping,
// recent_used_cpu, has_idle_cores) are applied to the state.
package placement

import "sibyl/state"

// Flags are the WF_* bits of a placement request, with the kernel's values.
type Flags uint8

// The WF_* bits.
const (
	Exec       Flags = 0x02
	Fork       Flags = 0x04
	TTWU       Flags = 0x08
	Sync       Flags = 0x10
	Migrated   Flags = 0x20
	CurrentCPU Flags = 0x40
	RQSelected Flags = 0x80
)

// Request is one call of select_task_rq_fair.
type Request struct {
	Task  state.TaskID
	Prev  int // prev_cpu: p->wake_cpu on wakeup
	Flags Flags
	Here  int // smp_processor_id()
	// Waker is `current` on Here, None for the idle task.
	Waker state.TaskID
	// InTask: the code runs in task context, not in an interrupt or softirq.
	InTask bool
	Now    int64 // ns
}
