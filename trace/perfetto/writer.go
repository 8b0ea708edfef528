// SPDX-License-Identifier: Apache-2.0

// Package perfetto writes the event stream as a Perfetto trace (protobuf), which
// ui.perfetto.dev opens: a group of tracks for each core with a track for each
// CPU, its interrupts, the core's mode and its count of transitions; placement
// decisions are instants that carry their path.
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

// Field numbers of the public Perfetto protocol (protos/perfetto/trace).
const (
	traceWithPacket = 1 // Trace.packet

	packetTimestamp  = 8
	packetSequence   = 10 // trusted_packet_sequence_id
	packetEvent      = 11 // track_event
	packetInterned   = 12 // interned_data
	packetFlags      = 13 // sequence_flags
	packetDescriptor = 60 // track_descriptor

	internedNames = 2 // InternedData.event_names
	nameIID       = 1
	nameText      = 2

	trackUUID    = 1
	trackName    = 2
	trackParent  = 5
	trackCounter = 8

	eventAnnotation = 4 // debug_annotations
	eventType       = 9
	eventNameIID    = 10
	eventTrack      = 11 // track_uuid
	eventCounter    = 30 // counter_value

	annotationInt    = 4
	annotationString = 6
	annotationName   = 10
)

// Values of TrackEvent.type and of sequence_flags.
const (
	sliceBegin, sliceEnd, instant, counter = 1, 2, 3, 4

	stateCleared = 1
	needsState   = 2
)

// Writer is a trace.Sink. It buffers little and keeps a name for each task, so
// its memory does not grow with the number of events. The bytes depend on the
// events alone.
type Writer struct {
	w      *bufio.Writer
	err    error
	head   trace.Header
	tasks  []trace.Task
	names  map[string]uint64
	open   []bool  // a task's slice is open, by CPU
	irqs   []int   // open interrupt slices, by CPU
	mode   []bool  // a mode's slice is open, by core
	counts []int64 // completed switches to two-thread mode, by core
	first  bool

	packet, body, inner, interned []byte
}

// NewWriter returns a Writer to w. The caller closes w after End.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 1<<16), names: map[string]uint64{}, first: true}
}

// Kinds of tracks; a track's UUID is made of its kind and its CPU or core.
const (
	coreTrack uint64 = (iota + 1) << 32
	cpuTrack
	irqTrack
	modeTrack
	countTrack
)

// Begin writes the tracks.
func (t *Writer) Begin(h trace.Header) error {
	t.head = h
	t.tasks = append(t.tasks, h.Tasks...)
	cores := 0
	for _, c := range h.Core {
		cores = max(cores, c+1)
	}
	t.open, t.irqs = make([]bool, h.NrCPUs), make([]int, h.NrCPUs)
	t.mode, t.counts = make([]bool, cores), make([]int64, cores)
	for core := range cores {
		id := uint64(core)
		t.track(coreTrack|id, 0, fmt.Sprintf("core %d", core), false)
		t.track(modeTrack|id, coreTrack|id, fmt.Sprintf("core %d mode", core), false)
		t.track(countTrack|id, coreTrack|id, fmt.Sprintf("core %d ST->SMT completed", core), true)
		for cpu := range h.NrCPUs {
			if h.Core[cpu] != core {
				continue
			}
			name := fmt.Sprintf("CPU %d", cpu)
			if cpu < len(h.Thread) {
				name = fmt.Sprintf("CPU %d (PE%d)", cpu, h.Thread[cpu])
			}
			t.track(cpuTrack|uint64(cpu), coreTrack|id, name, false)
			t.track(irqTrack|uint64(cpu), coreTrack|id, name+" interrupts", false)
		}
	}
	return t.err
}

// NewTask names the next task.
func (t *Writer) NewTask(task trace.Task) { t.tasks = append(t.tasks, task) }

// Event writes one event. Kinds that have no picture of their own are left out.
func (t *Writer) Event(e trace.Event) {
	cpu := int(e.CPU)
	if cpu < 0 || cpu >= t.head.NrCPUs {
		return
	}
	switch e.Kind {
	case trace.Switch:
		if t.open[cpu] {
			t.slice(e.Time, cpuTrack|uint64(cpu), sliceEnd, "")
		}
		if t.open[cpu] = e.Task >= 0; t.open[cpu] {
			t.slice(e.Time, cpuTrack|uint64(cpu), sliceBegin, t.taskName(e.Task))
		}
	case trace.IRQEnter:
		t.irqs[cpu]++
		t.slice(e.Time, irqTrack|uint64(cpu), sliceBegin, e.Detail)
	case trace.IRQExit:
		if t.irqs[cpu] > 0 {
			t.irqs[cpu]--
			t.slice(e.Time, irqTrack|uint64(cpu), sliceEnd, "")
		}
	case trace.Mode:
		t.modeChange(e)
	case trace.Decision:
		t.mark(e, "select_task_rq_fair", []annotation{
			{name: "task", text: t.taskName(e.Task)},
			{name: "prev", number: e.Arg}, {name: "chosen", number: int64(e.Target)},
			{name: "path", text: e.Detail},
		})
	case trace.Kick:
		t.mark(e, "kick_ilb", []annotation{{name: "target", number: int64(e.Target)}, {name: "flags", number: e.Arg}})
	case trace.Balance:
		t.mark(e, "sched_balance_rq", []annotation{{name: "source", number: int64(e.Target)}, {name: "tasks", number: e.Arg}})
	case trace.Migrate:
		t.mark(e, "migrate", []annotation{{name: "task", text: t.taskName(e.Task)}, {name: "from", number: e.Arg}})
	}
}

func (t *Writer) modeChange(e trace.Event) {
	core := t.head.Core[e.CPU]
	m := coremode.Mode(e.Arg)
	if t.mode[core] {
		t.slice(e.Time, modeTrack|uint64(core), sliceEnd, "")
	}
	t.mode[core] = true
	t.slice(e.Time, modeTrack|uint64(core), sliceBegin, m.String())
	if m == coremode.SMT {
		t.counts[core]++
		t.begin(e.Time)
		t.body = varint(t.body[:0], eventType, counter)
		t.body = varint(t.body, eventTrack, countTrack|uint64(core))
		t.body = varint(t.body, eventCounter, uint64(t.counts[core]))
		t.finish()
	}
}

// End closes what is open at time last and flushes.
func (t *Writer) End(last int64) error {
	for cpu := range t.open {
		if t.open[cpu] {
			t.slice(last, cpuTrack|uint64(cpu), sliceEnd, "")
		}
		for ; t.irqs[cpu] > 0; t.irqs[cpu]-- {
			t.slice(last, irqTrack|uint64(cpu), sliceEnd, "")
		}
	}
	for core := range t.mode {
		if t.mode[core] {
			t.slice(last, modeTrack|uint64(core), sliceEnd, "")
		}
	}
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
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
		return fmt.Sprintf("%s [%d]", t.tasks[id].Name, t.tasks[id].PID)
	}
	return fmt.Sprintf("task %d", id)
}

// annotation is one argument that the UI shows with an event.
type annotation struct {
	name, text string
	number     int64 // used if text is empty
}

// mark writes an instant on the event's CPU.
func (t *Writer) mark(e trace.Event, name string, args []annotation) {
	t.begin(e.Time)
	t.body = varint(t.body[:0], eventType, instant)
	t.body = varint(t.body, eventTrack, cpuTrack|uint64(e.CPU))
	t.body = varint(t.body, eventNameIID, t.intern(name))
	for _, a := range args {
		t.inner = text(t.inner[:0], annotationName, a.name)
		if a.text != "" {
			t.inner = text(t.inner, annotationString, a.text)
		} else {
			t.inner = varint(t.inner, annotationInt, uint64(a.number))
		}
		t.body = message(t.body, eventAnnotation, t.inner)
	}
	t.finish()
}

// slice writes the beginning or the end of a slice.
func (t *Writer) slice(at int64, track uint64, kind uint64, name string) {
	t.begin(at)
	t.body = varint(t.body[:0], eventType, kind)
	t.body = varint(t.body, eventTrack, track)
	if kind == sliceBegin {
		t.body = varint(t.body, eventNameIID, t.intern(name))
	}
	t.finish()
}

// track writes a track's description.
func (t *Writer) track(id, parent uint64, name string, isCounter bool) {
	t.packet = t.packet[:0]
	t.body = varint(t.body[:0], trackUUID, id)
	t.body = text(t.body, trackName, name)
	if parent != 0 {
		t.body = varint(t.body, trackParent, parent)
	}
	if isCounter {
		t.body = message(t.body, trackCounter, nil)
	}
	t.packet = varint(t.packet, packetSequence, 1)
	t.packet = message(t.packet, packetDescriptor, t.body)
	t.flush()
}

// begin starts a packet with an event.
func (t *Writer) begin(at int64) {
	t.packet = varint(t.packet[:0], packetTimestamp, uint64(at))
	t.packet = varint(t.packet, packetSequence, 1)
	flags := uint64(needsState)
	if t.first {
		flags |= stateCleared
		t.first = false
	}
	t.packet = varint(t.packet, packetFlags, flags)
	t.interned = t.interned[:0]
}

// intern returns the number of a name, which it announces the first time.
func (t *Writer) intern(name string) uint64 {
	id, ok := t.names[name]
	if !ok {
		id = uint64(len(t.names)) + 1
		t.names[name] = id
		t.inner = varint(t.inner[:0], nameIID, id)
		t.inner = text(t.inner, nameText, name)
		t.interned = message(t.interned, internedNames, t.inner)
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

func (t *Writer) flush() {
	if t.err != nil {
		return
	}
	t.inner = message(t.inner[:0], traceWithPacket, t.packet)
	_, t.err = t.w.Write(t.inner)
}

func varint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}
