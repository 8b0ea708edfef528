// SPDX-License-Identifier: Apache-2.0

// Package state holds what the placement and balance rules read: the CPUs and
// tasks of one running system, as dense slices and bitmaps. It serves the
// simulator's own state and a snapshot of a real kernel alike.
//
// A State is written by one goroutine. Rules that write (noteWakee,
// recent_used_cpu, has_idle_cores, …) write here and nowhere else.
package state

import (
	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/pelt"
	"sibyl/runqueue"
)

// TaskID indexes State.Tasks. None stands for no task; as a CPU's Curr it is
// the idle task.
type TaskID int32

// None is no task.
const None TaskID = -1

// SchedPolicy is a task's scheduling policy.
type SchedPolicy uint8

// The policies that the fair class serves.
const (
	Normal SchedPolicy = iota
	Batch
	IdlePolicy
)

// Task is one thread.
type Task struct {
	ID                TaskID
	Name              string
	Policy            SchedPolicy
	Kthread           bool // PF_KTHREAD
	Exiting           bool // PF_EXITING
	MigrationDisabled bool
	// Allowed is cpus_ptr; NrAllowed is nr_cpus_allowed.
	Allowed   cpumask.Mask
	NrAllowed int

	CPU        int // task_cpu: where it is queued or last was
	WakeCPU    int // wake_cpu: prev of the next placement
	RecentUsed int
	LastWakee  TaskID
	WakeeFlips uint32
	// WakeeDecay is wakee_flip_decay_ts in ns.
	WakeeDecay int64

	SE  runqueue.Entity
	Avg pelt.Avg // se.avg, on the clock of the CPU it is attached to
	// UtilEst is util_est without its flag bit.
	UtilEst int64
	// HLoad is task_h_load. Without group scheduling it equals
	// Avg.LoadAvg; SetAvg users keep them equal, snapshots set both.
	HLoad int64
	// UclampMin and UclampMax are effective values, 0 and 1024 by default.
	UclampMin, UclampMax int64
	// MaxAllowedCapacity is the largest CapMax in Allowed.
	MaxAllowedCapacity int64
	// Queued tells whether the task is on a run queue (p->on_rq), delayed
	// sleepers included.
	Queued bool
	// LastRan is se.exec_start, ns: when the task's running was last
	// accounted, so the end of its last run if it does not run. Cache
	// hotness is judged by it.
	LastRan int64

	// next and prev link the run queue's MRU list (cfs_tasks); owned by
	// CPU.
	next, prev TaskID
}

// CPU is one run queue as the rules see it.
type CPU struct {
	NrRunning  int32 // all classes, delayed sleepers included
	NrQueued   int32 // cfs.h_nr_queued: fair tasks, delayed included
	NrRunnable int32 // cfs.h_nr_runnable: fair tasks, delayed excluded
	NrIdle     int32 // cfs.h_nr_idle: SCHED_IDLE tasks
	Curr       TaskID
	// TTWUPending: a remote wakeup is on its way.
	TTWUPending bool
	// Preempted: the hypervisor runs something else on this vCPU.
	Preempted bool

	Avg     pelt.Avg // cfs.avg
	UtilEst int64    // cfs.avg.util_est

	CapMax    int64 // arch_scale_cpu_capacity
	CapActual int64 // get_actual_cpu_capacity
	CapNow    int64 // rq->cpu_capacity, stale between balance passes
	// RTUtil is the utilisation by RT and deadline tasks, IRQUtil that by
	// interrupts; both reduce CapNow when it is next computed.
	RTUtil, IRQUtil int64

	// IdleStamp is rq->idle_stamp in ns; 0 when never or not idle.
	IdleStamp int64
	// ExitLatency is the recorded cpuidle state's exit latency in
	// microseconds; -1 if none is recorded.
	ExitLatency int32
	AvgIdle     int64 // ns
	// MaxIdleCost is rq->max_idle_balance_cost, ns.
	MaxIdleCost int64
	MisfitLoad  int64
	// NextBalance is rq->next_balance in jiffies.
	NextBalance int64
	// TickStopped is rq->nohz_tick_stopped.
	TickStopped    bool
	HasBlockedLoad bool
	// BlockedStamp is last_blocked_load_update_tick in jiffies.
	BlockedStamp  int64
	NohzFlags     uint8
	ActiveBalance bool
	PushCPU       int

	// IdleLastWakee, IdleWakeeFlips and IdleWakeeDecay are the wakee
	// bookkeeping of the CPU's idle task, the waker when an interrupt on an
	// idle CPU wakes somebody.
	IdleLastWakee  TaskID
	IdleWakeeFlips uint32
	IdleWakeeDecay int64 // ns

	RQ runqueue.Queue

	head, tail TaskID // MRU list of queued fair tasks
	counted    bool   // counted as Avail in its core
}

// Shared is the changing part of a sched_domain_shared.
type Shared struct {
	HasIdleCores bool
	NrIdleScan   int
	NrBusyCPUs   int
}

// DomainState is the changing part of a sched_domain.
type DomainState struct {
	LastBalance     int64 // jiffies
	BalanceInterval int   // ms
	NrBalanceFailed int
	MaxNewidleCost  int64 // ns
	NewidleCall     int
	NewidleSuccess  int
	NewidleRatio    int
	NewidleStamp    int64 // ns
	// NewidleDecay is last_decay_max_lb_cost, jiffies.
	NewidleDecay int64
}

// GroupState is the changing part of a sched_group_capacity.
type GroupState struct {
	Capacity, MinCapacity, MaxCapacity int64
	NextUpdate                         int64 // jiffies
	Imbalance                          bool
}

// Nohz is the global nohz structure.
type Nohz struct {
	IdleMask    cpumask.Mask // CPUs whose tick is stopped; stale busy CPUs included
	HasBlocked  bool
	NeedsUpdate bool
	NextBalance int64 // jiffies
	NextBlocked int64 // jiffies
}

// State is one running system.
type State struct {
	H       *domain.Hierarchy
	CPUs    []CPU
	Tasks   []*Task
	Domains []DomainState
	Groups  []GroupState
	Shared  []Shared
	Nohz    Nohz

	// Idle: idle_cpu(). Avail: available_idle_cpu(). IdlePolicy:
	// sched_idle_rq(). IdleCore: every online sibling, the CPU itself
	// included, is Avail. Sync keeps them equal to CPUs.
	Idle, Avail, IdlePolicy, IdleCore cpumask.Mask

	UclampUsed   bool  // sched_uclamp_used
	RDOverloaded bool  // rd->overloaded
	TickNS       int64 // ns per jiffy

	availInCore []int32 // Avail CPUs per core
	coreSize    []int32 // online CPUs per core
}
