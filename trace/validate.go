// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"fmt"

	"sibyl/coremode"
)

// Validator is a Sink that holds a stream to what every scheduler does: a CPU
// runs one task, a task runs on one CPU, a task that was asleep is woken before
// it runs and runs where it was put, interrupts nest, time does not go
// backwards, and every CPU and task is known. Where a stream begins in the
// middle, and after events were lost, the state of a CPU or task is unknown
// until its next event.
//
// The zero value is ready. It keeps the first error, which Err and End return:
// one line with the event's number (from 1), time and CPU, and what was
// expected. It keeps a few words for each CPU and task.
type Validator struct {
	perCPU bool
	names  []string   // by task
	tasks  []taskView // by task
	cpus   []cpuView
	mode   []int64 // by core; -1 unknown
	core   []int
	last   int64 // time of the last event
	n      int64
	err    error
}

const unknown = -2

// cpuView is what is known of a CPU.
type cpuView struct {
	runs int32 // a task, -1 idle, unknown
	last int64
	irqs []string // open interrupts, the outermost first
	// begun tells that the nesting of interrupts is known.
	begun bool
}

// taskView is what is known of a task.
type taskView struct {
	life life
	runs int32 // CPU on which it runs, -1 none, unknown
	on   int32 // CPU of its queue, unknown
}

// life is what a task does.
type life uint8

const (
	unseen life = iota // nothing is known
	fresh              // announced, has done nothing yet
	asleep
	ready // runs or is queued
	gone
)

// maxNesting bounds open interrupts of a CPU; real ones nest a few deep.
const maxNesting = 64

// Begin takes the header.
func (v *Validator) Begin(h Header) error {
	*v = Validator{last: h.Start, perCPU: h.PerCPU, core: h.Core}
	if h.NrCPUs < 1 {
		v.err = fmt.Errorf("validate trace: the header has no CPUs")
		return v.err
	}
	v.cpus = make([]cpuView, h.NrCPUs)
	for i := range v.cpus {
		v.cpus[i] = cpuView{runs: unknown, last: h.Start}
	}
	if h.Core != nil && len(h.Core) != h.NrCPUs {
		v.err = fmt.Errorf("validate trace: the header gives cores for %d of %d CPUs", len(h.Core), h.NrCPUs)
		return v.err
	}
	for cpu, c := range h.Core {
		if c < -1 || c >= h.NrCPUs {
			v.err = fmt.Errorf("validate trace: the header puts CPU %d in core %d: want a dense index", cpu, c)
			return v.err
		}
		for len(v.mode) <= c {
			v.mode = append(v.mode, -1)
		}
	}
	for _, t := range h.Tasks {
		v.names = append(v.names, t.Name)
		v.tasks = append(v.tasks, taskView{unseen, unknown, unknown})
	}
	return nil
}

// NewTask announces a task; it has not run yet.
func (v *Validator) NewTask(t Task) {
	v.names = append(v.names, t.Name)
	v.tasks = append(v.tasks, taskView{fresh, -1, unknown})
}

// End returns the first error.
func (v *Validator) End(last int64) error {
	if v.err == nil && last < v.last && !v.perCPU {
		v.err = fmt.Errorf("validate trace: end at %d ns: before the last event at %d ns", last, v.last)
	}
	return v.err
}

// Err returns the first error so far.
func (v *Validator) Err() error { return v.err }

// Events returns the number of events so far.
func (v *Validator) Events() int64 { return v.n }

func (v *Validator) fail(e *Event, format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("validate trace: event %d (%s) at %d ns on CPU %d: %s", v.n, e.Kind, e.Time, e.CPU, fmt.Sprintf(format, args...))
	}
}

// name names a task.
func (v *Validator) name(id int32) string {
	if id < 0 {
		return "idle"
	}
	return fmt.Sprintf("task %d (%s)", id, v.names[id])
}

// Event checks one event.
func (v *Validator) Event(e Event) {
	v.n++
	if v.err != nil {
		return
	}
	if v.known(&e); v.err != nil {
		return
	}
	cpu := &v.cpus[e.CPU]
	before := v.last
	if v.perCPU {
		before = cpu.last
	}
	if e.Time < before {
		v.fail(&e, "time goes back from %d ns", before)
		return
	}
	v.last, cpu.last = max(v.last, e.Time), e.Time
	switch e.Kind {
	case Switch:
		v.switched(&e)
	case Waking:
		if v.tasks[e.Task].life == gone {
			v.fail(&e, "%s ended before", v.name(e.Task))
		}
	case Wakeup:
		v.woken(&e)
	case Fork:
		if t := &v.tasks[e.Task]; t.life != unseen && t.life != fresh {
			v.fail(&e, "%s existed before", v.name(e.Task))
		}
		v.queued(&e)
	case Migrate:
		v.migrated(&e)
	case Exit:
		v.exited(&e)
	case Mode:
		v.entered(&e)
	case IRQEnter:
		cpu.begun = true
		if len(cpu.irqs) == maxNesting {
			v.fail(&e, "%d interrupts are open", maxNesting)
			return
		}
		cpu.irqs = append(cpu.irqs, e.Detail)
	case IRQExit:
		v.irqExit(&e, cpu)
	case Balance, Lost:
		if e.Arg < 0 {
			v.fail(&e, "%d is no number of tasks or events", e.Arg)
		}
		if e.Kind == Lost {
			v.forget()
		}
	case Decision, Kick:
	}
}

// known checks that all that the event names exists.
func (v *Validator) known(e *Event) {
	if e.Kind == 0 || e.Kind >= nrKinds {
		v.fail(e, "unknown kind of event")
		return
	}
	if e.CPU < 0 || int(e.CPU) >= len(v.cpus) {
		v.fail(e, "no such CPU: want 0 to %d", len(v.cpus)-1)
		return
	}
	for _, f := range kinds[e.Kind].fields {
		var end int64
		var what string
		switch f.slot {
		case taskSlot, prevSlot:
			end, what = int64(len(v.tasks)), "task"
		case targetSlot, cpuArgSlot:
			end, what = int64(len(v.cpus)), "CPU"
		default:
			continue
		}
		switch x := e.get(f.slot); {
		case f.none && x == -1:
		case x < 0:
			v.fail(e, "%s names no %s", f.key, what)
		case x >= end:
			v.fail(e, "%s names %s %d: there are %d", f.key, what, x, end)
		}
	}
}

func (v *Validator) switched(e *Event) {
	cpu := &v.cpus[e.CPU]
	cpu.begun = true // interrupts do not switch tasks: none was open
	switch {
	case cpu.runs != unknown && cpu.runs != e.Prev:
		v.fail(e, "switches from %s: %s was running", v.name(e.Prev), v.name(cpu.runs))
		return
	case e.Prev == e.Task:
		v.fail(e, "switches from %s to itself", v.name(e.Prev))
		return
	case e.Arg != 0 && e.Arg != 1:
		v.fail(e, "runnable is %d: want 0 or 1", e.Arg)
		return
	}
	if e.Prev >= 0 {
		t := &v.tasks[e.Prev]
		if t.runs >= 0 && t.runs != e.CPU {
			v.fail(e, "switches from %s: it runs on CPU %d", v.name(e.Prev), t.runs)
			return
		}
		t.runs, t.on = -1, e.CPU
		if t.life != gone {
			t.life = asleep
			if e.Arg == 1 {
				t.life = ready
			}
		}
	}
	cpu.runs = e.Task
	if e.Task < 0 {
		return
	}
	t := &v.tasks[e.Task]
	switch {
	case t.runs >= 0:
		v.fail(e, "%s runs on CPU %d already", v.name(e.Task), t.runs)
	case t.life == gone:
		v.fail(e, "%s runs after its end", v.name(e.Task))
	case t.life == asleep || t.life == fresh:
		v.fail(e, "%s runs without having been woken", v.name(e.Task))
	case t.life == ready && t.on != unknown && t.on != e.CPU:
		v.fail(e, "%s was queued on CPU %d", v.name(e.Task), t.on)
	}
	*t = taskView{ready, e.CPU, e.CPU}
}

func (v *Validator) woken(e *Event) {
	t := &v.tasks[e.Task]
	switch {
	case t.life == gone:
		v.fail(e, "%s is woken after its end", v.name(e.Task))
	case t.runs >= 0 && t.runs != e.Target:
		// A task may be woken while it runs, but stays where it is.
		v.fail(e, "%s is woken on CPU %d while it runs on CPU %d", v.name(e.Task), e.Target, t.runs)
	case t.life == ready && t.on != unknown && t.on != e.Target:
		v.fail(e, "%s is woken on CPU %d while it is queued on CPU %d", v.name(e.Task), e.Target, t.on)
	}
	v.queued(e)
}

// queued puts a task on the queue of the event's target.
func (v *Validator) queued(e *Event) {
	t := &v.tasks[e.Task]
	t.life, t.on = ready, e.Target
	if t.runs == unknown {
		t.runs = -1
	}
}

func (v *Validator) migrated(e *Event) {
	t := &v.tasks[e.Task]
	switch {
	case t.runs >= 0:
		v.fail(e, "%s is moved while it runs on CPU %d", v.name(e.Task), t.runs)
	case t.life == gone:
		v.fail(e, "%s is moved after its end", v.name(e.Task))
	case e.Arg == int64(e.Target):
		v.fail(e, "%s is moved from CPU %d to itself", v.name(e.Task), e.Target)
	case t.life == ready && t.on != unknown && e.Arg >= 0 && int64(t.on) != e.Arg:
		v.fail(e, "%s is moved from CPU %d: it was queued on CPU %d", v.name(e.Task), e.Arg, t.on)
	}
	t.on = e.Target
}

func (v *Validator) exited(e *Event) {
	t := &v.tasks[e.Task]
	switch {
	case t.life == gone:
		v.fail(e, "%s ended before", v.name(e.Task))
	case t.runs >= 0 && t.runs != e.CPU:
		v.fail(e, "%s ends while it runs on CPU %d", v.name(e.Task), t.runs)
	}
	t.life = gone
}

func (v *Validator) entered(e *Event) {
	if e.Arg < 0 || e.Arg > int64(coremode.Out) {
		v.fail(e, "unknown mode %d", e.Arg)
		return
	}
	if v.core == nil || v.core[e.CPU] < 0 {
		return
	}
	core := v.core[e.CPU]
	if v.mode[core] == e.Arg {
		v.fail(e, "core %d is in mode %s already", core, coremode.Mode(e.Arg))
	}
	v.mode[core] = e.Arg
}

func (v *Validator) irqExit(e *Event, cpu *cpuView) {
	n := len(cpu.irqs)
	switch {
	case n > 0:
		if in := cpu.irqs[n-1]; e.Detail != "" && in != "" && e.Detail != in {
			v.fail(e, "interrupt %q ends within %q", e.Detail, in)
		}
		cpu.irqs = cpu.irqs[:n-1]
	case cpu.begun:
		v.fail(e, "an interrupt ends that did not begin")
	}
}

// forget makes all states unknown that events could have changed. A task that
// ended stays so.
func (v *Validator) forget() {
	for i := range v.cpus {
		c := &v.cpus[i]
		c.runs, c.irqs, c.begun = unknown, c.irqs[:0], false
	}
	for i := range v.tasks {
		if t := &v.tasks[i]; t.life != gone {
			*t = taskView{unseen, unknown, unknown}
		}
	}
	for i := range v.mode {
		v.mode[i] = -1
	}
}
