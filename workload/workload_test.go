// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"sibyl/machine"
)

// smt2 is a machine of n cores with two threads, siblings i and i+n.
func smt2(n int) *machine.Machine {
	m := &machine.Machine{Name: "test", Arch: "arm64", Nodes: []machine.Node{{Distance: []int{10}}}, CounterHz: 1_000_000_000}
	for c := range 2 * n {
		m.CPUs = append(m.CPUs, machine.CPU{
			Possible: true, Online: true, Core: c % n, Thread: c / n, Capacity: 1024,
		})
	}
	return m
}

func build(t *testing.T, name string, set ...string) *Instance {
	t.Helper()
	in, err := Spec{Name: name, Set: set}.Build(smt2(4), 1)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestGEMMProgram walks both kinds of thread through one product.
func TestGEMMProgram(t *testing.T) {
	in := build(t, "nvpl-sgemm", "threads=3", "steps=4", "parks=2", "fill=1ms", "jitter=0", "size=64")
	if len(in.Tasks) != 1 || in.Barriers[0] != 3 || len(in.Sems) != 3 {
		t.Fatalf("tasks %d, barriers %v, semaphores %v", len(in.Tasks), in.Barriers, in.Sems)
	}
	var worker *Task
	ops := func(p Program) string {
		var b strings.Builder
		for range 100 {
			op := p.Next(0)
			switch op.Kind {
			case Fork:
				worker = op.Child
				b.WriteString("fork ")
			case Run:
				b.WriteString("run ")
			case Take:
				b.WriteString("take ")
			case Give:
				b.WriteString("give ")
			case Meet:
				if op.Spin == 0 {
					b.WriteString("park ")
				} else {
					b.WriteString("meet ")
				}
			case Mark:
				b.WriteString([]string{"start ", "end ", "stop "}[op.Obj])
			case Exit:
				return b.String()
			}
		}
		return b.String()
	}
	const steps = "run meet run park run meet run meet "
	if got, want := ops(in.Tasks[0].Program), "fork fork run start give give "+steps+"end stop "; got != want {
		t.Errorf("main thread:\n%s\nwant\n%s", got, want)
	}
	if got, want := ops(worker.Program), "take "+steps; got != want {
		t.Errorf("worker:\n%s\nwant\n%s", got, want)
	}
}

// TestGEMMWork: the work of all steps is the product's operations at the given
// speed.
func TestGEMMWork(t *testing.T) {
	in := build(t, "openblas-sgemm", "threads=2", "steps=10", "size=1000", "mflops=1000", "jitter=0", "fill=0s")
	p := in.Tasks[0].Program
	var work int64
	for op := p.Next(0); op.Kind != Exit; op = p.Next(0) {
		if op.Kind == Run {
			work += op.NS
		}
	}
	// 2e9 operations over two threads at 1e9 a second: one second each.
	if work != 1_000_000_000 {
		t.Errorf("work %d ns, want 1e9", work)
	}
}

// TestHackbenchMessages: every message that is written is read, and the last
// receiver ends the run.
func TestHackbenchMessages(t *testing.T) {
	in := build(t, "hackbench", "groups=1", "fds=2", "loops=3")
	given, taken := map[int]int{}, map[int]int{}
	ends := 0
	var walk func(task *Task)
	walk = func(task *Task) {
		for range 1000 {
			op := task.Program.Next(0)
			switch op.Kind {
			case Fork:
				walk(op.Child)
			case Give:
				given[op.Obj] += op.N
			case Take:
				taken[op.Obj]++
			case Mark:
				if op.Obj == End {
					ends++
				}
			case Exit:
				return
			}
		}
		t.Errorf("%s does not end", task.Name)
	}
	walk(in.Tasks[0])
	for pipe := 0; pipe < len(in.Sems); pipe += 2 {
		if given[pipe] != 6 || taken[pipe] != 6 {
			t.Errorf("pipe %d: %d written, %d read, want 6", pipe, given[pipe], taken[pipe])
		}
	}
	if ends != 1 {
		t.Errorf("%d ends, want 1", ends)
	}
}

func TestShareFollowsThePipes(t *testing.T) {
	m := smt2(1)
	m.CoreMode = machine.CoreMode{FlopsSMT: 24, FreqKHz: 2_880_000}
	for _, tc := range []struct{ mflops, want int64 }{
		{83_485, 827_933}, {117_011, 590_713}, {30_000, 1_000_000},
	} {
		if got := smtShare(gemmFit{mflops: tc.mflops}, m); got != tc.want {
			t.Errorf("share at %d MFLOP/s: %d, want %d", tc.mflops, got, tc.want)
		}
	}
}

func TestSettingErrors(t *testing.T) {
	for _, tc := range []struct{ name, set, want string }{
		{"nothing", "", `unknown; known are hackbench, hogs, nvpl-sgemm, openblas-sgemm`},
		{"hogs", "thread=1", `unknown key "thread"; known are threads`},
		{"hogs", "threads", `want key=value`},
		{"hogs", "threads=-1", `want a whole number from 0`},
		{"hogs", "cpus=0-", `want a CPU number or a range`},
		{"hogs", "cpus=99", `CPU 99 is not below 8`},
		{"hogs", "gap=5", `want a duration`},
		{"hogs", "noise=maybe", `want auto, on or off`},
		{"openblas-sgemm", "jitter=NaN", `want a number from 0`},
		{"openblas-sgemm", "noise-first=-1", `want a number from 0`},
		{"hogs", "noise-irq=0.5", ``},
	} {
		var set []string
		if tc.set != "" {
			set = []string{tc.set}
		}
		_, err := Spec{Name: tc.name, Set: set}.Build(smt2(4), 1)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s %s: %v", tc.name, tc.set, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: %v, want %q", tc.name, tc.set, err, tc.want)
		}
	}
	_, err := Spec{Name: "hogs", Set: []string{"noise=on", "noise-first=1", "noise-irq=0.5"}}.Build(smt2(4), 1)
	if err == nil || !strings.Contains(err.Error(), "sum to") {
		t.Errorf("shares that do not sum to one: %v", err)
	}
}
