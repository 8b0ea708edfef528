// SPDX-License-Identifier: Apache-2.0

package perfetto

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"sibyl/trace"
)

// reading is what a viewer makes of a trace: names and tracks resolved, one
// line an item.
type reading struct {
	tracks   map[uint64]Track
	names    map[uint64]string
	argNames map[uint64]string
	depth    map[uint64]int // open slices, by track
	last     map[uint64]uint64
	flows    map[uint64]bool
	lines    []string
	cleared  int
}

// read reads a trace and fails on anything that a viewer would drop: a name or
// track that was not announced, an end without a beginning, time that goes back.
func read(r io.Reader) (*reading, error) {
	v := &reading{tracks: map[uint64]Track{}, depth: map[uint64]int{}, last: map[uint64]uint64{}, flows: map[uint64]bool{}}
	in := NewReader(r)
	for {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			return v, nil
		}
		if err != nil {
			return v, err
		}
		if err := v.packet(&p); err != nil {
			return v, err
		}
	}
}

func (v *reading) packet(p *Packet) error {
	if p.Sequence == 0 {
		return errors.New("no sequence")
	}
	if p.Flags&stateCleared != 0 {
		v.names, v.argNames = map[uint64]string{}, map[uint64]string{}
		v.cleared++
	}
	if v.names == nil || p.Flags&needsState == 0 {
		return errors.New("the first packet does not clear the state, or one does not need it")
	}
	for _, n := range p.Names {
		v.names[n.IID] = n.Text
	}
	for _, n := range p.ArgNames {
		v.argNames[n.IID] = n.Text
	}
	if t := p.Track; t != nil {
		if _, ok := v.tracks[t.Parent]; t.Parent != 0 && !ok {
			return fmt.Errorf("track %q before its parent", t.Name)
		}
		if _, ok := v.tracks[t.UUID]; ok || t.UUID == 0 {
			return fmt.Errorf("track %q twice, or 0", t.Name)
		}
		v.tracks[t.UUID] = *t
		kind := ""
		if t.Counter {
			kind = " counter"
		}
		if t.Ordered {
			kind += " ordered"
		}
		v.lines = append(v.lines, fmt.Sprintf("track %s%s rank %d", v.path(t.UUID), kind, t.Rank))
	}
	if p.Event != nil {
		return v.event(p.Time, p.Event)
	}
	return nil
}

func (v *reading) path(id uint64) string {
	t := v.tracks[id]
	if t.Parent == 0 {
		return t.Name
	}
	return v.path(t.Parent) + " / " + t.Name
}

func (v *reading) event(at uint64, e *Event) error {
	t, ok := v.tracks[e.Track]
	if !ok {
		return fmt.Errorf("event at %d on an unknown track", at)
	}
	if at < v.last[e.Track] {
		return fmt.Errorf("time of track %q goes back to %d", t.Name, at)
	}
	v.last[e.Track] = at
	if (e.Type == Counter) != t.Counter {
		return fmt.Errorf("event of type %d on track %q", e.Type, t.Name)
	}
	name := ""
	if e.NameIID != 0 {
		if name, ok = v.names[e.NameIID]; !ok {
			return fmt.Errorf("event at %d has an unknown name %d", at, e.NameIID)
		}
	}
	var line strings.Builder
	line.WriteString(fmt.Sprintf("%d %s ", at, t.Name))
	switch e.Type {
	case SliceBegin:
		v.depth[e.Track]++
		line.WriteString("begin " + name)
	case SliceEnd:
		if v.depth[e.Track]--; v.depth[e.Track] < 0 {
			return fmt.Errorf("slice of track %q at %d ends without a beginning", t.Name, at)
		}
		line.WriteString("end")
	case Instant:
		line.WriteString("instant " + name)
	case Counter:
		line.WriteString(fmt.Sprint("= ", e.Value))
	default:
		return fmt.Errorf("event at %d has type %d", at, e.Type)
	}
	for _, a := range e.Args {
		key, ok := v.argNames[a.NameIID]
		if !ok {
			return fmt.Errorf("event at %d has an unknown argument %d", at, a.NameIID)
		}
		if a.IsInt {
			line.WriteString(fmt.Sprintf(" %s=%d", key, a.Int))
		} else {
			line.WriteString(fmt.Sprintf(" %s=%q", key, a.Text))
		}
	}
	for _, f := range e.Flows {
		v.flows[f] = true
		line.WriteString(fmt.Sprintf(" ->%d", f))
	}
	for _, f := range e.FlowEnds {
		if !v.flows[f] {
			return fmt.Errorf("arrow %d ends that is not open", f)
		}
		delete(v.flows, f)
		line.WriteString(fmt.Sprintf(" %d->", f))
	}
	v.lines = append(v.lines, line.String())
	return nil
}

// write writes a trace's text as a Perfetto trace.
func write(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.ReadText(strings.NewReader(text), NewWriter(&b)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWriter writes traces and shows what a viewer reads.
func TestWriter(t *testing.T) {
	datadriven.Walk(t, "testdata/write", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			v, err := read(bytes.NewReader(write(t, d.Input)))
			if err != nil {
				return err.Error()
			}
			for id, n := range v.depth {
				if n != 0 {
					t.Errorf("%s: %d slices of %q stay open", d.Pos, n, v.tracks[id].Name)
				}
			}
			return strings.Join(v.lines, "\n")
		})
	})
}

const sample = `trace 1
source "test"
cpus 2
core 0 0
thread 0 1
task 7 "a"
begin 5
5 1 decision task=0 by=- prev=0 chosen=1 path="idle core\nSMT"
6 1 switch prev=- next=0 runnable=0
6 0 mode is=ST->SMT
7 0 mode is=SMT
8 0 irq-enter name="timer"
9 0 irq-exit
9 0 kick target=1 flags=3
10 1 balance from=0 tasks=1
11 0 migrate task=0 from=1 to=0
end 20
`

// TestProtoc decodes a trace with protoc and this package's own description of
// the protocol: no field may be unknown to it.
func TestProtoc(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("protoc is missing: install protobuf-compiler")
		}
		t.Skip("SKIPPED: protoc is missing (apt-get install protobuf-compiler): the bytes are checked by the own reader only")
	}
	cmd := exec.Command(protoc, "--decode=Trace", "--proto_path=testdata", "testdata/trace.proto")
	cmd.Stdin = bytes.NewReader(write(t, sample))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if m := regexp.MustCompile(`(?m)^\s*[0-9]+[:{ ].*$`).Find(out); m != nil {
		t.Errorf("unknown field: %s", m)
	}
	const golden = "testdata/protoc.txt"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, want) {
		t.Errorf("protoc decodes\n%swant %s", out, golden)
	}
}

// Whatever the events, a viewer drops nothing and all slices end.
func TestWriterProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const cpus, tasks = 4, 3
		head := trace.Header{Source: "rapid", NrCPUs: cpus, Core: []int{0, 0, 1, -1}, Tasks: make([]trace.Task, tasks)}
		if rapid.Bool().Draw(t, "no cores") {
			head.Core = nil
		}
		var events []trace.Event
		at := int64(0)
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			at += rapid.Int64Range(0, 9).Draw(t, "dt")
			e := trace.Event{
				Time: at, CPU: rapid.Int32Range(0, cpus-1).Draw(t, "cpu"),
				Kind: trace.Kind(rapid.IntRange(0, 15).Draw(t, "kind")),
				Task: rapid.Int32Range(-1, tasks).Draw(t, "task"), Prev: rapid.Int32Range(-1, tasks).Draw(t, "prev"),
				Target: rapid.Int32Range(-1, cpus).Draw(t, "target"), Arg: rapid.Int64Range(0, 3).Draw(t, "arg"),
				Detail: rapid.String().Draw(t, "detail"),
			}
			events = append(events, e)
		}
		var b [2]bytes.Buffer
		for i := range b {
			w := NewWriter(&b[i])
			if err := w.Begin(head); err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				w.Event(e)
			}
			if err := w.End(at + 1); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(b[0].Bytes(), b[1].Bytes()) {
			t.Error("the same events give different bytes")
		}
		v, err := read(&b[0])
		if err != nil {
			t.Fatal(err)
		}
		for id, n := range v.depth {
			if n != 0 {
				t.Errorf("%d slices of %q stay open", n, v.tracks[id].Name)
			}
		}
	})
}

// The table of names is bounded, and a new one is announced.
func TestNamesAreBounded(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := w.Begin(trace.Header{NrCPUs: 1, Core: []int{0}}); err != nil {
		t.Fatal(err)
	}
	for i := range int64(2*maxNames + 10) {
		w.Event(trace.Event{Time: i, Kind: trace.IRQEnter, Detail: fmt.Sprint("irq ", i)})
		w.Event(trace.Event{Time: i, Kind: trace.IRQExit})
		if i%5000 == 0 {
			w.Event(trace.Event{Time: i, Kind: trace.Kick})
		}
		if len(w.names)+len(w.argNames) > maxNames+8 {
			t.Fatalf("%d names", len(w.names)+len(w.argNames))
		}
	}
	if err := w.End(1 << 40); err != nil {
		t.Fatal(err)
	}
	v, err := read(&b)
	if err != nil || v.cleared != 3 {
		t.Errorf("%v, state cleared %d times, want 3", err, v.cleared)
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

func TestWriterErrors(t *testing.T) {
	boom := errors.New("boom")
	w := NewWriter(failing{boom})
	_ = w.Begin(trace.Header{NrCPUs: 1})
	for range 10_000 {
		w.Event(trace.Event{Kind: trace.Kick})
	}
	if err := w.End(0); !errors.Is(err, boom) {
		t.Errorf("%v, want boom", err)
	}
	for _, tc := range []struct {
		e    trace.Event
		want string
	}{
		{trace.Event{CPU: 1, Kind: trace.Kick}, "event at 0 ns on CPU 1"},
		{trace.Event{CPU: -1, Kind: trace.Kick}, "event at 0 ns on CPU -1"},
		{trace.Event{Time: -5, Kind: trace.Kick}, "event at -5 ns"},
		{trace.Event{Kind: trace.Mode, Arg: 4}, "unknown mode 4"},
	} {
		w := NewWriter(io.Discard)
		if err := w.Begin(trace.Header{NrCPUs: 1, Core: []int{0}}); err != nil {
			t.Fatal(err)
		}
		w.Event(tc.e)
		if err := w.End(0); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.e, err, tc.want)
		}
	}
	if err := NewWriter(io.Discard).Begin(trace.Header{NrCPUs: 2, Core: []int{0}}); err == nil {
		t.Error("cores for some CPUs only")
	}
}

func TestReaderErrors(t *testing.T) {
	good := write(t, sample)
	for _, tc := range []struct {
		data []byte
		want string
	}{
		{good[:1], "packet at offset 0: the file ends within it|packet at offset 0: unexpected EOF"},
		{good[:9], "packet at offset 0: the file ends within it"},
		{good[:len(good)-1], "the file ends within it"},
		{[]byte("PERFILE2"), "not a Perfetto trace"},
		{[]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}, "want at most"},
		{[]byte{0x0a, 0xff}, "the file ends within it"},
		{bytes.Repeat([]byte{0xff}, 20), "more than 64 bits"},
		{[]byte{0x0a, 0x01, 0x40}, "packet at offset 0: unexpected EOF"},
		{[]byte{0x0a, 0x02, 0x07, 0x00}, "packet at offset 0: "}, // wire type 7
	} {
		_, err := read(bytes.NewReader(tc.data))
		ok := false
		for want := range strings.SplitSeq(tc.want, "|") {
			ok = ok || err != nil && strings.Contains(err.Error(), want)
		}
		if !ok {
			t.Errorf("% x: %v, want %q", tc.data[:min(len(tc.data), 9)], err, tc.want)
		}
	}
	if v, err := read(bytes.NewReader(nil)); err != nil || len(v.lines) != 0 {
		t.Errorf("empty: %v", err)
	}
}

// Fields that others write are skipped.
func TestReaderSkips(t *testing.T) {
	p := varint(nil, packetTimestamp, 7)
	p = text(p, 900, "for testing")
	p = fixed64(p, 33, 1)
	p = protowire.AppendFixed32(protowire.AppendTag(p, 34, protowire.Fixed32Type), 1)
	p = varint(p, packetFlags, 3)
	got, err := NewReader(bytes.NewReader(message(nil, traceWithPacket, p))).Next()
	if err != nil || got.Time != 7 || got.Flags != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzReader(f *testing.F) {
	var b bytes.Buffer
	if err := trace.ReadText(strings.NewReader(sample), NewWriter(&b)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{0x0a, 0x02, 0x40, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		for {
			if _, err := r.Next(); err != nil {
				return
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	w := NewWriter(io.Discard)
	if err := w.Begin(trace.Header{NrCPUs: 2, Core: []int{0, 0}, Tasks: []trace.Task{{Name: "a"}}}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	at := int64(0)
	for b.Loop() {
		at += 3
		w.Event(trace.Event{Time: at, Kind: trace.Decision, Prev: -1, Detail: "select_idle_core"})
		w.Event(trace.Event{Time: at + 1, Kind: trace.Switch, Prev: -1})
		w.Event(trace.Event{Time: at + 2, Kind: trace.Switch, Task: -1})
	}
}
