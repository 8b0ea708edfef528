// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/machine"
	"sibyl/policy"
	"sibyl/state"
)

// shape describes a regular machine for tests: nodes x llcs x clusters x cores
// x threads. The zero count is one; clusters 0 means that there are none.
type shape struct {
	nodes, llcs, clusters, cores, threads int
	// split numbers the second threads after all first ones (i, i+N/2);
	// otherwise siblings are neighbours.
	split    bool
	capacity func(core int) int // nil: 1024
	priority func(cpu int) int  // nil: minus the CPU number
	packing  machine.Packing
	options  domain.Options
}

// Machines of the tests. POWER7 has SMT4 in truth; two threads tell the story.
var (
	smt2    = shape{cores: 4, threads: 2}
	plain   = shape{cores: 4}
	power7  = shape{cores: 2, threads: 2, packing: machine.Packing{SMT: true}}
	itmt    = shape{cores: 4, threads: 2, packing: machine.Packing{Cores: true}, priority: func(c int) int { return 100 - c/2 }}
	numa    = shape{nodes: 2, cores: 4}
	smt4    = shape{cores: 3, threads: 4}
	littles = shape{cores: 4, capacity: func(core int) int { return []int{512, 512, 1024, 1024}[core] }}
	bigSMT  = shape{cores: 4, threads: 2, capacity: func(core int) int { return []int{512, 512, 1024, 1024}[core] }}
	vera    = shape{cores: 88, threads: 2, split: true, capacity: func(core int) int { return 1024 - core*7%52 }}
	flat88  = shape{cores: 88, threads: 2, split: true}
)

var shapes = map[string]shape{
	"smt2": smt2, "plain": plain, "power7": power7, "itmt": itmt, "numa": numa,
	"smt4": smt4, "littles": littles, "bigsmt": bigSMT, "vera": vera, "flat88": flat88,
}

func (s shape) on() shape {
	s.options.SMTPacking = domain.PackingOn
	return s
}

func (s shape) machine() *machine.Machine {
	nodes, llcs, threads := max(s.nodes, 1), max(s.llcs, 1), max(s.threads, 1)
	clusters := max(s.clusters, 1)
	cores := nodes * llcs * clusters * s.cores
	m := &machine.Machine{Name: "test", Arch: "arm64", Packing: s.packing, HZ: 250, CPUs: make([]machine.CPU, cores*threads)}
	for core := range cores {
		llc := core / (clusters * s.cores)
		for th := range threads {
			c := core*threads + th
			if s.split {
				c = th*cores + core
			}
			p := machine.CPU{
				Possible: true, Online: true, Core: core, Thread: th, Cluster: -1, LLC: llc,
				Die: -1, Package: llc / llcs, Node: llc / llcs, Capacity: 1024, Priority: -c, CoreID: core,
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

// system is a state under test and its balancer.
type system struct {
	*state.State
	*Balancer
}

func newSystem(t testing.TB, sh shape, r policy.Rules) *system {
	t.Helper()
	h, err := domain.Build(sh.machine(), sh.options)
	if err != nil {
		t.Fatal(err)
	}
	s := state.New(h, 250)
	return &system{State: s, Balancer: New(s, r)}
}

// put queues n more tasks of the given utilisation on CPU c, where the first
// one ever becomes current; it returns the last.
func (y *system) put(c, n int, util int64) *state.Task {
	var t *state.Task
	for range n {
		t = y.AddTask("t", nil, state.None)
		t.Avg.UtilAvg, t.Avg.RunnableAvg, t.Avg.LoadAvg, t.HLoad = util, util, 1024, 1024
		t.LastRan = -1 << 40 // cold
		y.queue(t, c)
	}
	return t
}

// queue puts t on CPU c with its averages.
func (y *system) queue(t *state.Task, c int) {
	q := &y.CPUs[c]
	t.CPU, t.WakeCPU, t.Queued, t.SE.OnRQ = c, c, true, true
	if q.Curr == state.None && q.NrRunning == 0 {
		q.Curr = t.ID
	}
	q.NrRunning++
	q.NrQueued++
	if !t.SE.Delayed {
		q.NrRunnable++
	}
	q.Avg.UtilAvg += t.Avg.UtilAvg
	q.Avg.RunnableAvg += t.Avg.RunnableAvg
	q.Avg.LoadAvg += t.Avg.LoadAvg
	y.MRUAdd(c, t.ID)
	if q.Curr != state.None {
		y.MRUTouch(c, q.Curr)
	}
	y.Sync(c)
	y.RDOverloaded = y.RDOverloaded || q.NrRunning > 1
}

// take removes t from its CPU. A current task leaves the CPU to the head of
// its list.
func (y *system) take(t *state.Task) {
	c := t.CPU
	q := &y.CPUs[c]
	q.NrRunning--
	q.NrQueued--
	if !t.SE.Delayed {
		q.NrRunnable--
	}
	q.Avg.UtilAvg -= t.Avg.UtilAvg
	q.Avg.RunnableAvg -= t.Avg.RunnableAvg
	q.Avg.LoadAvg -= t.Avg.LoadAvg
	y.MRUDel(c, t.ID)
	t.Queued = false
	if q.Curr == t.ID {
		q.Curr = y.MRUFirst(c)
	}
	y.Sync(c)
}

// move does what a plan says.
func (y *system) move(p *Plan) {
	for _, m := range p.Tasks {
		t := y.Tasks[m.Task]
		y.take(t)
		y.queue(t, m.Dst)
	}
}

// level is CPU c's domain of the given name.
func (y *system) level(t testing.TB, c int, name string) *domain.Domain {
	t.Helper()
	for d := y.H.Base[c]; d != nil; d = d.Parent {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("CPU %d has no domain %s", c, name)
	return nil
}

// tickless stops the tick of every CPU that is idle.
func (y *system) tickless() {
	for c := range y.Idle.All() {
		y.EnterNohz(c)
	}
}

// settle makes the capacities follow CapActual, RTUtil and IRQUtil.
func (y *system) settle() {
	for c := range y.H.Active.All() {
		y.CPUs[c].CapNow = y.capacityLeft(c)
	}
	for i := range y.H.Groups {
		y.InitGroup(i)
	}
}

func mask(y *system, cpus ...int) cpumask.Mask { return cpumask.Of(y.H.NrCPUs, cpus...) }
