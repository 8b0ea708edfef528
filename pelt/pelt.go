// SPDX-License-Identifier: Apache-2.0

// Package pelt is the kernel's per-entity load tracking in its own integer
// arithmetic (kernel/sched/pelt.c, sched-pelt.h; mechanisms 9.5). It is pure:
// the caller owns the clock (clock_pelt, Clock) and the averages (Avg).
//
// Time passes in periods of 1024 units of 1024 ns. A signal's sum weighs the
// period that lies n periods back by y^n, y^32 = 1/2; an average is the sum
// over the largest possible one. Averages change only when a period ends.
package pelt

// Avg is struct sched_avg: one entity's or one run queue's averages. Sums and
// averages are in the kernel's units (1024 is one always-running CPU).
//
// The zero value is a queue at time 0 that nothing ever ran on; a task starts
// as InitTask.
type Avg struct {
	LastUpdate    int64 // ns on the clock of the run queue
	LoadSum       uint64
	RunnableSum   uint64
	UtilSum       uint64
	PeriodContrib uint32 // units of the present period that are in the sums
	LoadAvg       int64
	RunnableAvg   int64
	UtilAvg       int64
	// Weight is a task's load weight (se_weight) as of the last update, which
	// turns its LoadSum into load. 0 stands for 1024. Queues do not use it.
	Weight int64
}

// weight returns the load weight of a task's averages.
func (a *Avg) weight() uint64 {
	if a.Weight <= 0 {
		return niceZero
	}
	return uint64(a.Weight)
}
