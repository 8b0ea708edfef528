// SPDX-License-Identifier: Apache-2.0

// Package placement chooses the CPU for a task that wakes, forks or execs, as
// kernel/sched/fair.c does (mechanisms 2 to 5). One file holds one rule.
//
// The functions read and write a state.State and nothing else: no clock, no
// I/O, no allocation. Side effects that the kernel has (wakee bookkeeping,
// recent_used_cpu, has_idle_cores) are applied to the state.
package placement

import (
	"fmt"
	"strings"

	"sibyl/state"
)

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

var flagNames = [...]struct {
	bit  Flags
	name string
}{
	{Exec, "WF_EXEC"},
	{Fork, "WF_FORK"},
	{TTWU, "WF_TTWU"},
	{Sync, "WF_SYNC"},
	{Migrated, "WF_MIGRATED"},
	{CurrentCPU, "WF_CURRENT_CPU"},
	{RQSelected, "WF_RQ_SELECTED"},
}

// String returns the kernel's names of the bits, joined by bars; 0 for none.
func (f Flags) String() string {
	var names []string
	for _, n := range flagNames {
		if f&n.bit != 0 {
			names = append(names, n.name)
			f &^= n.bit
		}
	}
	if f != 0 || len(names) == 0 {
		names = append(names, fmt.Sprintf("%#x", uint8(f)))
	}
	return strings.Join(names, "|")
}

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
