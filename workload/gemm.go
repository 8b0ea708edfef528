// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	"sibyl/machine"
)

// Semaphore and barrier numbers of a GEMM instance.
const gemmBarrier = 0

// gemmKind describes a matrix product as hardware.md 1.4 has it: the library
// forks its workers when it is loaded; they spin for work and then park; one
// thread fills the matrices; then the workers are woken one by one inside the
// measured interval, and all threads compute in steps between barriers.
func gemmKind(name, about string) Kind {
	lib := gemmLibraries[name]
	return Kind{
		Name:  name,
		About: about,
		Settings: []Setting{
			{"threads", "0", "GEMM threads; 0: one for each core that cpus touches"},
			{"cpus", "", "CPU list that all threads are bound to; empty: all"},
			{"size", "16384", "M, N and K of the product"},
			{"steps", "128", "barriers of one product (assumed; the result hardly depends on it)"},
			{"parks", fmt.Sprint(lib.parks), "steps at which workers sleep instead of spinning"},
			{"fill", lib.fill, "time that one thread fills matrices before the product"},
			{"spin", "28", "workers spin 2^spin counter ticks for work before they park"},
			{"mflops", "", "speed of one thread alone on its core, MFLOP/s; empty: the fitted one"},
			{"share", "", "part of that speed kept in two-thread mode; empty: what the machine's pipes allow"},
			{"jitter", "", "run-to-run spread that all threads share; empty: the fitted one"},
		},
		build: func(s *settings, m *machine.Machine, seed uint64) (*Instance, error) {
			return buildGEMM(name, s, m, seed)
		},
	}
}

// gemmLibrary is what is public or assumed of one BLAS library.
type gemmLibrary struct {
	// parks: NVPL shows about 2,600 interruptible sleeps a run of 88 threads
	// (hardware.md 1.2), 30 a worker; OpenBLAS none but the one at start.
	parks int
	// fill is the part of the published run outside the product (hardware.md
	// 1.4, 2.4): 12.0 s and 10.0 s runs, less the product.
	fill string
}

var gemmLibraries = map[string]gemmLibrary{
	"openblas-sgemm": {parks: 0, fill: "10.5s"},
	"nvpl-sgemm":     {parks: 32, fill: "8.8s"},
}

func buildGEMM(name string, s *settings, m *machine.Machine, seed uint64) (*Instance, error) {
	allowed := s.cpus("cpus", m)
	threads := int(s.integer("threads", 0, 4096))
	if threads == 0 {
		cores := map[int]bool{}
		for c := range allowed.All() {
			cores[m.CPUs[c].Core] = true
		}
		threads = len(cores)
	}
	size := s.integer("size", 1, 1<<17)
	steps := s.integer("steps", 1, 1<<20)
	parks := s.integer("parks", 0, steps)
	fill := s.duration("fill")
	counter := m.CounterHz
	if counter <= 0 {
		counter = 1_000_000_000
	}
	spin := (int64(1) << uint(s.integer("spin", 0, 40))) * 1_000_000 / max(1, counter/1000)

	lib := fittedGEMM(name, m)
	if s.vals["mflops"] != "" {
		lib.mflops = s.integer("mflops", 1, 1<<40)
	}
	if s.vals["jitter"] != "" {
		lib.jitter = s.number("jitter", 1)
	}
	lib.share = smtShare(lib, m)
	if s.vals["share"] != "" {
		lib.share = int64(s.number("share", 1) * 1e6)
	}
	if s.err != nil {
		return nil, s.err
	}

	// One run's common jitter multiplies all work.
	j := stream(seed, "jitter")
	factor := 1 + float64(lib.jitter*j.Normal())
	flops := 2 * size * size * size
	perThread := float64(flops) / float64(threads) / float64(lib.mflops) * 1e3 // ns alone
	stepNS := max(1, int64(perThread*max(factor, 0.5)/float64(steps)))

	g := &gemm{
		steps: int(steps), stepNS: stepNS, fill: fill, spin: spin, threads: threads,
	}
	if parks > 0 {
		g.parkEvery = int(steps / parks)
	}
	in := &Instance{
		Sems:     make([]int, threads),
		Barriers: []int{threads},
		Home:     allowed,
		Noise:    s.noise(m, allowed),
	}
	// From the parking of the workers to the product one thread runs alone.
	// The history that the product's wakeups find is made in historyNS.
	const historyNS = 1_000_000_000
	in.Noise.QuietFrom, in.Noise.QuietTo = spin+100_000_000, fill-historyNS
	in.Metrics = func(r Measured) []Metric {
		if r.EndNS <= r.StartNS {
			return nil
		}
		tflops := float64(flops) / float64(r.EndNS-r.StartNS) / 1e3
		return []Metric{{Name: "throughput", Unit: "TFLOP/s", Value: tflops}}
	}
	for i := range threads {
		t := &Task{
			Name:     fmt.Sprintf("%s-%d", name, i),
			Allowed:  allowed,
			Share:    lib.share,
			Measured: true,
			Program:  &gemmThread{gemm: g, id: i},
		}
		g.tasks = append(g.tasks, t)
	}
	in.Tasks = g.tasks[:1]
	return in, nil
}

// smtShare is the part of its speed that a thread keeps in two-thread mode: the
// vector pipes that it may still use against what it used alone (hardware.md
// 2.2), at most all of it.
func smtShare(lib gemmFit, m *machine.Machine) int64 {
	if lib.share > 0 {
		return lib.share
	}
	pipes := m.CoreMode.FlopsSMT * m.CoreMode.FreqKHz / 1000 // MFLOP/s
	if pipes <= 0 {
		return 0
	}
	return min(1_000_000, pipes*1_000_000/lib.mflops)
}

// gemm is what the threads of one product share.
type gemm struct {
	steps, parkEvery, threads int
	stepNS, fill, spin        int64
	tasks                     []*Task
}

// gemmThread is one thread's program. Thread 0 is the main thread.
type gemmThread struct {
	*gemm
	id    int
	phase int
	n     int
}

// The phases of a thread; a worker has only the last three.
const (
	gemmForks = iota
	gemmFills
	gemmStarts
	gemmWakes
	gemmWaits
	gemmComputes
	gemmMeets
	gemmEnds
	gemmExits
)

func (t *gemmThread) Next(int64) Op {
	for {
		switch t.phase {
		case gemmForks:
			if t.id != 0 {
				t.phase = gemmWaits
				continue
			}
			t.n++
			if t.n < t.threads {
				return Op{Kind: Fork, Child: t.tasks[t.n]}
			}
			t.phase, t.n = gemmFills, 0
		case gemmFills:
			t.phase = gemmStarts
			return Op{Kind: Run, NS: t.fill}
		case gemmStarts:
			t.phase = gemmWakes
			return Op{Kind: Mark, Obj: Start}
		case gemmWakes:
			t.n++
			if t.n < t.threads {
				return Op{Kind: Give, Obj: t.n, N: 1}
			}
			t.phase, t.n = gemmComputes, 0
		case gemmWaits:
			t.phase, t.n = gemmComputes, 0
			return Op{Kind: Take, Obj: t.id, Spin: t.spin}
		case gemmComputes:
			t.phase = gemmMeets
			return Op{Kind: Run, NS: t.stepNS}
		case gemmMeets:
			t.n++
			t.phase = gemmComputes
			if t.n == t.steps {
				t.phase = gemmEnds
			}
			spin := Forever
			if t.parkEvery > 0 && t.n%t.parkEvery == 0 && t.n < t.steps {
				spin = 0
			}
			return Op{Kind: Meet, Obj: gemmBarrier, Spin: spin}
		case gemmEnds:
			if t.id != 0 {
				t.phase = gemmExits
				continue
			}
			t.phase = gemmExits
			return Op{Kind: Mark, Obj: End}
		default:
			if t.id == 0 && t.n > 0 {
				t.n = 0
				return Op{Kind: Mark, Obj: Stop}
			}
			return Op{Kind: Exit}
		}
	}
}
