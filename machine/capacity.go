// SPDX-License-Identifier: Apache-2.0

package machine

import "strings"

// capacityScale is SCHED_CAPACITY_SCALE, the capacity of the biggest CPU.
const capacityScale = 1024

// Architectures, as Go spells them.
const (
	archUnknown = "unknown"
	archAMD64   = "amd64"
	archARM64   = "arm64"
	archPPC64   = "ppc64le"
	archRISCV   = "riscv64"
)

// Where a capacity or a priority comes from, as CPU.CapacitySource and
// CPU.PrioritySource spell it.
const (
	fromCapacity     = "cpu_capacity"                // sysfs, what the kernel itself uses
	fromCPPC         = "acpi_cppc highest_perf"      // sysfs
	fromRanking      = "amd_pstate_prefcore_ranking" // sysfs
	fromX86          = "x86 default 1024"            // arch_scale_cpu_capacity without hybrid scaling
	fromArch         = "kernel default 1024"         // no per-CPU capacity on this architecture
	fromNowhere      = "unknown, 1024 assumed"
	fromWeak         = "kernel default -cpu"   // the weak arch_asym_cpu_priority
	fromITMT         = "x86 ITMT default 0"    // sched_core_priority that no driver has set
	fromNowhereOrder = "unknown, -cpu assumed" // architecture unknown
)

// performance is what a source says about how fast CPUs are, per CPU number;
// 0 where it says nothing.
type performance struct {
	capacity []int // cpu_capacity
	highest  []int // acpi_cppc/highest_perf
	ranking  []int // cpufreq/amd_pstate_prefcore_ranking
	driver   string
	itmt     itmtState
}

// itmtState is what sched_itmt_enabled says.
type itmtState int

const (
	itmtUnknown itmtState = iota
	itmtOff
	itmtOn
)

func newPerformance(n int) *performance {
	return &performance{capacity: make([]int, n), highest: make([]int, n), ranking: make([]int, n)}
}

// apply sets capacities and priorities by the rules of the machine's
// architecture. The two are separate facts: no value is used for the other.
func (p *performance) apply(m *Machine, w *warnings) {
	p.setCapacities(m, w)
	p.setPriorities(m, w)
}

// setCapacities follows arch_scale_cpu_capacity (mechanisms 1.6): what the
// kernel shows; without that, what it derives from CPPC on arm64
// (topology_init_cpu_capacity_cppc: highest_perf*1024/max, and 1024 for all
// if a single CPU lacks its value); else 1024.
func (p *performance) setCapacities(m *Machine, w *warnings) {
	given, derived := p.count(m, p.capacity), 0
	cppc := cppcCapacities(m, p.highest)
	if m.Arch == archARM64 && cppc != nil {
		derived = 1
	}
	for i := range m.CPUs {
		c := &m.CPUs[i]
		if !c.Possible {
			continue
		}
		switch {
		case p.capacity[i] > 0:
			c.Capacity, c.CapacitySource = p.capacity[i], fromCapacity
			if derived > 0 && p.highest[i] > 0 && cppc[i] != p.capacity[i] {
				w.cpu(i, "cpu_capacity differs from what acpi_cppc/highest_perf gives; cpu_capacity is used, as the kernel does")
			}
		case given > 0:
			c.Capacity, c.CapacitySource = capacityScale, fromNowhere
			if c.Online {
				w.cpu(i, "has no cpu_capacity although others have; 1024 assumed")
			}
		case derived > 0:
			c.Capacity, c.CapacitySource = capacityScale, fromNowhere
			if cppc[i] > 0 {
				c.Capacity, c.CapacitySource = cppc[i], fromCPPC
			}
		case m.Arch == archAMD64:
			c.Capacity, c.CapacitySource = capacityScale, fromX86
		case m.Arch == archARM64 || m.Arch == archRISCV || m.Arch == archUnknown:
			c.Capacity, c.CapacitySource = capacityScale, fromNowhere
			w.cpu(i, "capacity unknown (no cpu_capacity, no acpi_cppc); 1024 assumed")
		default:
			c.Capacity, c.CapacitySource = capacityScale, fromArch
		}
	}
	if m.Arch == archAMD64 && given == 0 && manyTypes(m) {
		w.add("types of core differ but there is no cpu_capacity: a kernel without hybrid capacity scaling, all capacities 1024")
	}
}

// cppcCapacities scales highest_perf to a maximum of 1024; nil if an online
// CPU has none, since the kernel then leaves all CPUs at 1024.
func cppcCapacities(m *Machine, highest []int) []int {
	top := 0
	for i := range m.CPUs {
		if m.CPUs[i].Online && highest[i] == 0 {
			return nil
		}
		top = max(top, highest[i])
	}
	out := make([]int, len(highest))
	for i, h := range highest {
		if h > 0 {
			out[i] = max(1, int(int64(h)*capacityScale/int64(top)))
		}
	}
	return out
}

// setPriorities follows arch_asym_cpu_priority. On x86 it is the ITMT number
// that amd_pstate or intel_pstate sets from the core ranking, 0 until one
// does, so symmetric machines have no order. Everywhere else it is the weak
// default -cpu: lower numbers first. ITMT, and with it asymmetric packing
// above SMT, is on when the ranking differs between CPUs and a driver that
// uses it runs, and off once hybrid capacity scaling takes over
// (intel_pstate's hybrid_init_cpu_capacity_scaling clears it).
func (p *performance) setPriorities(m *Machine, w *warnings) {
	if m.Arch != archAMD64 {
		from := fromWeak
		if m.Arch == archUnknown {
			from = fromNowhereOrder
		}
		for i := range m.CPUs {
			if m.CPUs[i].Possible {
				m.CPUs[i].Priority, m.CPUs[i].PrioritySource = -i, from
			}
		}
		return
	}
	rank, from := p.ranking, fromRanking
	if p.count(m, p.ranking) == 0 {
		rank, from = p.highest, fromCPPC
	}
	lo, hi := 0, 0
	for i := range m.CPUs {
		c := &m.CPUs[i]
		if !c.Possible {
			continue
		}
		if rank[i] == 0 {
			c.Priority, c.PrioritySource = 0, fromITMT
			if c.Online && p.count(m, rank) > 0 {
				w.cpu(i, "has no core ranking (%s) although others have", from)
			}
			continue
		}
		c.Priority, c.PrioritySource = rank[i], from
		if from == fromRanking && p.highest[i] > 0 && p.highest[i] != rank[i] {
			w.cpu(i, "amd_pstate_prefcore_ranking differs from acpi_cppc/highest_perf; the ranking is used, as amd_pstate does")
		}
		if c.Online {
			if hi == 0 || rank[i] < lo {
				lo = rank[i]
			}
			hi = max(hi, rank[i])
		}
	}
	m.Packing.Cores = p.packing(m, lo != hi, w)
}

// packing decides whether ITMT is enabled.
func (p *performance) packing(m *Machine, ranked bool, w *warnings) bool {
	if p.itmt != itmtUnknown {
		return p.itmt == itmtOn
	}
	if !ranked {
		return false
	}
	for i := range m.CPUs {
		if c := &m.CPUs[i]; c.Online && c.Capacity != capacityScale {
			w.add("core rankings differ, but hybrid capacity scaling is on: ITMT taken to be off")
			return false
		}
	}
	uses := p.driver == "" || strings.HasPrefix(p.driver, "intel_") || strings.HasPrefix(p.driver, "amd-pstate") || strings.HasPrefix(p.driver, "amd_pstate")
	if !uses {
		w.add("core rankings differ, but the cpufreq driver %q does not set ITMT priorities: ITMT taken to be off", p.driver)
		return false
	}
	w.add("core rankings differ: ITMT taken to be on (the source does not hold sched_itmt_enabled)")
	return true
}

// count returns how many online CPUs have a value.
func (p *performance) count(m *Machine, values []int) int {
	n := 0
	for i := range m.CPUs {
		if m.CPUs[i].Online && values[i] > 0 {
			n++
		}
	}
	return n
}

func manyTypes(m *Machine) bool {
	first, seen := "", false
	for i := range m.CPUs {
		if !m.CPUs[i].Online {
			continue
		}
		if seen && m.CPUs[i].Type != first {
			return true
		}
		first, seen = m.CPUs[i].Type, true
	}
	return false
}
