// SPDX-License-Identifier: Apache-2.0

// Package trace is the one stream of scheduling events that the simulator, the
// recorder and every trace reader produce, and that the writers and the
// analysis consume.
package trace

// Kind says what an Event tells.
type Kind uint8

// The kinds of events. The comments name the fields that are used besides
// Time, CPU and Kind.
const (
	// Switch: CPU runs Task from now on (-1: idle); Prev was running.
	// Arg is 1 if Prev is still runnable.
	Switch Kind = iota + 1
	// Waking: Task is about to be placed; Prev is the waker (-1: interrupt
	// or idle), Target the task's old CPU.
	Waking
	// Wakeup: Task became runnable on Target.
	Wakeup
	// Fork: Task was created by Prev and became runnable on Target.
	Fork
	// Migrate: Task moved from CPU Arg to Target without running.
	Migrate
	// Exit: Task ended. It leaves CPU with the next Switch. (The kernel's
	// sched_process_exit comes earlier, when the task may still sleep; readers
	// of kernel traces give Exit before the switch away from a dead task.)
	Exit
	// Decision: placement chose Target for Task whose prev was Arg; Detail
	// is the path.
	Decision
	// Mode: the core of CPU entered mode Arg (package coremode's numbers).
	Mode
	// IRQEnter and IRQExit bracket an interrupt on CPU; Detail names it.
	IRQEnter
	IRQExit
	// Kick: CPU kicked Target to balance for idle CPUs; Arg holds the
	// flags.
	Kick
	// Balance: CPU pulled Arg tasks from Target.
	Balance
	// Lost: Arg events of CPU were lost before this one (0: an unknown
	// number). What ran where is unknown from here on.
	Lost

	nrKinds
)

// Event is one record. Fields that a Kind does not use are zero.
type Event struct {
	Time   int64 // ns
	CPU    int32
	Kind   Kind
	Task   int32
	Prev   int32
	Target int32
	Arg    int64
	Detail string
}

// Header describes what the events refer to.
type Header struct {
	Source string // what produced the stream
	NrCPUs int
	Core   []int  // dense core index per CPU
	Thread []int  // position of the CPU within its core
	Tasks  []Task // indexed by the events' task numbers
	Start  int64  // ns
	End    int64  // ns; 0 if it is not known beforehand
	// PerCPU tells that times of different CPUs cannot be compared: each
	// CPU's events are in order of time, the whole stream is in the best
	// order that its source knows.
	PerCPU bool
}

// Task names a thread.
type Task struct {
	Name string
	PID  int32
}
