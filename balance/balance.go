// SPDX-License-Identifier: Apache-2.0

// Package balance holds the rules of load balance: who balances which sched
// domain and when, which group and run queue are the busiest, which tasks move,
// and the NOHZ idle load balancer (mechanisms 6 and 7).
//
// The rules read and write a state.State; they never move a task, send an
// interrupt or look at a clock. The caller does that and says what time it is.
// For the places where several CPUs would run at once in a kernel, a call is
// atomic: SD_SERIALIZE, whose loser would skip a level, never has a loser here.
//
// One file holds one rule. The rules for asymmetric machines are among them:
// packing, misfit tasks, SMT balance. What is left out: cache-aware balance
// (group type llc_balance), NUMA-balancing classes of run queues, EAS, CFS
// bandwidth, core scheduling, proxy execution, hotplug (mechanisms 7.10).
package balance

import (
	"math/bits"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

// Idle is enum cpu_idle_type: what the CPU that balances does meanwhile.
type Idle uint8

// The kinds of balance pass.
const (
	NotIdle   Idle = iota // CPU_NOT_IDLE: the periodic pass of a busy CPU
	CPUIdle               // CPU_IDLE: the periodic or the ILB's pass for an idle CPU
	NewlyIdle             // CPU_NEWLY_IDLE: the CPU has just run out of work
)

// Balancer applies the rules to one state. It holds scratch memory, so it
// serves one goroutine.
type Balancer struct {
	s *state.State
	r policy.Rules

	hz          int64
	maxInterval int64 // max_load_balance_interval, jiffies

	walk walk // of sched_balance_domains
	ilb  ilb  // of _nohz_idle_balance
	env  env  // of sched_balance_rq
	sds  domainStats
	plan Plan
}

// New returns a balancer of s under the rules r.
func New(s *state.State, r policy.Rules) *Balancer {
	hz := max(1, 1_000_000_000/s.TickNS)
	b := &Balancer{
		s:           s,
		r:           r,
		hz:          hz,
		maxInterval: max(1, hz*int64(s.H.Active.Count())/10),
	}
	b.env.cpus = cpumask.New(s.H.NrCPUs)
	b.plan.Tasks = make([]Move, 0, maxMoves)
	return b
}

// hNr is a run queue's number of fair tasks as the group sums and the tests
// for a lone task count it: without delayed sleepers unless row 18 says so.
func (b *Balancer) hNr(c int) int32 {
	if b.r.CountsDelayed {
		return b.s.CPUs[c].NrQueued
	}
	return b.s.CPUs[c].NrRunnable
}

// is tells whether d has one of the flags.
func is(d *domain.Domain, flags domain.Flags) bool { return d.Flags&flags != 0 }

// lowest is the lowest CPU of word i of a mask, which is w and not 0.
func lowest(i int, w uint64) int { return i<<6 + bits.TrailingZeros64(w) }
