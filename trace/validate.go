// SPDX-License-Identifier: Apache-2.0

package trace

import "fmt"

// Validator is a Sink that holds a stream to what every scheduler does: a CPU
// runs one task, a task runs on one CPU, a task that was asleep is woken before
// it runs, time does not go backwards, and every CPU and task is known. Where a
// stream begins in the middle, a CPU's or task's state is unknown until its
// first event.
//
// The zero value is ready. It keeps the first error, which Err and End return.
type Validator struct {
	head  Header
	tasks []Task
	cpus  []int32    // task on each CPU: unknown, -1 idle
	state []taskView // by task
	irqs  []int
	last  int64
	n     int64
	err   error
}

const unknown = -2

type taskView struct {
	cpu      int32 // where it runs; -1 nowhere, unknown
	runnable bool
	seen     bool
	gone     bool
}

// Begin takes the header.
func (v *Validator) Begin(h Header) error {
	*v = Validator{head: h, tasks: append([]Task(nil), h.Tasks...), last: h.Start}
	v.cpus = make([]int32, h.NrCPUs)
	v.irqs = make([]int, h.NrCPUs)
	for i := range v.cpus {
		v.cpus[i] = unknown
	}
	v.state = make([]taskView, len(v.tasks))
	for i := range v.state {
		v.state[i].cpu = unknown
	}
	return nil
}

// NewTask announces a task; it is asleep.
func (v *Validator) NewTask(t Task) {
	v.tasks = append(v.tasks, t)
	v.state = append(v.state, taskView{cpu: -1, seen: true})
}

// End returns the first error.
func (v *Validator) End(last int64) error {
	if v.err == nil && last < v.last {
		v.err = fmt.Errorf("validate trace: end at %d ns: before the last event at %d ns", last, v.last)
	}
	return v.err
}

// Err returns the first error so far.
func (v *Validator) Err() error { return v.err }

// Events returns the number of events so far.
func (v *Validator) Events() int64 { return v.n }

func (v *Validator) fail(e Event, format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("validate trace: event %d at %d ns on CPU %d: %s", v.n, e.Time, e.CPU, fmt.Sprintf(format, args...))
	}
}

// Event checks one event.
func (v *Validator) Event(e Event) {
	v.n++
	if v.err != nil {
		return
	}
	if e.Time < v.last {
		v.fail(e, "time goes back from %d ns", v.last)
		return
	}
	v.last = e.Time
	if e.CPU < 0 || int(e.CPU) >= len(v.cpus) {
		v.fail(e, "no such CPU: want 0 to %d", len(v.cpus)-1)
		return
	}
	for _, id := range []int32{e.Task, e.Prev} {
		if id >= int32(len(v.state)) {
			v.fail(e, "no such task: %d of %d", id, len(v.state))
			return
		}
	}
	switch e.Kind {
	case Switch:
		v.switched(e)
	case Wakeup, Fork:
		if t := v.task(e, e.Task); t != nil {
			if t.gone {
				v.fail(e, "task %d is woken after its end", e.Task)
			}
			t.runnable, t.seen = true, true
			if t.cpu == unknown {
				t.cpu = -1
			}
		}
	case Exit:
		if t := v.task(e, e.Task); t != nil {
			t.gone, t.runnable = true, false
		}
	case Migrate:
		if t := v.task(e, e.Task); t != nil && t.cpu >= 0 {
			v.fail(e, "task %d is moved while it runs on CPU %d", e.Task, t.cpu)
		}
	case IRQEnter:
		v.irqs[e.CPU]++
	case IRQExit:
		if v.irqs[e.CPU]--; v.irqs[e.CPU] < 0 {
			v.fail(e, "an interrupt ends that did not begin")
		}
	case Waking, Decision, Mode, Kick, Balance:
	default:
		v.fail(e, "unknown kind %d", e.Kind)
	}
}

// task returns the view of a task that the event must name.
func (v *Validator) task(e Event, id int32) *taskView {
	if id < 0 {
		v.fail(e, "no task is named")
		return nil
	}
	return &v.state[id]
}

func (v *Validator) switched(e Event) {
	if on := v.cpus[e.CPU]; on != unknown && on != e.Prev {
		v.fail(e, "switches from task %d: task %d was running", e.Prev, on)
		return
	}
	if e.Prev >= 0 {
		t := &v.state[e.Prev]
		t.cpu = -1
		t.runnable = e.Arg == 1
		t.seen = true
	}
	v.cpus[e.CPU] = e.Task
	if e.Task < 0 {
		return
	}
	t := &v.state[e.Task]
	switch {
	case t.cpu >= 0:
		v.fail(e, "task %d runs on CPU %d already", e.Task, t.cpu)
	case t.gone:
		v.fail(e, "task %d runs after its end", e.Task)
	case t.seen && !t.runnable:
		v.fail(e, "task %d runs without having been woken", e.Task)
	}
	t.cpu, t.runnable, t.seen = e.CPU, true, true
}
