// SPDX-License-Identifier: Apache-2.0

// Package decision holds placement decisions with everything that led to them:
// the request, the parts of the state that the rules read, the result, the
// side effects and the path. The simulator and the recorder of real kernels
// write them; explain and conform read them.
//
// A Log is an inert value. Its text form is for people, tests and small files.
package decision

import (
	"sibyl/domain"
	"sibyl/machine"
	"sibyl/placement"
	"sibyl/policy"
	"sibyl/state"
)

// Log is a sequence of decisions made on one machine under one set of rules.
type Log struct {
	Header    Header
	Decisions []Decision
}

// Header is what all decisions of a log share: the sched domains follow from
// it by domain.Build.
type Header struct {
	Machine *machine.Machine
	Options domain.Options
	Rules   policy.Rules
}

// Decision is one call of select_task_rq_fair.
type Decision struct {
	Seq     int64
	Request placement.Request
	// Wrapped tells whether Result is that of the wrapper (SelectTaskRQ) or
	// of the fair class alone (Select): exec and the recorder's view.
	Wrapped bool
	Before  Snapshot
	Result  int
	After   Effects
	Path    placement.Path
}

// Snapshot is the part of a state.State that the placement rules read.
type Snapshot struct {
	TickNS     int64
	UclampUsed bool
	CPUs       []CPU // indexed by CPU number
	Tasks      []Task
	Shared     []Shared // indexed as Hierarchy.Shared
	// Groups lists the groups whose stored capacity is not what their CPUs'
	// present capacities add up to, or that are marked imbalanced.
	Groups []Group
	// Idle is the wakee bookkeeping of the idle task of Request.Here.
	Idle Wakee
}

// CPU is one run queue. Its units are those of state.CPU.
type CPU struct {
	NrRunning, NrQueued, NrRunnable, NrIdle int64
	Curr                                    int64 // task, -1 for the idle task
	TTWUPending, Preempted                  bool
	LastUpdate, Load, Util, Runnable        int64 // cfs.avg
	UtilEst                                 int64
	CapMax, CapActual, CapNow               int64
	IdleStamp                               int64
	ExitLatency                             int64
}

// Wakee is the bookkeeping of record_wakee.
type Wakee struct {
	Last  int64 // task, -1 for none
	Flips int64
	Decay int64 // ns
}

// Task is the task that is placed, or its waker. Its units are those of
// state.Task.
type Task struct {
	ID                         int64
	Name                       string
	Policy                     int64 // state.SchedPolicy
	Kthread, Exiting           bool
	MigrationDisabled, Queued  bool
	Allowed                    []int
	CPU, RecentUsed            int64
	Wakee                      Wakee
	LastUpdate                 int64
	LoadSum, RunnableSum       int64
	UtilSum, PeriodContrib     int64
	LoadAvg, RunnableAvg, Util int64
	UtilEst, HLoad             int64
	UclampMin, UclampMax       int64
}

// Shared is a sched_domain_shared.
type Shared struct {
	HasIdleCores bool
	NrIdleScan   int64
}

// Group is a sched_group_capacity.
type Group struct {
	ID                                 int64
	Capacity, MinCapacity, MaxCapacity int64
	Imbalance                          bool
}

// Effects are the traces that a decision leaves in the state.
type Effects struct {
	RecentUsed int64
	// Waker is the bookkeeping of the waker (or of the idle task) afterwards.
	Waker Wakee
	// IdleCores lists the shared objects whose has_idle_cores is set.
	IdleCores []int
}

// taskID is the number of a task in a decision.
func taskID(t state.TaskID) int64 { return int64(t) }
