// SPDX-License-Identifier: Apache-2.0

// Package perfetto writes the event stream as a Perfetto trace (protobuf), which
// ui.perfetto.dev opens: a group of tracks for each core with a track for each
// CPU, its interrupts, the core's mode and its count of transitions; placement
// decisions are instants that carry their path, with an arrow to where the task
// then ran. A Reader reads the packets of such a trace back.
//
// Only the fields that are used are encoded, by protowire; testdata/trace.proto
// lists them.
package perfetto

import (
	"bufio"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"sibyl/coremode"
	"sibyl/trace"
)

const none = -1

// maxNames bounds the table of interned names; a full one is begun anew.
const maxNames = 1 << 16

// Writer is a trace.Sink. It buffers little and keeps a few words for each task
// and a bounded table of names, so its memory does not grow with the number of
// events. The bytes depend on the events alone.
type Writer struct {
	w      *bufio.Writer
	err    error
	head   trace.Header
	tasks  []string // names, by task
	flow   []uint64 // by task: the arrow from its last decision, 0 none
	flows  uint64
	open   []bool  // a task's slice is open, by CPU
	irqs   []int   // open interrupt slices, by CPU
	mode   []int8  // the mode whose slice is open, by core; none
	counts []int64 // completed switches to two-thread mode, by core
	total  int64

	names, argNames map[string]uint64
	iid             uint64 // last interning number given
	cleared         bool   // the next packet says that earlier names are gone

	packet, body, inner, interned []byte
}

// NewWriter returns a Writer to w. The caller closes w after End.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 1<<16), names: map[string]uint64{}, argNames: map[string]uint64{}, cleared: true}
}

// Begin writes the tracks.
func (t *Writer) Begin(h trace.Header) error {
	t.head = h
	for _, task := range h.Tasks {
		t.NewTask(task)
	}
	cores := 0
	for _, c := range h.Core {
		cores = max(cores, c+1)
	}
	if h.Core != nil && len(h.Core) != h.NrCPUs {
		t.fail("the header gives cores for %d of %d CPUs", len(h.Core), h.NrCPUs)
		return t.result()
	}
	t.open, t.irqs = make([]bool, h.NrCPUs), make([]int, h.NrCPUs)
	t.mode, t.counts = make([]int8, cores), make([]int64, cores)
	for i := range t.mode {
		t.mode[i] = none
	}
	t.tracks(cores)
	return t.result()
}

// NewTask names the next task.
func (t *Writer) NewTask(task trace.Task) {
	t.tasks = append(t.tasks, fmt.Sprintf("%s [%d]", task.Name, task.PID))
	t.flow = append(t.flow, 0)
}

// Event writes one event. Kinds that have no picture of their own (Waking,
// Wakeup, Fork, Exit) are left out: the decision and the slices show them.
func (t *Writer) Event(e trace.Event) {
	cpu := int(e.CPU)
	if cpu < 0 || cpu >= t.head.NrCPUs || e.Time < 0 {
		t.fail("event at %d ns on CPU %d: want times from 0 and CPUs 0 to %d", e.Time, e.CPU, t.head.NrCPUs-1)
		return
	}
	switch e.Kind {
	case trace.Switch:
		if t.open[cpu] {
			t.sliceEnd(e.Time, cpuTrack|uint64(cpu))
		}
		if t.open[cpu] = e.Task >= 0; t.open[cpu] {
			t.sliceBegin(e.Time, cpuTrack|uint64(cpu), t.taskName(e.Task), t.takeFlow(e.Task))
		}
	case trace.IRQEnter:
		t.irqs[cpu]++
		name := e.Detail
		if name == "" {
			name = "interrupt"
		}
		t.sliceBegin(e.Time, irqTrack|uint64(cpu), name, 0)
	case trace.IRQExit:
		if t.irqs[cpu] > 0 {
			t.irqs[cpu]--
			t.sliceEnd(e.Time, irqTrack|uint64(cpu))
		}
	case trace.Mode:
		t.modeChange(e)
	case trace.Decision:
		t.mark(e, "select_task_rq_fair", t.giveFlow(e.Task), []annotation{
			{name: "task", text: t.taskName(e.Task)},
			{name: "waker", text: t.taskName(e.Prev)},
			{name: "prev", number: e.Arg},
			{name: "chosen", number: int64(e.Target)},
			{name: "path", text: e.Detail},
		})
	case trace.Kick:
		t.mark(e, "kick_ilb", 0, []annotation{{name: "target", number: int64(e.Target)}, {name: "flags", number: e.Arg}})
	case trace.Balance:
		t.mark(e, "sched_balance_rq", 0, []annotation{{name: "source", number: int64(e.Target)}, {name: "tasks", number: e.Arg}})
	case trace.Migrate:
		t.mark(e, "migrate", 0, []annotation{
			{name: "task", text: t.taskName(e.Task)}, {name: "from", number: e.Arg}, {name: "to", number: int64(e.Target)},
		})
	case trace.Lost:
		t.mark(e, "events lost", 0, []annotation{{name: "events", number: e.Arg}})
		t.closeAll(e.Time) // nobody knows how long they went on
	}
}

func (t *Writer) modeChange(e trace.Event) {
	if t.head.Core == nil || t.head.Core[e.CPU] < 0 {
		return
	}
	core := t.head.Core[e.CPU]
	m := coremode.Mode(e.Arg)
	if e.Arg < 0 || e.Arg > int64(coremode.Out) {
		t.fail("event at %d ns on CPU %d: unknown mode %d", e.Time, e.CPU, e.Arg)
		return
	}
	was := t.mode[core]
	if was != none {
		t.sliceEnd(e.Time, modeTrack|uint64(core))
	}
	t.mode[core] = int8(m)
	t.sliceBegin(e.Time, modeTrack|uint64(core), m.String(), 0)
	// A switch back that was aborted comes to SMT too, but from Out.
	if m == coremode.SMT && was == int8(coremode.In) {
		t.counts[core]++
		t.total++
		t.count(e.Time, countTrack|uint64(core), t.counts[core])
		t.count(e.Time, totalTrack, t.total)
	}
}

// closeAll ends all open slices.
func (t *Writer) closeAll(at int64) {
	for cpu := range t.open {
		if t.open[cpu] {
			t.sliceEnd(at, cpuTrack|uint64(cpu))
			t.open[cpu] = false
		}
		for ; t.irqs[cpu] > 0; t.irqs[cpu]-- {
			t.sliceEnd(at, irqTrack|uint64(cpu))
		}
	}
	for core := range t.mode {
		if t.mode[core] != none {
			t.sliceEnd(at, modeTrack|uint64(core))
			t.mode[core] = none
		}
	}
}

// End closes what is open at time last and flushes.
func (t *Writer) End(last int64) error {
	t.closeAll(max(last, 0))
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	return t.result()
}

func (t *Writer) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

func (t *Writer) result() error {
	if t.err != nil {
		return fmt.Errorf("write perfetto trace: %w", t.err)
	}
	return nil
}

func (t *Writer) taskName(id int32) string {
	if id < 0 {
		return "idle"
	}
	if int(id) < len(t.tasks) {
		return t.tasks[id]
	}
	return fmt.Sprintf("task %d", id)
}

// giveFlow begins an arrow from a decision about a task; takeFlow ends it where
// the task next runs.
func (t *Writer) giveFlow(task int32) uint64 {
	if task < 0 || int(task) >= len(t.flow) {
		return 0
	}
	t.flows++
	t.flow[task] = t.flows
	return t.flows
}

func (t *Writer) takeFlow(task int32) uint64 {
	if task < 0 || int(task) >= len(t.flow) {
		return 0
	}
	f := t.flow[task]
	t.flow[task] = 0
	return f
}

// annotation is one argument that the UI shows with an event.
type annotation struct {
	name, text string
	number     int64 // used if text is empty
}

// mark writes an instant on the event's CPU.
func (t *Writer) mark(e trace.Event, name string, flow uint64, args []annotation) {
	t.begin(e.Time, Instant, cpuTrack|uint64(e.CPU))
	t.body = varint(t.body, eventNameIID, t.intern(t.names, internedNames, name))
	for _, a := range args {
		id := t.intern(t.argNames, internedArgNames, a.name)
		t.inner = varint(t.inner[:0], annotationNameIID, id)
		if a.text != "" {
			t.inner = text(t.inner, annotationString, a.text)
		} else {
			t.inner = varint(t.inner, annotationInt, uint64(a.number))
		}
		t.body = message(t.body, eventAnnotation, t.inner)
	}
	if flow != 0 {
		t.body = fixed64(t.body, eventFlow, flow)
	}
	t.finish()
}

func (t *Writer) sliceBegin(at int64, track uint64, name string, flow uint64) {
	t.begin(at, SliceBegin, track)
	t.body = varint(t.body, eventNameIID, t.intern(t.names, internedNames, name))
	if flow != 0 {
		t.body = fixed64(t.body, eventFlowEnd, flow)
	}
	t.finish()
}

func (t *Writer) sliceEnd(at int64, track uint64) {
	t.begin(at, SliceEnd, track)
	t.finish()
}

func (t *Writer) count(at int64, track uint64, value int64) {
	t.begin(at, Counter, track)
	t.body = varint(t.body, eventCounter, uint64(value))
	t.finish()
}

// start begins a packet. Names are forgotten only here, so that no packet uses
// a name from before.
func (t *Writer) start() {
	t.packet, t.interned = t.packet[:0], t.interned[:0]
	if len(t.names)+len(t.argNames) >= maxNames {
		clear(t.names)
		clear(t.argNames)
		t.cleared = true
	}
}

// begin starts a packet with an event.
func (t *Writer) begin(at int64, kind Type, track uint64) {
	t.start()
	t.packet = varint(t.packet, packetTimestamp, uint64(at))
	t.body = varint(t.body[:0], eventType, uint64(kind))
	t.body = varint(t.body, eventTrack, track)
}

// intern returns the number of a name, which it announces the first time.
// Numbers are never given again: the protocol forbids it for a whole trace.
func (t *Writer) intern(table map[string]uint64, field protowire.Number, name string) uint64 {
	id, ok := table[name]
	if !ok {
		t.iid++
		id = t.iid
		table[name] = id
		t.inner = varint(t.inner[:0], nameIID, id)
		t.inner = text(t.inner, nameText, name)
		t.interned = message(t.interned, field, t.inner)
	}
	return id
}

// finish ends a packet with an event.
func (t *Writer) finish() {
	if len(t.interned) > 0 {
		t.packet = message(t.packet, packetInterned, t.interned)
	}
	t.packet = message(t.packet, packetEvent, t.body)
	t.flush()
}

// flush completes a packet and writes it.
func (t *Writer) flush() {
	flags := uint64(needsState)
	if t.cleared {
		flags |= stateCleared
		t.cleared = false
	}
	t.packet = varint(t.packet, packetSequence, 1)
	t.packet = varint(t.packet, packetFlags, flags)
	if t.err != nil {
		return
	}
	t.inner = message(t.inner[:0], traceWithPacket, t.packet)
	_, t.err = t.w.Write(t.inner)
}
