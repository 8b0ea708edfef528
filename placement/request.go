// SPDX-License-Identifier: Apache-2.0

// Package placement chooses the CPU for a task that wakes, forks or execs, as
// kernel/sched/fair.c does (mechanisms 2 to 5). One file holds one rule.
//
// The functions read and write a state.State and nothing else: no clock, no
// I/O, no allocation. Side effects that the kernel has (wakee bookkeeping,
// recent_used_cpu, has_idle_cores) are applied to the state.
package placement

import (
	"sibyl/cpumask"
	"sibyl/policy"
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

// Placer holds the rules and the scratch space of one user of this package. It
// is not safe for concurrent use.
type Placer struct {
	Rules policy.Rules
	// Path, when not nil, is told every rule in the order in which it was
	// applied.
	Path *Path
	s    *state.State

	req   Request
	t     *state.Task // req.Task
	sync  bool        // WF_SYNC from a waker that is not exiting
	fit   fitInputs
	scan  cpumask.Mask // select_rq_mask: CPUs that a scan may still visit
	probe cpumask.Mask // the same for the path's account of a core scan
}

// New returns a Placer that works on s by the rules r. It is the only function
// here that allocates, save for a mask that select_fallback_rq widens and for
// recorded paths.
func New(s *state.State, r policy.Rules) *Placer {
	n := s.H.NrCPUs
	return &Placer{Rules: r, s: s, scan: cpumask.New(n), probe: cpumask.New(n)}
}
