// SPDX-License-Identifier: Apache-2.0

// Package workload describes what tasks do: programs of a few operations
// (compute, sleep, wait, wake, fork) that the simulator carries out, and the
// background noise of a machine.
//
// A Spec is an inert value that names a workload and its settings. Build turns
// it into an Instance for one machine and one run; an Instance holds the
// programs' state and serves exactly one run.
package workload

import (
	"sibyl/cpumask"
	"sibyl/state"
)

// OpKind says what a task does next.
type OpKind uint8

// The operations. The comments name the fields of Op that are used.
const (
	// Run computes for NS nanoseconds of single-thread time.
	Run OpKind = iota
	// Sleep waits for a timer for NS nanoseconds (Forever: for a wakeup).
	Sleep
	// Take takes one unit of semaphore Obj. If there is none the task spins
	// for up to Spin nanoseconds and then blocks.
	Take
	// Give adds N units to semaphore Obj and wakes as many takers; Sync asks
	// for WF_SYNC.
	Give
	// Meet waits at barrier Obj until all parties are there, spinning for up
	// to Spin nanoseconds (Forever: without end) and then blocking. The last
	// to arrive wakes the blocked.
	Meet
	// Fork creates the task Child.
	Fork
	// Mark tells the instance that the task has come to the point Obj.
	Mark
	// Yield gives the CPU up (sched_yield).
	Yield
	// Exit ends the task.
	Exit
)

// Forever as a Spin never blocks, as a sleep never ends by itself.
const Forever int64 = 1<<63 - 1

// Op is one operation.
type Op struct {
	Kind  OpKind
	NS    int64
	Obj   int
	N     int
	Spin  int64
	Sync  bool
	Child *Task
}

// Program is what one task does. Next is called when the operation before is
// done, with the simulated time in nanoseconds.
type Program interface {
	Next(now int64) Op
}

// Task describes a task that a workload creates.
type Task struct {
	Name    string
	Allowed cpumask.Mask // nil: all CPUs
	Policy  state.SchedPolicy
	Nice    int
	// Share is the part of its single-thread speed that the task keeps in a
	// core's two-thread mode, in millionths; 0: what the machine says.
	Share int64
	// Measured tasks count in the results: on which thread of a core they
	// ran, and where they were at the end.
	Measured bool
	Program  Program
}

// Point numbers of Mark that the engine knows.
const (
	// Start begins the measured interval, End ends it.
	Start = iota
	End
	// Stop ends the run.
	Stop
)

// Instance is one run's workload.
type Instance struct {
	Sems     []int   // initial units
	Barriers []int   // parties
	Tasks    []*Task // created at time zero, in this order
	// Noise is the background activity during the run and its past.
	Noise Noise
	// Home is where the first task is created: the CPUs that the workload
	// may use; nil for all.
	Home cpumask.Mask
	// Metrics turns a run's measurements into named results.
	Metrics func(Measured) []Metric
}

// Measured is what the engine gives to Metrics.
type Measured struct {
	StartNS, EndNS int64 // the measured interval; EndNS 0 if it never ended
	DurationNS     int64 // the whole run from time zero
	Messages       int64 // Mark calls beyond Stop
}

// Metric is one result of a run.
type Metric struct {
	Name, Unit string
	Value      float64
	// LowerIsBetter orders two values.
	LowerIsBetter bool
}
