// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"strings"
	"testing"
)

// TestValidator gives short streams of two CPUs and two tasks, and what is wrong
// with them.
func TestValidator(t *testing.T) {
	sw := func(at int64, cpu, prev, next int32, runnable int64) Event {
		return Event{Time: at, CPU: cpu, Kind: Switch, Task: next, Prev: prev, Arg: runnable}
	}
	wake := func(at int64, cpu, task int32) Event {
		return Event{Time: at, CPU: cpu, Kind: Wakeup, Task: task, Prev: -1, Target: cpu}
	}
	for _, tc := range []struct {
		name   string
		events []Event
		want   string // part of the error; empty: a good stream
	}{
		{"good", []Event{wake(1, 0, 0), sw(2, 0, -1, 0, 0), sw(3, 0, 0, -1, 0), wake(4, 1, 0), sw(5, 1, -1, 0, 0)}, ""},
		{"starts in the middle", []Event{sw(1, 0, 1, 0, 1), sw(2, 1, -1, 1, 0)}, ""},
		{"two CPUs", []Event{sw(1, 0, -1, 0, 0), sw(2, 1, -1, 0, 0)}, "runs on CPU 0 already"},
		{"not what ran", []Event{sw(1, 0, -1, 0, 0), sw(2, 0, 1, -1, 0)}, "task 0 was running"},
		{"no wakeup", []Event{sw(1, 0, -1, 0, 0), sw(2, 0, 0, -1, 0), sw(3, 0, -1, 0, 0)}, "without having been woken"},
		{"time", []Event{wake(5, 0, 0), wake(4, 0, 1)}, "time goes back"},
		{"CPU", []Event{wake(1, 7, 0)}, "no such CPU"},
		{"task", []Event{wake(1, 0, 9)}, "no such task"},
		{"nobody", []Event{wake(1, 0, -1)}, "no task is named"},
		{"moved while running", []Event{sw(1, 0, -1, 0, 0), {Time: 2, CPU: 1, Kind: Migrate, Task: 0, Prev: -1, Target: 1}}, "while it runs"},
		{"interrupt", []Event{{Time: 1, Kind: IRQExit, Task: -1, Prev: -1}}, "did not begin"},
		{"after its end", []Event{{Time: 1, Kind: Exit, Task: 0, Prev: -1}, wake(2, 0, 0)}, "after its end"},
		{"kind", []Event{{Time: 1, Kind: 99, Task: -1, Prev: -1}}, "unknown kind"},
	} {
		var v Validator
		if err := v.Begin(Header{NrCPUs: 2, Tasks: []Task{{Name: "a"}, {Name: "b"}}}); err != nil {
			t.Fatal(err)
		}
		for _, e := range tc.events {
			v.Event(e)
		}
		err := v.End(100)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
