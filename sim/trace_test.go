// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"runtime"
	"testing"

	"sibyl/domain"
	"sibyl/trace"
	"sibyl/workload"
)

// TestStreamIsValid holds the event streams of all workloads under all editions
// to the validator: one task a CPU, one CPU a task, woken before it runs.
func TestStreamIsValid(t *testing.T) {
	for _, w := range []struct {
		machine string
		spec    workload.Spec
	}{
		{"vera", workload.Spec{Name: "openblas-sgemm", Set: []string{"cpus=0-87,176-263", "fill=300ms", "size=8192"}}},
		{"vera", workload.Spec{Name: "nvpl-sgemm", Set: []string{"cpus=0-87,176-263", "fill=300ms", "size=8192"}}},
		{"thunderx2", workload.Spec{Name: "hogs", Set: []string{"cpus=0-9", "threads=40"}}},
		{"hybrid-x86", workload.Spec{Name: "hogs", Set: []string{"threads=30", "run=20ms"}}},
		{"smt2-x86", workload.Spec{Name: "hackbench", Set: []string{"groups=3", "fds=20", "loops=10"}}},
		{"altra", workload.Spec{Name: "hackbench", Set: []string{"groups=2", "fds=10", "loops=10", "cpus=0-7"}}},
	} {
		for _, pol := range []string{
			"v6.12", "v7.1", "v7.2", "v7.3", "tip", "v7.3+smt-asym-packing=on", "v7.3+asym-capacity=off", "v7.3+nohz-ilb=first",
		} {
			c := Default(load(t, w.machine), parse(t, pol), w.spec, 1)
			c.DurationNS = 1_000_000_000
			var v trace.Validator
			c.Trace = &v
			traced, err := Run(context.Background(), c)
			if err != nil {
				t.Errorf("%s on %s under %s: %v", w.spec.Name, w.machine, pol, err)
				continue
			}
			if v.Events() < 100 {
				t.Errorf("%s on %s under %s: only %d events", w.spec.Name, w.machine, pol, v.Events())
			}
			// Tracing changes nothing.
			c.Trace = nil
			if a, b := marshal(t, traced), marshal(t, run(t, c)); string(a) != string(b) {
				t.Errorf("%s on %s under %s: traced run differs:\n%s\n%s", w.spec.Name, w.machine, pol, a, b)
			}
		}
	}
}

// TestHotplugOrder: a run on a machine whose CPUs were taken offline and back
// has the same bytes as one on the machine as it was, override included.
func TestHotplugOrder(t *testing.T) {
	w := workload.Spec{Name: "hogs", Set: []string{"threads=12", "run=5ms"}}
	m := load(t, "power7")
	a := marshal(t, run(t, Default(m, parse(t, "v7.3+smt-asym-packing=on"), w, 1)))
	m = load(t, "power7")
	m.CPUs[5].Online = false
	if _, err := domain.Build(m, parse(t, "v7.3+smt-asym-packing=on").Options); err != nil {
		t.Fatal(err)
	}
	m.CPUs[5].Online = true
	b := marshal(t, run(t, Default(m, parse(t, "v7.3+smt-asym-packing=on"), w, 1)))
	if string(a) != string(b) {
		t.Error("offline and online again changed the run")
	}
}

// TestMemory holds the heap of a run on 352 CPUs to the bound that is promised.
func TestMemory(t *testing.T) {
	c := gemm(t, "v7.3", 1)
	s, err := newSim(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(s)
	if after.HeapAlloc > 64<<20 {
		t.Errorf("%d MiB live after a run on 352 CPUs, want at most 64", after.HeapAlloc>>20)
	}
}

// TestIdleCoreShortcut: the idle balancer's short walk of idle cores leaves the
// same run as the whole one, in all bytes.
func TestIdleCoreShortcut(t *testing.T) {
	for _, pol := range []string{"v7.3", "v7.3+smt-asym-packing=on", "v7.1"} {
		for _, w := range []string{"openblas-sgemm", "nvpl-sgemm"} {
			c := gemm(t, pol, 5)
			c.Workload.Name = w
			var out [2]string
			for i, whole := range []bool{false, true} {
				s, err := newSim(c)
				if err != nil {
					t.Fatal(err)
				}
				s.noShortcut = whole
				if err := s.loop(context.Background()); err != nil {
					t.Fatal(err)
				}
				out[i] = string(marshal(t, s.result()))
			}
			if out[0] != out[1] {
				t.Errorf("%s under %s:\n%s\n%s", w, pol, out[0], out[1])
			}
		}
	}
}
