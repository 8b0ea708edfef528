// SPDX-License-Identifier: Apache-2.0

// Package machine describes computers as the scheduler sees them: CPUs, cores,
// clusters, caches, dies, packages, NUMA nodes, capacities, priorities, and the
// parameters of a core's single-thread and two-thread modes.
//
// A Machine is an inert value. Loading (Load and what it calls) is the only
// part that touches the system.
package machine

import "sibyl/cpumask"

// Machine is one computer. CPUs is indexed by kernel CPU number; numbers that
// the machine does not have are entries with Possible false.
type Machine struct {
	Name string
	// Model is the family whose fitted parameters apply (package fitted), such
	// as "vera" for all its variants; empty if there are none.
	Model string
	Arch  string // as Go spells it: arm64, amd64, ppc64le
	CPUs  []CPU
	Nodes []Node // indexed by dense node index, not by kernel node number
	// CacheBytes is the size of each last-level cache, indexed by CPU.LLC, in
	// bytes; nil if unknown, 0 for a single one that is.
	CacheBytes []int64
	Packing    Packing
	CoreMode   CoreMode
	// HZ is the tick rate of the kernel that runs here, 250 unless described.
	HZ int
	// CounterHz is the frequency of the counter that user space spins on
	// (CNTVCT_EL0, TSC), in Hz; 0 if unknown.
	CounterHz int64
	// Warnings say where sources disagree or are missing. They are part of
	// the description and are shown with every result.
	Warnings []string
	// Note says what the description rests on; it has no effect.
	Note string
}

// CPU is one hardware thread. The group fields (Core to Node) are dense
// indices, unique over the machine; -1 where the source does not say.
type CPU struct {
	Possible bool // has a number and a place (present or offline)
	Online   bool
	Core     int // SMT siblings share it
	Thread   int // position among the core's CPUs, ascending by number: PE0, PE1, …
	Cluster  int
	LLC      int // CPUs that share the last-level cache
	Die      int
	Package  int
	Node     int // index into Machine.Nodes

	// Capacity is the kernel's CPU capacity, 1 to 1024. CapacitySource says
	// where it was read or how it was derived.
	Capacity       int
	CapacitySource string
	// Priority is what the kernel's arch_asym_cpu_priority returns for the
	// CPU: larger is preferred. PrioritySource says where it came from.
	Priority       int
	PrioritySource string

	// Type is the hardware's own name for the kind of core, as sysfs or hwloc
	// gives it (core, atom, midr 0xd85); empty if it names none. The scheduler
	// does not read it: it only helps to tell kinds apart (Kinds).
	Type string

	CoreID int // the source's own core id, unique only within a package; -1 if none
}

// Node is one NUMA node. Nodes without CPUs exist (memory only).
type Node struct {
	ID       int   // the kernel's node number
	Distance []int // to each entry of Machine.Nodes; 10 is local
}

// Packing says on which levels the architecture itself sets SD_ASYM_PACKING.
type Packing struct {
	SMT   bool // POWER7: hardware threads of a core are ordered (mechanisms 1.6)
	Cores bool // x86 with ITMT enabled: CLS, MC and PKG levels are ordered
}

// CoreMode holds what a core's threads do to each other. With Qualify zero
// the core has no modes: only ThreadSpeed matters. All cycles are core cycles
// at FreqKHz.
type CoreMode struct {
	FreqKHz int64
	// Qualify is how long the sibling must stay in WFI, without a break,
	// before the core goes back to single-thread mode, in cycles.
	Qualify int64
	// In is the length of the switch to two-thread mode, in cycles, indexed
	// by the thread (PE) whose wakeup caused it.
	In []int64
	// Out is the length of the switch back to single-thread mode, in cycles.
	Out int64
	// RefillNS is the time that the thread that stays loses after one
	// completed round trip ST->SMT->ST, in nanoseconds, for a thread that
	// loses all its speed in two-thread mode; a thread that keeps the share
	// s of its speed loses RefillNS*(1-s). It stands for caches and
	// predictors that must be filled again. Fitted, not documented.
	RefillNS int64
	// FlopsST and FlopsSMT are single-precision operations per cycle and
	// thread that the vector pipes allow in each mode; 0 if unknown.
	FlopsST, FlopsSMT int64
	// ThreadSpeed[k-1] is the speed of each thread of a core when k of them
	// run, relative to one alone, in millionths. Missing entries repeat the
	// last one divided by the number of threads.
	ThreadSpeed []int64
}

// NrCPUs returns the number of CPU numbers, holes included.
func (m *Machine) NrCPUs() int { return len(m.CPUs) }

// Online returns the set of online CPUs.
func (m *Machine) Online() cpumask.Mask {
	return m.where(func(c *CPU) bool { return c.Online })
}

// Possible returns the set of CPUs that the machine has.
func (m *Machine) Possible() cpumask.Mask {
	return m.where(func(c *CPU) bool { return c.Possible })
}

// Siblings returns the possible CPUs of c's core, c included.
func (m *Machine) Siblings(c int) cpumask.Mask {
	core := m.CPUs[c].Core
	return m.where(func(o *CPU) bool { return o.Possible && o.Core == core })
}

func (m *Machine) where(f func(*CPU) bool) cpumask.Mask {
	s := cpumask.New(len(m.CPUs))
	for i := range m.CPUs {
		if f(&m.CPUs[i]) {
			s.Set(i)
		}
	}
	return s
}
