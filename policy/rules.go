// SPDX-License-Identifier: Apache-2.0

// Package policy names the kernels and switches that a run can be made under.
//
// A Policy is an edition (v7.3, tip, …) plus switches. It yields two values:
// the options that change how domains are built, and the Rules that placement,
// balance, runqueue and sim consult. Rules says what a rule does, never which
// kernel has it.
package policy

// AsymCapacity selects the wakeup path on SD_ASYM_CPUCAPACITY systems.
type AsymCapacity uint8

// The values of the switch asym-capacity.
const (
	AsymSMT   AsymCapacity = iota // 7.2 on: fit ranks, idle cores, RestIdle gate
	AsymPlain                     // up to 7.1: plain capacity scan
	AsymOff                       // domains are built as if capacities were equal
)

// SyncWakeup selects what a reciprocal WF_SYNC wakeup does (mechanisms 8).
type SyncWakeup uint8

// The values of the switch sync-wakeup.
const (
	SyncIdle    SyncWakeup = iota // today's rule: any idle CPU
	SyncWaker                     // direct wake-affine return, non-SMT only (8.1)
	SyncSIS                       // decided in select_idle_sibling (8.2)
	SyncSibling                   // the waker's core counts as idle (8.3)
)

// NohzILB selects how find_new_ilb chooses (mechanisms 6.4).
type NohzILB uint8

// The values of the switch nohz-ilb.
const (
	ILBIdleCore NohzILB = iota // 7.3 on: a fully idle core first
	ILBFirst                   // up to 7.2: the first idle CPU
)

// Rules are the switches that change how domains are used. The zero value is
// Linux 7.3.4. The row numbers are those of mechanisms 0.3.
type Rules struct {
	// SMTRedirect applies select_idle_smt_cpu (5.3) to idle choices. It has
	// an effect only where the SMT domain carries SD_ASYM_PACKING.
	SMTRedirect bool
	// RevalidateFitness makes the redirect test the sibling's fitness (5.4).
	RevalidateFitness bool
	AsymCapacity      AsymCapacity
	NoSISUtil         bool
	SyncWakeup        SyncWakeup
	NohzILB           NohzILB

	IdlePolicyAnyTask     bool // row 1: a SCHED_IDLE-only rq is taken whatever p's own policy
	LLCHintOnAsym         bool // row 4: has_idle_cores is always the LLC's
	IdleScanLLCPassOnly   bool // row 5: written only by passes over a domain as wide as dst's LLC
	NoEmptyMaskExit       bool // row 6: empty LLC and mask has no early exit
	SlowPathIgnoresMask   bool // row 9: group sums over all CPUs of the group
	ILBSkipsSelf          bool // row 11: find_new_ilb skips the kicker
	KickCountsDelayed     bool // row 12: condition 6 counts delayed tasks
	MisfitPullAnyCore     bool // row 14: no idle core asked of the destination
	MinCapacityTestLast   bool // row 15
	MisfitLoadAnyDst      bool // row 16
	LoneTaskNeedsCapacity bool // row 17
	CountsDelayed         bool // row 18: h_nr is h_nr_queued
	AvgIdleAtWakeup       bool // row 19: avg_idle sampled at wakeups only
	NoNewidleRate         bool // row 19: NI_RANDOM without NI_RATE
	NoNewidleRandom       bool // feature NI_RANDOM off
	SerializeOutside      bool // row 20: SD_SERIALIZE taken before the interval test, not for newidle
	PullsIneligible       bool // row 21: no rule for delayed or ineligible tasks
	ActiveAnyCurrent      bool // row 22: no "src.curr still queued" test
	SliceLagBound         bool // row 24: lag bound is max(2*own slice, tick)
	ProtectToDeadline     bool // row 25 (6.12): protection until the deadline, no shortening
	OldPreempt            bool // row 26 (6.12): no fork and no delayed exemption
	ProtectOwnTime        bool // row 25 (7.2): protection is for the shortest slice from current's own time
	PreemptByPick         bool // row 26 (7.2): a short slice must be picked; early refusals leave protection alone
	NoLazyResched         bool // row 27: resched is immediate
	NoHRTick              bool // row 27
	KeepEstAboveCapacity  bool // row 28
	NoTTWUQueue           bool // feature TTWU_QUEUE off
	NoWAIdle              bool // feature WA_IDLE off
	NoWAWeight            bool // feature WA_WEIGHT off
	NoWABias              bool // feature WA_BIAS off
}
