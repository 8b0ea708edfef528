// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sibyl/coremode"
)

// record is a Sink that keeps everything.
type record struct {
	Head   Header
	Items  []any // Event and Task, in order
	Last   int64
	refuse error
}

func (r *record) Begin(h Header) error { r.Head = h; return r.refuse }
func (r *record) Event(e Event)        { r.Items = append(r.Items, e) }
func (r *record) NewTask(t Task)       { r.Items = append(r.Items, t) }
func (r *record) End(last int64) error { r.Last = last; return r.refuse }

// replay passes a record on.
func (r *record) replay(to Sink) error {
	if err := to.Begin(r.Head); err != nil {
		return err
	}
	for _, x := range r.Items {
		switch x := x.(type) {
		case Event:
			to.Event(x)
		case Task:
			to.NewTask(x)
		}
	}
	return to.End(r.Last)
}

func drawEvent(t *rapid.T) Event {
	e := Event{
		Time: rapid.Int64().Draw(t, "time"), CPU: rapid.Int32().Draw(t, "cpu"),
		Kind: Kind(rapid.IntRange(1, int(nrKinds)-1).Draw(t, "kind")),
		Task: rapid.Int32Min(-1).Draw(t, "task"), Prev: rapid.Int32Min(-1).Draw(t, "prev"),
		Target: rapid.Int32Min(-1).Draw(t, "target"), Arg: rapid.Int64().Draw(t, "arg"),
		Detail: rapid.String().Draw(t, "detail"),
	}
	if e.Kind == Migrate || e.Kind == Decision { // Arg is a CPU
		e.Arg = int64(int32(e.Arg))
	}
	return e.Used()
}

func drawTask(t *rapid.T) Task {
	return Task{Name: string(rapid.SliceOf(rapid.Byte()).Draw(t, "name")), PID: rapid.Int32().Draw(t, "pid")}
}

// What is written is read back.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "cpus")
		in := record{Head: Header{
			Source: rapid.String().Draw(t, "source"), NrCPUs: n,
			Start: rapid.Int64().Draw(t, "start"), End: rapid.Int64().Draw(t, "end"),
			PerCPU: rapid.Bool().Draw(t, "percpu"),
		}, Last: rapid.Int64().Draw(t, "last")}
		if rapid.Bool().Draw(t, "cores") {
			in.Head.Core = rapid.SliceOfN(rapid.IntRange(-1, n-1), n, n).Draw(t, "core")
			in.Head.Thread = rapid.SliceOfN(rapid.IntRange(-1, n-1), n, n).Draw(t, "thread")
		}
		for range rapid.IntRange(0, 3).Draw(t, "tasks") {
			in.Head.Tasks = append(in.Head.Tasks, drawTask(t))
		}
		for range rapid.IntRange(0, 9).Draw(t, "items") {
			if rapid.IntRange(0, 4).Draw(t, "task?") == 0 {
				in.Items = append(in.Items, drawTask(t))
			} else {
				in.Items = append(in.Items, drawEvent(t))
			}
		}
		var text bytes.Buffer
		if err := in.replay(NewTextWriter(&text)); err != nil {
			t.Fatal(err)
		}
		var out record
		if err := ReadText(bytes.NewReader(text.Bytes()), &out); err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if d := cmp.Diff(in, out, cmp.AllowUnexported(record{})); d != "" {
			t.Errorf("read back (-written +read):\n%s\n%s", d, text.String())
		}
	})
}

func TestTextGolden(t *testing.T) {
	in := record{Head: Header{Source: "test", NrCPUs: 2, Core: []int{0, 0}, Thread: []int{0, 1}, Tasks: []Task{{"a b", 7}}, Start: 5}, Last: 20}
	in.Items = []any{
		Event{Time: 5, CPU: 1, Kind: Waking, Prev: -1, Target: 1},
		Event{Time: 5, CPU: 1, Kind: Decision, Prev: -1, Target: 1, Arg: 0, Detail: "select_idle_core: \"1\"\n"},
		Event{Time: 6, CPU: 1, Kind: Wakeup, Target: 1, Prev: 99, Detail: "unused fields are left out"},
		Task{"new", 8},
		Event{Time: 7, CPU: 1, Kind: Switch, Prev: -1, Arg: 0},
		Event{Time: 7, CPU: 1, Kind: Mode, Arg: int64(coremode.In)},
		Event{Time: 7, CPU: 1, Kind: Mode, Arg: 77},
		Event{Time: 8, CPU: 0, Kind: IRQEnter, Detail: "timer"},
		Event{Time: 8, CPU: 0, Kind: IRQExit},
		Event{Time: 9, CPU: 0, Kind: Lost, Arg: 12},
	}
	want := `trace 1
source "test"
cpus 2
core 0 0
thread 0 1
task 7 "a b"
begin 5
5 1 waking task=0 by=- from=1
5 1 decision task=0 by=- prev=0 chosen=1 path="select_idle_core: \"1\"\n"
6 1 wakeup task=0 on=1
task 8 "new"
7 1 switch prev=- next=0 runnable=0
7 1 mode is=ST->SMT
7 1 mode is=77
8 0 irq-enter name="timer"
8 0 irq-exit
9 0 lost events=12
end 20
`
	var got bytes.Buffer
	if err := in.replay(NewTextWriter(&got)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Error(d)
	}
}

func TestTextErrors(t *testing.T) {
	const head = "trace 1\ncpus 2\nbegin 0\n"
	for _, tc := range []struct{ text, want string }{
		{"", "line 0: no begin line"},
		{"trace 2\n", `line 1: "trace 2": want trace 1`},
		{"trace 1\n# x\n\ncpus 0\n", "line 4: cpus: 0: want 1 to 8192"},
		{"trace 1\ncpus 2\ncpus 2\n", "line 3: cpus: given twice"},
		{"trace 1\ncpus 99999999\n", "want 1 to 8192"},
		{"trace 1\nbegin 0\n", "no cpus line"},
		{"trace 1\ncore 0\n", "no cpus line"},
		{"trace 1\ncpus 2\ncore 0\n", "1 numbers: want one for each of 2 CPUs"},
		{"trace 1\ncpus 2\ncore 0 2\n", "2: want -1 to 1"},
		{"trace 1\ncpus 2\npercpu 1\n", `percpu: "1": want nothing`},
		{"trace 1\nsauce 2\n", `"sauce": want source`},
		{"trace 1\nsource x\n", "between double quotes"},
		{"trace 1\ntask x \"a\"\n", `task: "x": want a number`},
		{"trace 1\ntask 1 `a`\n", "between double quotes"},
		{head, "line 3: no end line"},
		{head + "end x\n", "line 4: end:"},
		{head + "end 5\nend 5\n", "line 5: text after the end line"},
		{head + "cpus 2\n", `line 4: time: "cpus"`},
		{head + "1 x kick target=0 flags=0\n", `CPU: "x"`},
		{head + "1 0 leap target=0\n", `"leap": no such kind`},
		{head + "1 0 kick flags=0\n", `kick: want target= at "flags=0"`},
		{head + "1 0 kick target=- flags=0\n", `kick: target: "-": want a number of 32 bits`},
		{head + "1 0 kick target=99999999999 flags=0\n", `target: "99999999999"`},
		{head + "1 0 kick target=0 flags=0 more\n", `"more" is too much`},
		{head + "1 0 irq-enter name=timer\n", "between double quotes"},
		{head + "1 0 irq-enter name=\"a\" more\n", "between double quotes"},
		{head + strings.Repeat("x", maxLine+1), "longer than"},
	} {
		err := ReadText(strings.NewReader(tc.text), &record{})
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %v, want %q", tc.text, err, tc.want)
		}
	}
	boom := errors.New("boom")
	if err := ReadText(strings.NewReader(head), &record{refuse: boom}); !errors.Is(err, boom) || err.Error() != "boom" {
		t.Errorf("error of the sink: %v", err)
	}
	if err := ReadText(io.MultiReader(strings.NewReader(head), failing{boom}), &record{}); !errors.Is(err, boom) {
		t.Errorf("error of the reader: %v", err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error)  { return 0, f.error }
func (f failing) Write([]byte) (int, error) { return 0, f.error }

func TestTextWriterErrors(t *testing.T) {
	boom := errors.New("boom")
	w := NewTextWriter(failing{boom})
	_ = w.Begin(Header{NrCPUs: 1})
	for range 10_000 {
		w.Event(Event{Kind: Kick})
	}
	if err := w.End(0); !errors.Is(err, boom) {
		t.Errorf("%v, want boom", err)
	}
	w = NewTextWriter(io.Discard)
	w.Event(Event{Kind: nrKinds})
	if err := w.End(0); err == nil || !strings.Contains(err.Error(), "no known kind") {
		t.Errorf("unknown kind: %v", err)
	}
}

func TestTee(t *testing.T) {
	var a, b record
	in := record{Head: Header{NrCPUs: 1}, Items: []any{Event{Kind: Kick}, Task{"x", 1}}, Last: 3}
	if err := in.replay(Tee{&a, &b}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, b, cmp.AllowUnexported(record{})) + cmp.Diff(in, a, cmp.AllowUnexported(record{})); d != "" {
		t.Error(d)
	}
	a, b = record{}, record{refuse: errors.New("boom")}
	if err := in.replay(Tee{&b, &a}); err == nil || a.Head.NrCPUs != 0 {
		t.Errorf("%v, %+v", err, a)
	}
}

func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Kind(1); k < nrKinds; k++ {
		if k.String() == "" || seen[k.String()] {
			t.Errorf("kind %d has the name %q", k, k)
		}
		seen[k.String()] = true
	}
	if got := fmt.Sprint(Kind(0), nrKinds); got != fmt.Sprintf("kind 0 kind %d", int(nrKinds)) {
		t.Error(got)
	}
}

// What is read can be written, and reads the same again.
func FuzzReadText(f *testing.F) {
	f.Add("trace 1\nsource \"s\"\ncpus 2\ncore 0 0\nthread 0 1\nuntil 9\npercpu\ntask 1 \"a\"\nbegin 5\n5 1 decision task=0 by=- prev=0 chosen=1 path=\"x\"\ntask 2 \"b\"\n7 1 switch prev=- next=0 runnable=0\n7 1 mode is=SMT\nend 9\n")
	f.Add("trace 1\ncpus 1\nbegin 0\n# c\n1 0 irq-exit\nend 1")
	f.Fuzz(func(t *testing.T, text string) {
		var first, second record
		var v Validator
		if err := ReadText(strings.NewReader(text), Tee{&first}); err != nil {
			return
		}
		_ = first.replay(&v) // must not panic
		var out bytes.Buffer
		if err := first.replay(NewTextWriter(&out)); err != nil {
			t.Fatal(err)
		}
		if err := ReadText(bytes.NewReader(out.Bytes()), &second); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if d := cmp.Diff(first, second, cmp.AllowUnexported(record{})); d != "" {
			t.Error(d)
		}
	})
}

func BenchmarkTextWriter(b *testing.B) {
	w := NewTextWriter(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		w.Event(Event{Time: 123456789, CPU: 17, Kind: Switch, Task: 5, Prev: -1})
	}
}

func BenchmarkParseEvent(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseEvent("123456789 17 switch prev=- next=5 runnable=0"); err != nil {
			b.Fatal(err)
		}
	}
}
