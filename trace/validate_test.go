// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestValidator gives short streams and what is wrong with them. The input has
// the lines of a trace's text after begin; the header has cpus=N CPUs, two to
// a core, and the tasks tasks=(a, b), two unless told.
func TestValidator(t *testing.T) {
	datadriven.Walk(t, "testdata/validate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "validate" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			cpus, tasks := 2, 2
			d.MaybeScanArgs(t, "cpus", &cpus)
			d.MaybeScanArgs(t, "tasks", &tasks)
			var head strings.Builder
			fmt.Fprintf(&head, "trace 1\ncpus %d\ncore", cpus)
			for c := range cpus {
				fmt.Fprintf(&head, " %d", c/2)
			}
			if d.HasArg("percpu") {
				head.WriteString("\npercpu")
			}
			for i := range tasks {
				fmt.Fprintf(&head, "\ntask %d %q", i, string(rune('a'+i)))
			}
			head.WriteString("\nbegin 0\n")
			end := ""
			if !strings.Contains(d.Input, "\nend ") {
				end = "\nend 1000"
			}
			var v Validator
			if err := ReadText(strings.NewReader(head.String()+d.Input+end), &v); err != nil {
				return err.Error()
			}
			return fmt.Sprintf("good: %d events", v.Events())
		})
	})
}

func TestValidatorHeader(t *testing.T) {
	for _, tc := range []struct {
		head Header
		want string
	}{
		{Header{}, "no CPUs"},
		{Header{NrCPUs: 2, Core: []int{0}}, "cores for 1 of 2"},
		{Header{NrCPUs: 2, Core: []int{0, 2}}, "puts CPU 1 in core 2"},
	} {
		var v Validator
		if err := v.Begin(tc.head); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.head, err, tc.want)
		}
		if v.Event(Event{Kind: Mode}); v.Err() == nil {
			t.Error("the error is gone")
		}
	}
}

func BenchmarkValidator(b *testing.B) {
	var v Validator
	if err := v.Begin(Header{NrCPUs: 2, Tasks: []Task{{}, {}}}); err != nil {
		b.Fatal(err)
	}
	at := int64(0)
	for b.Loop() {
		for _, e := range []Event{
			{Kind: Waking, Prev: -1}, {Kind: Wakeup}, {Kind: Switch, Prev: -1}, {Kind: Switch, Task: -1},
		} {
			at++
			e.Time = at
			v.Event(e)
		}
	}
	if v.Err() != nil {
		b.Fatal(v.Err())
	}
}

// What text cannot say, or only at length.
func TestValidatorBounds(t *testing.T) {
	var v Validator
	begin := func() {
		if err := v.Begin(Header{NrCPUs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []Kind{0, nrKinds, 255} {
		begin()
		if v.Event(Event{Kind: k}); v.Err() == nil || !strings.Contains(v.Err().Error(), "unknown kind") {
			t.Errorf("kind %d: %v", k, v.Err())
		}
	}
	begin()
	for i := range maxNesting {
		v.Event(Event{Kind: IRQEnter})
		if v.Err() != nil {
			t.Fatalf("interrupt %d: %v", i, v.Err())
		}
	}
	if v.Event(Event{Kind: IRQEnter}); v.Err() == nil || !strings.Contains(v.Err().Error(), "64 interrupts are open") {
		t.Errorf("endless nesting: %v", v.Err())
	}
	first := v.Err()
	if v.Event(Event{Kind: 99}); !errors.Is(v.Err(), first) || !errors.Is(v.End(0), first) || v.Events() != maxNesting+2 {
		t.Errorf("%v after %d events: the first error must stay", v.Err(), v.Events())
	}
}
