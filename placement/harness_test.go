// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/machine"
	"sibyl/policy"
	"sibyl/state"
)

// shape describes a regular machine: nodes x llcs x clusters x cores x threads.
// The zero count is one; clusters 0 means that the machine has none.
type shape struct {
	nodes, llcs, clusters, cores, threads int
	// split numbers the second threads after all first ones (i, i+N/2);
	// otherwise siblings are neighbours.
	split bool
	// capacity and priority give a core's capacity and a CPU's priority;
	// nil: 1024 and minus the CPU number.
	capacity func(core int) int
	priority func(cpu int) int
	options  domain.Options
}

func (s shape) machine() *machine.Machine {
	nodes, llcs, threads := max(s.nodes, 1), max(s.llcs, 1), max(s.threads, 1)
	clusters := max(s.clusters, 1)
	cores := nodes * llcs * clusters * s.cores
	m := &machine.Machine{Name: "test", Arch: "arm64", HZ: 250, CPUs: make([]machine.CPU, cores*threads)}
	for core := range cores {
		llc := core / (clusters * s.cores)
		for th := range threads {
			c := core*threads + th
			if s.split {
				c = th*cores + core
			}
			p := machine.CPU{
				Possible: true, Online: true, Core: core, Thread: th, Cluster: core, LLC: llc,
				Die: llc / llcs, Package: llc / llcs, Node: llc / llcs, Capacity: 1024, Priority: -c, CoreID: core,
			}
			if s.clusters > 0 {
				p.Cluster = core / s.cores
			}
			if s.capacity != nil {
				p.Capacity = s.capacity(core)
			}
			if s.priority != nil {
				p.Priority = s.priority(c)
			}
			m.CPUs[c] = p
		}
	}
	for i := range nodes {
		n := machine.Node{ID: i}
		for j := range nodes {
			d := 10
			if i != j {
				d = 20
			}
			n.Distance = append(n.Distance, d)
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

func (s shape) hierarchy(t testing.TB) *domain.Hierarchy {
	t.Helper()
	h, err := domain.Build(s.machine(), s.options)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Machines of the tests and benchmarks.
var (
	guest = shape{cores: 4, threads: 2} // the conformance guest: siblings (0,1)(2,3)…
	// vera is one socket with a firmware spread of capacities.
	vera     = shape{cores: 88, threads: 2, split: true, capacity: spread}
	vera2    = shape{nodes: 2, cores: 88, threads: 2, split: true, capacity: spread}
	smt2     = shape{cores: 88, threads: 2, split: true}
	thunder  = shape{nodes: 2, cores: 32, threads: 4}
	kunpeng  = shape{clusters: 4, cores: 4} // clusters of four cores, no SMT
	bigSmall = shape{cores: 4, threads: 2, capacity: func(core int) int { return []int{512, 512, 1024, 1024}[core] }}
)

func spread(core int) int { return 1024 - core*7%52 }

func (s shape) on() shape {
	s.options.SMTPacking = domain.PackingOn
	return s
}

func (s shape) off() shape {
	s.options.SMTPacking = domain.PackingOff
	return s
}

// system is a state under test with one task p, one waker w and a hog that is
// `current` wherever a CPU is busy.
type system struct {
	*state.State
	p, w, hog *state.Task
	*Placer
}

func newSystem(t testing.TB, h *domain.Hierarchy, r policy.Rules) *system {
	t.Helper()
	s := state.New(h, 250)
	y := &system{State: s, Placer: New(s, r)}
	y.p = s.AddTask("p", nil, state.None)
	y.w = s.AddTask("w", nil, state.None)
	y.hog = s.AddTask("hog", nil, state.None)
	y.p.CPU, y.p.WakeCPU = 0, 0
	return y
}

// busy and the others put CPUs into one of the conditions that rules tell
// apart.
func (y *system) busy(cpus ...int) {
	for _, c := range cpus {
		cpu := &y.CPUs[c]
		cpu.Curr, cpu.NrRunning, cpu.NrQueued, cpu.NrRunnable, cpu.NrIdle = y.hog.ID, 1, 1, 1, 0
		cpu.TTWUPending, cpu.Preempted = false, false
		cpu.Avg.LoadAvg, cpu.Avg.UtilAvg, cpu.Avg.RunnableAvg = 1024, 1024, 1024
		y.Sync(c)
	}
}

func (y *system) idle(cpus ...int) {
	for _, c := range cpus {
		cpu := &y.CPUs[c]
		cpu.Curr, cpu.NrRunning, cpu.NrQueued, cpu.NrRunnable, cpu.NrIdle = state.None, 0, 0, 0, 0
		cpu.TTWUPending, cpu.Preempted = false, false
		cpu.Avg.LoadAvg, cpu.Avg.UtilAvg, cpu.Avg.RunnableAvg = 0, 0, 0
		y.Sync(c)
	}
}

func (y *system) idlePolicy(cpus ...int) {
	y.busy(cpus...)
	for _, c := range cpus {
		y.CPUs[c].NrIdle = 1
		y.CPUs[c].Avg.LoadAvg = 3
		y.Sync(c)
	}
}

func (y *system) preempted(cpus ...int) {
	y.idle(cpus...)
	for _, c := range cpus {
		y.CPUs[c].Preempted = true
		y.Sync(c)
	}
}

func (y *system) pending(cpus ...int) {
	y.idle(cpus...)
	for _, c := range cpus {
		y.CPUs[c].TTWUPending = true
		y.Sync(c)
	}
}

func (y *system) allow(t *state.Task, cpus ...int) {
	y.SetAllowed(t, cpumask.Of(y.H.NrCPUs, cpus...))
}

// hint sets has_idle_cores of c's sd_balance_shared.
func (y *system) hint(c int, on bool) { y.SetIdleCores(c, false, on) }

// wakeup is a request of w, running on here, for p.
func (y *system) wakeup(prev, here int, f Flags) Request {
	return Request{Task: y.p.ID, Prev: prev, Here: here, Waker: y.w.ID, Flags: TTWU | f, InTask: true, Now: 10_000_000_000}
}

func seq(lo, hi int) []int {
	var cpus []int
	for c := lo; c < hi; c++ {
		cpus = append(cpus, c)
	}
	return cpus
}
