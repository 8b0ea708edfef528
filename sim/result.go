// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sibyl/coremode"
	"sibyl/workload"
)

// Result is what one run measured.
type Result struct {
	Seed       uint64
	DurationNS int64 // from the workload's start to the end of the run
	Metrics    []workload.Metric
	// Counters are sums over the run without its past.
	Counters Counters
	// Events were taken from the heap and changed state.
	Events int64
	// Tasks are the measured tasks in the order of their creation.
	Tasks []TaskResult
	// Warnings are part of the result.
	Warnings []string
}

// Counters count what happened in a run.
type Counters struct {
	Modes      coremode.Counters
	Wakeups    int64 // decisions of the wakeup path
	Forks      int64
	Switches   int64
	Migrations int64 // tasks that went to another CPU than before
	Pulls      int64 // of these, by load balance
	Active     int64 // active balances
	Kicks      int64 // NOHZ idle balance IPIs
	Passes     int64 // balance passes
	Ticks      int64
	Noise      int64
	// OtherShare is the share of the measured tasks' running time in the
	// measured interval that was not on their core's first thread, in
	// millionths (the q of hardware.md 2.4); -1 if there was none.
	OtherShare int64
}

// TaskResult is one measured task.
type TaskResult struct {
	Name string
	CPU  int // at the end of the measured interval, or of the run
	// FirstNS and OtherNS are its running time on first and on other threads
	// of cores.
	FirstNS, OtherNS int64
}
