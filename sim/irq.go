// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"

	"sibyl/cpumask"
	"sibyl/internal/rng"
	"sibyl/state"
	"sibyl/trace"
	"sibyl/workload"
)

// irqBegin takes CPU c out of WFI for an interrupt.
func (s *Sim) irqBegin(c int) {
	s.cpus[c].irqs++
	s.touch(c)
}

// irqDone ends an interrupt that took no time of its own.
func (s *Sim) irqDone(c int) {
	s.cpus[c].irqs--
	s.touch(c)
}

// irq keeps CPU c out of WFI for ns: an interrupt or softirq of that name.
func (s *Sim) irq(c int, ns int64, name string) {
	if s.cfg.Trace != nil {
		s.emit(trace.Event{CPU: int32(c), Kind: trace.IRQEnter, Task: -1, Prev: -1, Detail: name})
	}
	s.irqBegin(c)
	s.q.push(s.now+max(ns, 1), evIRQEnd, int32(c), 0, 0)
}

func (s *Sim) irqEnd(c int) {
	s.events++
	s.irqDone(c)
	if s.cfg.Trace != nil {
		s.emit(trace.Event{CPU: int32(c), Kind: trace.IRQExit, Task: -1, Prev: -1})
	}
}

// noise is the run's background activity.
type noise struct {
	workload.Noise
	arrive, place, pick, burst *rng.Stream
	// Arrivals at all CPUs together are one Poisson process with the mean
	// gap in ns; each goes to a CPU in proportion to the CPU's rate. upTo
	// holds the sum of the rates up to each CPU of cpus.
	gap  int64
	cpus []int32
	upTo []float64
	// busy and busyTo are the same for the CPUs of busy cores in a quiet time.
	busy   []int32
	busyTo []float64
}

// setupNoise gives each CPU its rate and each daemon its task.
func (s *Sim) setupNoise() {
	n := &s.noise
	n.Noise = s.in.Noise
	if n.Off() {
		return
	}
	n.arrive, n.place = s.stream("noise/arrive"), s.stream("noise/place")
	n.pick, n.burst = s.stream("noise/kind"), s.stream("noise/burst")
	uneven := s.stream("noise/cores")
	total := 0.0
	for core := range s.cores {
		factor := uneven.Gamma(1, n.CV)
		for _, c := range s.cores[core].cpus {
			rate := n.RateOther
			if s.cpus[c].pe == 0 {
				rate = float64(n.RateFirst * factor)
			}
			if n.CPUs.Has(int(c)) && rate > 0 {
				total += rate
				n.cpus, n.upTo = append(n.cpus, c), append(n.upTo, total)
			}
		}
	}
	if bound := float64(total * (n.Interrupts + n.Kthreads)); bound > 0 {
		n.gap = max(1, int64(1e9/bound))
		s.q.push(s.now+n.arrive.ExpNS(n.gap), evIRQ, 0, 0, 0)
	}
	s.setupDaemons(float64(total * n.Daemons))
}

// setupDaemons creates as many daemons as there are cores with noise. They share
// the daemons' part of it; each sleeps, wakes by its own timer and is placed by
// the rules. Few busy daemons would concentrate their part on few cores, since
// a task whose previous CPU is idle mostly stays there.
func (s *Sim) setupDaemons(rate float64) {
	if rate <= 0 {
		return
	}
	count := 0
	for core := range s.cores {
		for _, c := range s.cores[core].cpus {
			if s.noise.CPUs.Has(int(c)) {
				count++
				break
			}
		}
	}
	start := s.stream("noise/daemons")
	for i := range count {
		name := fmt.Sprintf("daemon-%d", i)
		d := &daemon{
			gap:   max(1, int64(float64(1e9*float64(count))/rate)),
			burst: s.noise.BurstNS,
			sleep: s.stream("noise/sleep/" + name),
			run:   s.stream("noise/run/" + name),
		}
		here := nth(s.noise.CPUs, start.Intn(s.noise.CPUs.Count()))
		s.start(here, s.newTask(&workload.Task{Name: name, Allowed: s.noise.CPUs, Program: d}, state.None), here)
	}
}

func nth(m cpumask.Mask, n int) int {
	c := m.First()
	for ; n > 0; n-- {
		c = m.Next(c + 1)
	}
	return c
}

// daemon sleeps and runs in turn.
type daemon struct {
	gap, burst int64
	sleep, run *rng.Stream
	awake      bool
}

func (d *daemon) Next(int64) workload.Op {
	d.awake = !d.awake
	if d.awake {
		return workload.Op{Kind: workload.Sleep, NS: d.sleep.ExpNS(d.gap)}
	}
	return workload.Op{Kind: workload.Run, NS: d.run.ExpNS(d.burst)}
}

// kworker is a per-CPU kthread: each wakeup is one burst.
type kworker struct {
	next int64 // length of the next burst
	ran  bool
}

func (k *kworker) Next(int64) workload.Op {
	k.ran = !k.ran
	if k.ran {
		return workload.Op{Kind: workload.Run, NS: k.next}
	}
	return workload.Op{Kind: workload.Sleep, NS: workload.Forever}
}

// aimed marks an arrival whose CPU was drawn together with its time.
const aimed = 1

// nextNoise draws the next arrival. In a quiet time only the cores that are busy
// now are drawn for; since waiting times have no memory, the others may be taken
// up again at its end as if nothing had been left out.
func (s *Sim) nextNoise() {
	n := &s.noise
	t := s.now - s.begin
	if t < n.QuietFrom || t >= n.QuietTo {
		s.q.push(s.now+n.arrive.ExpNS(n.gap), evIRQ, 0, 0, 0)
		return
	}
	end := s.begin + n.QuietTo
	n.busy, n.busyTo = n.busy[:0], n.busyTo[:0]
	total, before := 0.0, 0.0
	for i, c := range n.cpus {
		rate := n.upTo[i] - before
		before = n.upTo[i]
		if !s.st.IdleCore.Has(int(c)) {
			total += rate
			n.busy, n.busyTo = append(n.busy, c), append(n.busyTo, total)
		}
	}
	at := end
	if total > 0 {
		bound := float64(total * (n.Interrupts + n.Kthreads))
		at = s.now + n.arrive.ExpNS(max(1, int64(1e9/bound)))
	}
	if at >= end {
		s.q.push(end+n.arrive.ExpNS(n.gap), evIRQ, 0, 0, 0)
		return
	}
	s.q.push(at, evIRQ, n.draw(n.busy, n.busyTo), aimed, 0)
}

// draw picks one of cpus in proportion to its rate; upTo holds the sums of the
// rates.
func (n *noise) draw(cpus []int32, upTo []float64) int32 {
	i, _ := slices.BinarySearch(upTo, float64(n.place.Float64()*upTo[len(upTo)-1]))
	return cpus[min(i, len(cpus)-1)]
}

// noiseArrives brings one interrupt, or one wakeup of a CPU's kthread.
func (s *Sim) noiseArrives(c int, drawn bool) {
	n := &s.noise
	if !drawn {
		c = int(n.draw(n.cpus, n.upTo))
	}
	s.nextNoise()
	kthread := float64(n.pick.Float64()*(n.Interrupts+n.Kthreads)) >= n.Interrupts
	if !kthread && s.st.IdleCore.Has(c) {
		return // nobody notices an interrupt on an idle core, not even history
	}
	s.count.Noise++
	length := n.burst.ExpNS(n.BurstNS)
	s.events++
	if kthread {
		s.wakeKworker(c, length)
		return
	}
	s.irq(c, length, "interrupt")
	s.delay(c, length)
	if s.cpus[c].resched {
		s.needResched(c) // a lazy request acts at the end of the interrupt
	}
}

// wakeKworker wakes c's kthread from an interrupt on c.
func (s *Sim) wakeKworker(c int, length int64) {
	p := &s.cpus[c]
	if p.kworker == state.None {
		only := cpumask.New(s.h.NrCPUs)
		only.Set(c)
		spec := &workload.Task{Name: "kworker", Allowed: only, Program: &kworker{}}
		p.kworker = s.newTask(spec, state.None)
		t := s.st.Tasks[p.kworker]
		t.Kthread = true
		t.CPU, t.WakeCPU, t.RecentUsed = c, c, c
		s.tasks[p.kworker].status = sleeping
		t.Avg.LastUpdate = s.st.CPUs[c].Avg.LastUpdate
		t.Avg.LoadAvg, t.Avg.LoadSum, t.HLoad = 0, 0, 0
	}
	t := &s.tasks[p.kworker]
	if t.status != sleeping {
		return // it is still at the burst before
	}
	t.spec.Program.(*kworker).next = length
	t.timer++ // the sleep that it is in has no end of its own
	t.rem = 0
	s.irqBegin(c)
	s.wake(p.kworker, wakeContext{here: c, waker: s.st.CPUs[c].Curr})
	s.settle()
	s.irqDone(c)
}
