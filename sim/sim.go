// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"

	"sibyl/balance"
	"sibyl/coremode"
	"sibyl/domain"
	"sibyl/internal/rng"
	"sibyl/pelt"
	"sibyl/placement"
	"sibyl/state"
	"sibyl/trace"
	"sibyl/workload"
)

// Sim is one run in progress. It is not safe for concurrent use.
type Sim struct {
	cfg   Config
	h     *domain.Hierarchy
	st    *state.State
	place *placement.Placer
	bal   *balance.Balancer
	mode  coremode.Params
	modal bool // the machine's cores have modes
	costs Costs

	now       int64
	begin     int64 // when the workload starts
	end       int64 // when the run ends at the latest
	stop      bool
	q         queue
	events    int64
	decisions int64

	cpus  []cpu
	cores []core
	tasks []task // parallel to st.Tasks

	in       *workload.Instance
	sems     []semaphore
	barriers []barrier
	measured workload.Measured
	inside   bool // in the measured interval
	count    Counters
	base     []coremode.Counters // of each core when the workload started

	noise   noise
	newidle *rng.Stream
	force   *rng.Stream
	path    placement.Path
	// noShortcut walks every domain of idle cores; a test compares.
	noShortcut bool
	// settleList holds CPUs that must reschedule once the present event is
	// handled.
	settleList []int32
}

// cpu is the engine's side of one CPU.
type cpu struct {
	core, pe  int32
	gen       uint32 // of the evOp that counts
	opAt      int64  // when it comes; never if there is none
	hrGen     uint32
	last      int64 // progress is accounted up to here
	speed     int64 // of the current task; oneSpeed is a core to itself
	stall     int64 // ns that the current task loses before it makes progress
	cold      int64 // ns that it loses after that, refilling caches
	execStart int64 // the run queue is accounted up to here
	clock     pelt.Clock
	clockAt   int64 // clock has been advanced up to here
	capSpeed  int64 // oneSpeed scaled by capacity, where capacity is speed
	irqs      int32 // interrupts and softirqs in progress
	active    bool  // out of WFI
	tickOn    bool
	tickFrom  int64 // the first tick is not before
	ipi       bool  // a resched IPI is on its way
	resched   bool  // reschedule at the next kernel exit or tick
	settling  bool  // on settleList
	wakeList  []state.TaskID
	kworker   state.TaskID
	shown     state.TaskID // what the trace says runs here
	idleSince int64
	pushTo    int32 // destination of the active balance in progress
}

// core is the engine's side of one core.
type core struct {
	cpus    []int32 // online siblings, by thread
	running int     // threads that run a task
	gen     uint32  // of evCore
	mode    coremode.Core
}

// oneSpeed is the speed of a thread with a core of full capacity to itself;
// work is kept in ns times oneSpeed.
const (
	oneSpeed      = 1 << oneSpeedShift
	oneSpeedShift = 20
)

// Run carries out one run. ctx is looked at every few thousand events.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	s, err := newSim(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.loop(ctx); err != nil {
		return nil, err
	}
	r := s.result()
	if cfg.Trace != nil {
		if err := cfg.Trace.End(s.now); err != nil {
			return nil, fmt.Errorf("run simulation: %w", err)
		}
	}
	return r, nil
}

func newSim(cfg Config) (*Sim, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	h := cfg.Domains
	if h == nil {
		var err error
		if h, err = domain.Build(cfg.Machine, cfg.Policy.Options); err != nil {
			return nil, err
		}
	}
	in, err := cfg.Workload.Build(cfg.Machine, cfg.Seed)
	if err != nil {
		return nil, err
	}
	s := &Sim{cfg: cfg, h: h, in: in, costs: cfg.Costs}
	s.st = state.New(h, cfg.Machine.HZ)
	s.place = placement.New(s.st, cfg.Policy.Rules)
	s.bal = balance.New(s.st, cfg.Policy.Rules)
	s.mode, s.modal = coremode.NewParams(cfg.Machine.CoreMode)
	s.newidle = s.stream("newidle")
	s.force = s.stream("force")
	s.count.OtherShare = -1
	// The clock starts at one tick, since an idle stamp of 0 means never.
	s.now = s.st.TickNS
	s.begin = s.now + cfg.PastNS
	s.end = s.begin + cfg.DurationNS
	if cfg.DurationNS == 0 {
		s.end = s.begin + MaxDuration
	}
	s.q.initLane(h.NrCPUs, s.now, s.st.TickNS)
	s.setupCPUs()
	s.setupSync()
	if err := s.setupTrace(); err != nil {
		return nil, err
	}
	s.setupNoise()
	s.q.push(s.begin, evPoint, 0, pointBegin, 0)
	return s, nil
}

func (s *Sim) stream(name string) *rng.Stream { return rng.New(s.cfg.Seed, "sim/"+name) }

func (s *Sim) setupCPUs() {
	m := s.cfg.Machine
	s.cpus = make([]cpu, s.h.NrCPUs)
	hybrid := capacityIsSpeed(s.h)
	for c := range s.h.Active.All() {
		p := &s.cpus[c]
		p.core = int32(s.h.Core[c])
		p.kworker, p.shown = state.None, state.None
		p.opAt = never
		p.capSpeed = oneSpeed
		p.clockAt = s.now
		if hybrid {
			p.capSpeed = oneSpeed * int64(s.h.Capacity[c]) / 1024
		}
		for len(s.cores) <= int(p.core) {
			s.cores = append(s.cores, core{})
		}
		p.pe = int32(m.CPUs[c].Thread)
		s.cores[p.core].cpus = append(s.cores[p.core].cpus, int32(c))
		s.st.CPUs[c].RQ.Init(&s.cfg.Policy.Rules, s.st.TickNS)
		s.st.CPUs[c].IdleStamp = s.now
		p.idleSince = s.now
		s.bal.EnterNohz(c)
	}
	for c := range s.h.Active.All() {
		s.st.EnterIdle(c, s.cfg.Policy.Rules.LLCHintOnAsym)
	}
	s.base = make([]coremode.Counters, len(s.cores))
}

// capacityIsSpeed tells whether capacities stand for the speed of computing. A
// few per cent of spread do not: such CPUs run a parallel load at one common
// clock, and the kernel's own margin (capacity_greater) calls them equal.
func capacityIsSpeed(h *domain.Hierarchy) bool {
	lo, hi := 1024, 0
	for c := range h.Active.All() {
		lo, hi = min(lo, h.Capacity[c]), max(hi, h.Capacity[c])
	}
	return hi*1024 > lo*1078
}

// The moments of a run (evPoint).
const (
	pointBegin int32 = iota
)

// loop takes events until the run ends.
func (s *Sim) loop(ctx context.Context) error {
	for taken := 0; !s.stop && (len(s.q.ev) > 0 || s.q.cpu >= 0); taken++ {
		if taken&0xfff == 0 && ctx.Err() != nil {
			return fmt.Errorf("run simulation: stopped at %d ns: %w", s.now, context.Cause(ctx))
		}
		if s.q.tickFirst() {
			if s.q.border > s.end {
				s.now = s.end
				break
			}
			var c int
			c, s.now = s.q.takeTick()
			s.tick(c)
		} else {
			e := s.q.ev[0]
			if e.time > s.end {
				s.now = s.end
				break
			}
			s.now = e.time
			s.q.pop()
			s.dispatch(&e)
		}
		if len(s.settleList) > 0 {
			s.settle()
		}
	}
	return nil
}

func (s *Sim) dispatch(e *event) {
	c := int(e.a)
	switch e.kind {
	case evCore:
		s.coreTimer(c, e.gen)
	case evIRQ:
		s.noiseArrives(c, e.b == aimed)
	case evIRQEnd:
		s.irqEnd(c)
	case evIPI:
		s.reschedIPI(c)
	case evWakeList:
		s.takeWakeList(c)
	case evILB:
		s.idleBalance(c)
	case evTimer:
		s.timerExpires(c, state.TaskID(e.b), e.gen)
	case evHRTick:
		s.hrtick(c, e.gen)
	case evOp:
		s.opDone(c, e.gen)
	case evSpin:
		s.spinEnds(state.TaskID(e.b), e.gen)
	case evStopper:
		s.stopper(c)
	case evPoint:
		s.beginWorkload()
	}
}

// beginWorkload ends the past: counters start here, and the first tasks start on
// a random CPU that the workload may use, where a shell's sched_setaffinity
// (cpumask_any_and_distribute) would have left them.
func (s *Sim) beginWorkload() {
	s.events++
	s.count = Counters{OtherShare: -1}
	for i := range s.cores {
		s.base[i] = s.cores[i].mode.Counts
	}
	home := s.h.Active
	if s.in.Home != nil {
		home = s.in.Home
	}
	here := home.First()
	for skip := s.stream("start").Intn(home.Count()); skip > 0; skip-- {
		here = home.Next(here + 1)
	}
	for _, t := range s.in.Tasks {
		s.start(here, s.newTask(t, state.None), here)
	}
}

// result closes the books.
func (s *Sim) result() *Result {
	for c := range s.h.Active.All() {
		s.account(c)
	}
	r := &Result{
		Seed:       s.cfg.Seed,
		DurationNS: max(0, s.now-s.begin),
		Counters:   s.count,
		Events:     s.events,
		Warnings:   append([]string(nil), s.cfg.Machine.Warnings...),
	}
	r.Warnings = append(r.Warnings, s.h.Warnings...)
	for i := range s.cores {
		now, was := &s.cores[i].mode.Counts, &s.base[i]
		m := &r.Counters.Modes
		m.STToSMT += now.STToSMT - was.STToSMT
		m.SMTToST += now.SMTToST - was.SMTToST
		m.Aborted += now.Aborted - was.Aborted
		m.STToSMTCycles += now.STToSMTCycles - was.STToSMTCycles
		m.SMTToSTCycles += now.SMTToSTCycles - was.SMTToSTCycles
		m.SMTTime += now.SMTTime - was.SMTTime
	}
	var first, other int64
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.spec == nil || !t.spec.Measured {
			continue
		}
		cpu := t.endCPU
		if cpu < 0 {
			cpu = s.st.Tasks[i].CPU
		}
		r.Tasks = append(r.Tasks, TaskResult{Name: t.spec.Name, CPU: cpu, FirstNS: t.first, OtherNS: t.other})
		first, other = first+t.first, other+t.other
	}
	if first+other > 0 {
		r.Counters.OtherShare = other * 1000 / max(1, (first+other)/1000)
	}
	s.measured.DurationNS = r.DurationNS
	if s.in.Metrics != nil {
		r.Metrics = s.in.Metrics(s.measured)
	}
	return r
}

func (s *Sim) jiffies() int64 { return s.now / s.st.TickNS }

func (s *Sim) emit(e trace.Event) {
	e.Time = s.now
	s.cfg.Trace.Event(e)
}
