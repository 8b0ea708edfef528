// SPDX-License-Identifier: Apache-2.0

// Package pelt is the kernel's per-entity load tracking in its own integer
// arithmetic (kernel/sched/pelt.c, sched-pelt.h). It is pure: the caller owns
// the clock (clock_pelt) and the averages.
package pelt

// Avg is struct sched_avg: one entity's or one run queue's averages. Sums and
// averages are in the kernel's units (1024 is one always-running CPU).
type Avg struct {
	LastUpdate    int64 // ns on the clock of the run queue, multiple of 1024
	LoadSum       uint64
	RunnableSum   uint64
	UtilSum       uint64
	PeriodContrib uint32
	LoadAvg       int64
	RunnableAvg   int64
	UtilAvg       int64
}
