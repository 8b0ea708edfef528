// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sibyl/cpumask"
	"sibyl/machine"
)

// Level says how bad a finding is.
type Level string

// The levels, from harmless to bad.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Missing Level = "unknown" // could not be found out
	Problem Level = "problem"
)

// Finding is one fact that matters to placement here.
type Finding struct {
	// Key is a stable name.
	Key   string `json:"key"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	// Why names the evidence and its source.
	Why string `json:"why"`
}

// Report is what doctor says.
type Report struct {
	Machine    Machine     `json:"machine"`
	System     *System     `json:"system"`
	Mechanisms []Mechanism `json:"mechanisms"`
	Findings   []Finding   `json:"findings"`
	// Remedies are ordered, the least invasive first.
	Remedies []Remedy `json:"remedies"`
	Warnings []string `json:"warnings"`
}

// Machine is the part of a machine that the findings rest on.
type Machine struct {
	Name           string `json:"name"`
	CPUs           int    `json:"cpus"` // online
	Cores          int    `json:"cores"`
	ThreadsPerCore int    `json:"threads_per_core"` // most online threads of a core
	// MinThreadsPerCore is the least; less where only some cores have SMT.
	MinThreadsPerCore int `json:"min_threads_per_core"`
	Nodes             int `json:"nodes"` // with CPUs online
	MinCapacity       int `json:"min_capacity"`
	MaxCapacity       int `json:"max_capacity"`
	MinPriority       int `json:"min_priority"`
	MaxPriority       int `json:"max_priority"`
	// Sources, in the order of the CPUs that first have them.
	CapacitySources []string `json:"capacity_sources"`
	PrioritySources []string `json:"priority_sources"`
	// Kinds groups the online CPUs as machine.Kinds does: several on hybrid
	// machines, one where capacities differ by a few per cent.
	Kinds []Kind `json:"kinds"`
	// CorePacking tells whether the architecture itself prefers cores by
	// priority (ITMT).
	CorePacking bool `json:"core_packing"`
	// CoreModes tells whether a core changes mode with its awake threads.
	CoreModes Tri `json:"core_modes"`
	// UnequalThreads tells whether threads of one core differ in capacity or
	// the architecture orders them.
	UnequalThreads bool `json:"unequal_threads"`
	// OrderedThreads tells whether any core's threads differ in priority.
	// Without that the kernel cannot prefer one.
	OrderedThreads bool `json:"ordered_threads"`
	// FirstThreads has the lowest online CPU of each core, UsableThreads the
	// lowest that this process may use.
	FirstThreads  []int `json:"first_threads"`
	UsableThreads []int `json:"usable_threads"`
	// SmallLLC tells whether the last-level cache serves fewer CPUs than its
	// node has: wakeups then search only these.
	SmallLLC bool `json:"small_llc"`
}

// Kind is a kind of core.
type Kind struct {
	Type        string `json:"type"` // the hardware's name, empty if it has none
	CPUs        []int  `json:"cpus"`
	MinCapacity int    `json:"min_capacity"`
	MaxCapacity int    `json:"max_capacity"`
	MinPriority int    `json:"min_priority"`
	MaxPriority int    `json:"max_priority"`
}

// kinds returns the kinds of m that have CPUs online, the biggest first.
func kinds(m *machine.Machine) []Kind {
	out := []Kind{}
	for _, k := range m.Kinds() {
		o := Kind{Type: k.Type}
		for c := range k.CPUs.All() {
			cpu := &m.CPUs[c]
			if !cpu.Online {
				continue
			}
			if o.CPUs == nil {
				o.MinCapacity, o.MinPriority, o.MaxPriority = cpu.Capacity, cpu.Priority, cpu.Priority
			}
			o.CPUs = append(o.CPUs, c)
			o.MinCapacity, o.MaxCapacity = min(o.MinCapacity, cpu.Capacity), max(o.MaxCapacity, cpu.Capacity)
			o.MinPriority, o.MaxPriority = min(o.MinPriority, cpu.Priority), max(o.MaxPriority, cpu.Priority)
		}
		if o.CPUs != nil {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b Kind) int {
		return cmp.Or(b.MaxCapacity-a.MaxCapacity, b.MaxPriority-a.MaxPriority)
	})
	return out
}

// summarize looks at the online CPUs of m.
func summarize(s *System, m *machine.Machine) Machine {
	online := m.Online()
	r := Machine{
		Name: m.Name, CPUs: online.Count(), CoreModes: Unknown, UnequalThreads: m.Packing.SMT,
		Kinds: kinds(m), CorePacking: m.Packing.Cores,
		CapacitySources: []string{}, PrioritySources: []string{}, FirstThreads: []int{}, UsableThreads: []int{},
	}
	threads := map[int]int{} // by core
	first := map[int]*machine.CPU{}
	perNode, perLLC := map[int]int{}, map[int]int{}
	usable := map[int]bool{}
	for c := range online.All() {
		cpu := &m.CPUs[c]
		perNode[cpu.Node]++
		perLLC[cpu.LLC]++
		threads[cpu.Core]++
		r.ThreadsPerCore = max(r.ThreadsPerCore, threads[cpu.Core])
		if r.MaxCapacity == 0 {
			r.MinCapacity, r.MinPriority, r.MaxPriority = cpu.Capacity, cpu.Priority, cpu.Priority
		}
		r.MinPriority, r.MaxPriority = min(r.MinPriority, cpu.Priority), max(r.MaxPriority, cpu.Priority)
		r.MinCapacity, r.MaxCapacity = min(r.MinCapacity, cpu.Capacity), max(r.MaxCapacity, cpu.Capacity)
		r.CapacitySources = addSource(r.CapacitySources, cpu.CapacitySource)
		r.PrioritySources = addSource(r.PrioritySources, cpu.PrioritySource)
		if f := first[cpu.Core]; f == nil {
			first[cpu.Core] = cpu
			r.FirstThreads = append(r.FirstThreads, c)
		} else {
			r.UnequalThreads = r.UnequalThreads || f.Capacity != cpu.Capacity
			r.OrderedThreads = r.OrderedThreads || f.Priority != cpu.Priority
		}
		if !usable[cpu.Core] && (len(s.Rights.Allowed) == 0 || slices.Contains(s.Rights.Allowed, c)) {
			usable[cpu.Core] = true
			r.UsableThreads = append(r.UsableThreads, c)
		}
	}
	r.Cores, r.Nodes = len(threads), len(perNode)
	r.MinThreadsPerCore = r.ThreadsPerCore
	for _, n := range threads {
		r.MinThreadsPerCore = min(r.MinThreadsPerCore, n)
	}
	for c := range online.All() {
		cpu := &m.CPUs[c]
		r.SmallLLC = r.SmallLLC || cpu.LLC >= 0 && perLLC[cpu.LLC] < perNode[cpu.Node]
	}
	switch {
	case m.CoreMode.Qualify > 0 || s.Olympus == Yes:
		r.CoreModes = Yes
	case s.Olympus == No || r.ThreadsPerCore < 2 || m.Arch == "amd64":
		r.CoreModes = No // x86: no difference between siblings, no modes known
	}
	return r
}

func addSource(list []string, s string) []string {
	if s == "" {
		s = "unknown"
	}
	if !slices.Contains(list, s) {
		list = append(list, s)
	}
	return list
}

// Doctor judges a system and its machine. m describes the same computer, which is
// not changed; with Elsewhere only m is judged.
func Doctor(s *System, m *machine.Machine) Report {
	r := Report{
		Machine: summarize(s, m), System: s, Mechanisms: Mechanisms(s),
		Findings: []Finding{}, Remedies: []Remedy{}, Warnings: append([]string{}, m.Warnings...),
	}
	d := doctor{Report: &r, s: s}
	d.class()
	d.smt()
	d.capacity()
	d.balance()
	d.sync()
	d.energy()
	d.isolated()
	d.interrupts()
	d.guest()
	d.remedies()
	return r
}

// doctor collects the findings of one report. The booleans say which problems
// there are; remedies are chosen by them.
type doctor struct {
	*Report
	s *System

	siblings, modes, asym, ilb, chatty bool
}

func (d *doctor) add(key string, level Level, why, format string, args ...any) {
	d.Findings = append(d.Findings, Finding{key, level, fmt.Sprintf(format, args...), why})
}

func (d *doctor) mechanism(key string) *Mechanism {
	for i := range d.Mechanisms {
		if d.Mechanisms[i].Key == key {
			return &d.Mechanisms[i]
		}
	}
	panic("host: no mechanism " + key) // the keys are this package's own
}

// smtOn tells whether any core has two threads online.
func (d *doctor) smtOn() bool { return d.Machine.ThreadsPerCore > 1 }

// class says which scheduler places tasks.
func (d *doctor) class() {
	x := &d.s.SchedExt
	if x.State == "enabled" || x.State == "enabling" {
		name := x.Ops
		if name == "" {
			name = "of unknown name"
		}
		d.add("sched-ext", Note, "/sys/kernel/sched_ext", "The sched_ext scheduler %s is loaded: it places tasks, and what follows about the fair class holds only for tasks that it leaves alone.", name)
	}
	if d.s.Version.Distribution() {
		d.add("distribution", Note, d.s.Release, "This is a distribution's or somebody's own kernel: it may have changes that its version does not show.")
	}
}

func (d *doctor) smt() {
	k := d.s.SMT
	switch {
	case !d.smtOn() && k.Active == Yes:
		d.add("smt", Missing, "/sys/devices/system/cpu/smt/active, sibling lists", "The kernel says that SMT is active, but no core of the machine description has two CPUs online.")
		return
	case d.smtOn() && k.Active == No:
		d.add("smt", Missing, "/sys/devices/system/cpu/smt/active, sibling lists", "The kernel says that SMT is off, but the machine description has cores with %d CPUs online.", d.Machine.ThreadsPerCore)
		return
	case !d.smtOn():
		d.add("smt", OK, "sibling lists", "SMT is off or absent: a core runs one task, so the choice between siblings does not arise.")
		return
	}
	m := d.mechanism("smt-siblings")
	switch d.Machine.CoreModes {
	case Yes:
		d.modes = m.On == No
		why := "core modes of the machine description; " + m.fact()
		if d.s.Olympus == Yes {
			why = "part number of CPU 0 (Olympus); " + m.fact()
		}
		if m.On == Yes {
			d.add("core-modes", OK, why, "A core is fastest for one task while its other thread sleeps; this kernel prefers one sibling, so that stray wakeups rarely break the sleep.")
			break
		}
		if m.On == Unknown {
			d.add("core-modes", Missing, why, "A core is fastest for one task while its other thread sleeps without a break; whether this kernel prefers one sibling is not known.")
			break
		}
		d.add("core-modes", Problem, why, "A core is fastest for one task while its other thread sleeps without a break, and this kernel chooses either thread: interrupts and short wakeups on the other one put the core into two-thread mode.")
	case Unknown:
		d.add("core-modes", Missing, "no part number, no core mode in the machine description", "Whether a stray wakeup on the other thread slows this core for longer than it runs is not known.")
	default:
		why, text := "part number of CPU 0", "The threads of a core have no modes that outlast a wakeup, as far as is known."
		if d.s.Olympus != No {
			why = "architecture; priorities of siblings"
		}
		if !d.Machine.UnequalThreads && !d.Machine.OrderedThreads {
			text = "The threads of a core are alike, without modes that outlast a wakeup as far as is known: what matters is whether a core is idle, not which thread of it a task gets."
		}
		d.add("core-modes", OK, why, "%s", text)
	}
	if d.Machine.UnequalThreads {
		d.siblings = m.On == No
		level := Note
		if d.siblings {
			level = Problem
		}
		d.add("unequal-threads", level, "capacities and priorities of siblings; "+m.fact(), "The threads of a core are not equal here, so which one a task gets matters.")
	}
	if m.On == No && d.s.BootOption != "" && m.Has == No {
		level := Note
		if d.s.BootOption == "on" {
			level = Problem
		}
		d.add("boot-option", level, "/proc/cmdline; "+m.fact(), "sched_smt_asym_packing=%s is on the command line of a kernel that, by its version, ignores it.", d.s.BootOption)
	}
}

func (d *doctor) capacity() {
	c := &d.Machine
	why := "capacities: " + strings.Join(c.CapacitySources, ", ")
	guessed := slices.ContainsFunc(c.CapacitySources, func(s string) bool { return strings.HasPrefix(s, string(Unknown)) })
	switch {
	case guessed && len(c.CapacitySources) == 1:
		d.add("capacity", Missing, why, "The capacities of the CPUs are not known; the machine itself shows them in /sys/devices/system/cpu/cpu*/cpu_capacity.")
		return
	case guessed:
		d.add("capacity-source", Missing, why, "The capacities of some CPUs are not known, and what follows about capacities takes what was assumed.")
	}
	if c.MinCapacity == c.MaxCapacity {
		d.equal(why)
		return
	}
	spread := d.spread()
	m := d.mechanism("asym-capacity")
	if !d.smtOn() {
		d.add("capacity", OK, why, "%s Without SMT there is no busy sibling to mind.", spread)
		return
	}
	why += "; " + m.fact()
	switch m.Has {
	case Yes:
		d.add("capacity", OK, why, "%s This kernel minds busy siblings when it compares capacities.", spread)
	case No:
		d.asym = true
		d.add("capacity", Problem, why, "%s This kernel takes a CPU whose sibling is busy for as fast as an idle core: tasks share cores while others are idle.", spread)
	default:
		d.add("capacity", Missing, why, "%s Whether this kernel minds busy siblings is not known.", spread)
	}
}

// spread says how capacities differ.
func (d *doctor) spread() string {
	c := &d.Machine
	if len(c.Kinds) > 1 {
		return fmt.Sprintf("Cores are of %d kinds, with capacities from %d to %d.", len(c.Kinds), c.MinCapacity, c.MaxCapacity)
	}
	permille := (c.MaxCapacity - c.MinCapacity) * 1000 / c.MaxCapacity
	return fmt.Sprintf("Capacities differ by %d.%d per cent (%d to %d): cores of one kind, but any difference makes the kernel place by capacity.",
		permille/10, permille%10, c.MinCapacity, c.MaxCapacity)
}

// equal is for machines whose capacities are equal, which hybrids may be.
func (d *doctor) equal(why string) {
	c := &d.Machine
	switch {
	case len(c.Kinds) < 2:
		d.add("capacity", OK, why, "All CPUs have the same capacity.")
	case c.CorePacking:
		d.add("capacity", Note, why+"; priorities: "+strings.Join(c.PrioritySources, ", "),
			"Cores are of %d kinds, but the kernel gives all the same capacity. It tells them apart by priority (asymmetric packing) where both are idle.", len(c.Kinds))
	default:
		d.add("capacity", Note, why, "Cores are of %d kinds, but the kernel gives all the same capacity and no order: to placement they are alike.", len(c.Kinds))
	}
}

func (d *doctor) balance() {
	if !d.smtOn() {
		return
	}
	m := d.mechanism("nohz-ilb")
	switch m.Has {
	case Yes:
		d.add("nohz-ilb", OK, m.fact(), "Balancing for sleeping CPUs is done by a fully idle core if there is one.")
	case No:
		level := Note // a wakeup on a sibling costs little more than its own time
		if d.Machine.CoreModes == Yes {
			d.ilb, level = true, Problem
		}
		d.add("nohz-ilb", level, m.fact(), "Balancing for sleeping CPUs wakes the first idle CPU, often the sibling of a busy one.")
	default:
		d.add("nohz-ilb", Missing, m.fact(), "Whether balancing for sleeping CPUs prefers a fully idle core is not known.")
	}
}

func (d *doctor) sync() {
	if d.Machine.SmallLLC {
		d.chatty = true
		d.add("sync-wakeup", Note, "last-level caches of the machine description; "+d.mechanism("sync-wakeup").fact(), "The last-level cache serves only a part of a node: two tasks that wake each other in turn may be placed apart or on one another.")
	}
}

// energy says where another rule than those of this project places wakeups.
func (d *doctor) energy() {
	if d.s.EnergyAware == Yes && d.Machine.MinCapacity < d.Machine.MaxCapacity {
		d.add("energy", Note, "/proc/sys/kernel/sched_energy_aware", "With an energy model the kernel places wakeups by energy while no CPU is overutilised; the simulator does not have that rule.")
	}
}

func (d *doctor) isolated() {
	if len(d.s.Isolated) > 0 {
		d.add("isolated", Note, "/proc/cmdline", "Booted with %s: CPUs are taken away from placement, from balancing or altogether.", strings.Join(d.s.Isolated, " "))
	}
}

// interrupts looks for interrupts on the threads that should sleep.
func (d *doctor) interrupts() {
	if !d.smtOn() || d.Machine.CoreModes == No || len(d.s.IRQ.Effective) == 0 {
		return
	}
	n := cpumask.MaxCPUs
	first := cpumask.Of(n, d.Machine.FirstThreads...)
	on, other := 0, 0
	for c, k := range d.s.IRQ.Effective {
		if first.Has(c) {
			on += k
		} else {
			other += k
		}
	}
	const why = "/proc/irq/*/effective_affinity_list"
	if other == 0 {
		d.add("interrupts", OK, why, "No interrupt is delivered to the other threads of the cores (%d to first threads).", on)
		return
	}
	d.add("interrupts", Note, why, "%d of %d interrupts are delivered to other CPUs than the first threads of cores, where each one breaks a sleep.", other, on+other)
}

func (d *doctor) guest() {
	if d.s.Guest == Yes {
		d.add("guest", Note, "/proc/cpuinfo", "This is a virtual machine: siblings and capacities are those that the hypervisor shows, and its own placement cannot be seen.")
	}
}
