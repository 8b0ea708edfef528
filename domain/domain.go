// SPDX-License-Identifier: Apache-2.0

// Package domain builds sched domains, their groups, shared objects and the
// per-CPU shortcut pointers from a machine, as kernel/sched/topology.c does.
//
// A Hierarchy is immutable after Build; what changes while a system runs
// (balance intervals, group capacities, idle hints) lives in package state,
// indexed by the IDs given here. It may be read concurrently.
package domain

import "sibyl/cpumask"

// Flags are the SD_* bits of include/linux/sched/sd_flags.h in the numbering
// of 7.3 (editions up to 6.18 number the last ones differently; mechanisms
// 0.3 row 30).
type Flags uint32

// The SD_* flags, in declaration order.
const (
	BalanceNewidle Flags = 1 << iota
	BalanceExec
	BalanceFork
	BalanceWake
	WakeAffine
	AsymCPUCapacity
	AsymCPUCapacityFull
	ShareCPUCapacity
	Cluster
	ShareLLC
	Serialize
	AsymPacking
	PreferSibling
	NUMA
)

// SMTPacking is the boot override of SD_ASYM_PACKING at the SMT level
// (sched_smt_asym_packing=, seed 000).
type SMTPacking uint8

// The override's values.
const (
	PackingAuto SMTPacking = iota // the architecture's flags stay
	PackingOn                     // every SD_SHARE_CPUCAPACITY domain gets the flag
	PackingOff                    // no SD_SHARE_CPUCAPACITY domain has it
)

// Options are the differences between editions, boot options and hotplug
// states that change how domains are built. The zero value builds 7.3.4's
// domains over all online CPUs.
type Options struct {
	SMTPacking SMTPacking
	// NoAsymCapacity builds as if all capacities were equal
	// (asym-capacity=off).
	NoAsymCapacity bool
	// DropPreferSibling removes SD_PREFER_SIBLING from the child of every
	// SD_ASYM_CPUCAPACITY domain (up to 7.2; 0.3 row 13).
	DropPreferSibling bool
	// NoAsymShared leaves the innermost full asymmetric domain without a
	// shared object (up to 7.1; 0.3 rows 3, 4, 8).
	NoAsymShared bool
	// LLCIDFromDomain keys ShareCache on the LLC domain's first CPU instead
	// of the hardware LLC (up to 7.1; 0.3 row 7).
	LLCIDFromDomain bool
	// IdleScanStartsAtZero starts nr_idle_scan at 0 (up to 7.1; row 5).
	IdleScanStartsAtZero bool
	// Partition restricts the root domain to these CPUs (isolcpus, cpuset
	// partitions); nil means all online CPUs.
	Partition cpumask.Mask
}

// Domain is one sched domain of one CPU. Domains of different CPUs with equal
// spans are different objects, as in the kernel, since each has its own
// balance state.
type Domain struct {
	ID     int // index into Hierarchy.Domains
	CPU    int // whose domain this is
	Name   string
	Level  int // 0 is the lowest that was kept
	Span   cpumask.Mask
	Weight int // CPUs in Span
	Flags  Flags
	// Groups is the ring of groups, starting with the local one.
	Groups []*Group
	Parent *Domain
	Child  *Domain

	ImbalancePct   int
	CacheNiceTries int
	MinInterval    int // ms
	MaxInterval    int // ms
	BusyFactor     int
	ImbNUMANr      int

	// Shared is the index into Hierarchy.Shared of the attached
	// sched_domain_shared, or -1.
	Shared int
}

// Group is a sched_group. One object serves all CPUs whose domains hold it
// (NUMA groups are private per CPU, as in the kernel).
type Group struct {
	// ID is the identity of the group's sched_group_capacity: private NUMA
	// groups of several CPUs that stand for the same CPUs share it, and so
	// share the capacity that lives in state under this number.
	// Hierarchy.Groups holds one of them.
	ID          int
	Span        cpumask.Mask
	Words       []int // the words of Span that are not empty, for quick walks
	Weight      int
	Cores       int          // distinct SMT cores
	Flags       Flags        // of the child domain; 0 at the base
	BalanceMask cpumask.Mask // CPUs that may balance for the group
	// AsymPreferCPU is the highest-priority CPU, the lowest-numbered of
	// equals; -1 unless the group's domain has AsymPacking.
	AsymPreferCPU int
	// Children are the groups of the child domain that make up this group,
	// whose capacities are summed; nil at the base and where the child is a
	// NUMA domain, whose groups overlap: there CPUs are summed.
	Children []*Group
}

// SharedSpec is the fixed part of a sched_domain_shared.
type SharedSpec struct {
	Span            cpumask.Mask
	Weight          int
	InitialIdleScan int
}

// Hierarchy is the result of Build: all domains of one root domain, and the
// per-CPU pointers of update_top_cache_domain.
type Hierarchy struct {
	NrCPUs  int
	Online  cpumask.Mask // CPUs that are up, those outside the partition included
	Active  cpumask.Mask // CPUs that have been attached (online and in the partition)
	Domains []*Domain
	Groups  []*Group
	Shared  []SharedSpec

	// Base is each CPU's lowest domain, nil where it has none.
	Base []*Domain
	// The sd_* pointers of mechanisms 1.5; nil where there is none.
	LLC, NUMADomain, AsymPacking, AsymCapacity []*Domain
	LLCSize                                    []int // 1 if no LLC domain
	LLCID, ShareID                             []int
	// LLCShared and BalanceShared index Shared; -1 for none.
	LLCShared, BalanceShared []int

	// Siblings is each CPU's set of online SMT siblings, itself included
	// (cpu_smt_mask: hardware, not domain).
	Siblings []cpumask.Mask
	// Core is a dense core index per CPU, the same as the machine's.
	Core []int
	// Node is the dense NUMA node index per CPU.
	Node []int
	// Capacity and Priority are copied from the machine (Capacity is 1024
	// everywhere under NoAsymCapacity).
	Capacity []int
	Priority []int

	SMTActive     bool // sched_smt_active()
	AsymActive    bool // sched_asym_cpucap_active()
	ClusterActive bool // sched_cluster_active
	MaxCapacity   int
	NodeCPUs      []cpumask.Mask
	Warnings      []string
}
