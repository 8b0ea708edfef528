// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"sibyl/decision"
	"sibyl/domain"
	"sibyl/fitted"
	"sibyl/machine"
	"sibyl/placement"
	"sibyl/policy"
	"sibyl/workload"
)

func load(t testing.TB, name string) *machine.Machine {
	t.Helper()
	m, err := machine.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	m.ApplyFitted(fitted.Default())
	return m
}

func parse(t testing.TB, name string) policy.Policy {
	t.Helper()
	p, err := policy.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t testing.TB, c Config) *Result {
	t.Helper()
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func metric(t testing.TB, r *Result, name string) float64 {
	t.Helper()
	for _, m := range r.Metrics {
		if m.Name == name {
			return m.Value
		}
	}
	t.Fatalf("no metric %s in %+v", name, r.Metrics)
	return 0
}

// gemm is a short SGEMM on node 0 of Vera.
func gemm(t testing.TB, pol string, seed uint64, set ...string) Config {
	set = append([]string{"cpus=0-87,176-263", "threads=88", "fill=400ms"}, set...)
	return Default(load(t, "vera"), parse(t, pol), workload.Spec{Name: "openblas-sgemm", Set: set}, seed)
}

// threads counts the measured tasks on each thread number, and the most that
// one core has.
func threads(m *machine.Machine, r *Result) (byThread []int, most int) {
	byThread = make([]int, 8)
	perCore := map[int]int{}
	for _, t := range r.Tasks {
		byThread[m.CPUs[t.CPU].Thread]++
		perCore[m.CPUs[t.CPU].Core]++
		most = max(most, perCore[m.CPUs[t.CPU].Core])
	}
	return byThread, most
}

// TestNoNoiseNoDifference: with all noise off both policies give the same
// throughput, since threads are placed once and never wake (hardware.md 5).
func TestNoNoiseNoDifference(t *testing.T) {
	base := metric(t, run(t, gemm(t, "v7.3", 1, "noise=off")), "throughput")
	series := metric(t, run(t, gemm(t, "v7.3+smt-asym-packing=on", 1, "noise=off")), "throughput")
	if d := series/base - 1; d < -0.0005 || d > 0.0005 {
		t.Errorf("base %.5f, series %.5f TFLOP/s: want the same", base, series)
	}
}

// TestLongBurstsWithoutCost: without the excursion's cost, and with bursts
// longer than the hardware needs to switch, the series trades the loss of a
// shared core for being preempted, and loses (hardware.md 2.5).
func TestLongBurstsWithoutCost(t *testing.T) {
	var base, series float64
	for seed := uint64(1); seed <= 3; seed++ {
		for _, pol := range []string{"v7.3", "v7.3+smt-asym-packing=on"} {
			c := gemm(t, pol, seed, "noise-burst=300us", "noise-irq=0.95", "noise-kthread=0", "noise-daemon=0.05")
			c.Machine.CoreMode.RefillNS = 0
			x := metric(t, run(t, c), "throughput")
			if pol == "v7.3" {
				base += x
			} else {
				series += x
			}
		}
	}
	if series >= base {
		t.Errorf("base %.4f, series %.4f TFLOP/s: want the series slower", base/3, series/3)
	}
}

// TestSeriesGains: the fitted model's headline, on few seeds.
func TestSeriesGains(t *testing.T) {
	base := run(t, gemm(t, "v7.3", 1))
	series := run(t, gemm(t, "v7.3+smt-asym-packing=on", 1))
	if b, s := metric(t, base, "throughput"), metric(t, series, "throughput"); s <= b {
		t.Errorf("base %.4f, series %.4f TFLOP/s", b, s)
	}
	if series.Counters.OtherShare > 10_000 {
		t.Errorf("series runs %d ppm on second threads, want almost none", series.Counters.OtherShare)
	}
	if base.Counters.OtherShare < 200_000 {
		t.Errorf("base runs %d ppm on second threads, want a good part", base.Counters.OtherShare)
	}
}

// TestFillOrder: hogs on ThunderX2's shape fill PE0 of all cores, then PE1, PE2
// and PE3 (seed 003's expectation), and POWER7 does so from its own flags.
func TestFillOrder(t *testing.T) {
	for _, tc := range []struct {
		machine, policy, cpus string
		hogs                  int
		want                  []int
	}{
		{"thunderx2", "v7.3+smt-asym-packing=on", "0-127", 32, []int{32, 0, 0, 0}},
		{"thunderx2", "v7.3+smt-asym-packing=on", "0-127", 64, []int{32, 32, 0, 0}},
		{"thunderx2", "v7.3+smt-asym-packing=on", "0-127", 96, []int{32, 32, 32, 0}},
		{"thunderx2", "v7.3+smt-asym-packing=on", "0-127", 128, []int{32, 32, 32, 32}},
		{"power7", "v7.3+smt-asym-packing=auto", "", 32, []int{32, 0, 0, 0}},
		{"power7", "v7.3+smt-asym-packing=auto", "", 64, []int{32, 32, 0, 0}},
		{"power7", "v7.3+smt-asym-packing=auto", "", 96, []int{32, 32, 32, 0}},
	} {
		t.Run(fmt.Sprintf("%s/%d", tc.machine, tc.hogs), func(t *testing.T) {
			m := load(t, tc.machine)
			c := Default(m, parse(t, tc.policy), workload.Spec{Name: "hogs", Set: []string{
				"cpus=" + tc.cpus, fmt.Sprintf("threads=%d", tc.hogs),
			}}, 1)
			c.DurationNS = 2_000_000_000
			got, most := threads(m, run(t, c))
			for i, want := range tc.want {
				if got[i] != want {
					t.Fatalf("threads %v (most in a core %d), want %v", got, most, tc.want)
				}
			}
		})
	}
}

// TestRuleWithoutEffect: with equal priorities, or off, a run with the rule has
// the same bytes as one without it.
func TestRuleWithoutEffect(t *testing.T) {
	w := workload.Spec{Name: "hackbench", Set: []string{"groups=2", "fds=4", "loops=20"}}
	for _, tc := range []struct{ name, a, b string }{
		{"off", "v7.3", "v7.3+smt-asym-packing=off"},
		{"equal priorities", "v7.3", "v7.3+smt-asym-packing=on"},
	} {
		m := load(t, "smt2-x86")
		for c := range m.CPUs {
			m.CPUs[c].Priority = 1
		}
		a := marshal(t, run(t, Default(m, parse(t, tc.a), w, 1)))
		b := marshal(t, run(t, Default(m, parse(t, tc.b), w, 1)))
		if !bytes.Equal(a, b) {
			t.Errorf("%s: %s\n%s", tc.name, a, b)
		}
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSameSeedSameBytes also holds that another seed differs, so that the test
// can fail.
func TestSameSeedSameBytes(t *testing.T) {
	a := marshal(t, run(t, gemm(t, "v7.3", 7)))
	b := marshal(t, run(t, gemm(t, "v7.3", 7)))
	c := marshal(t, run(t, gemm(t, "v7.3", 8)))
	if !bytes.Equal(a, b) {
		t.Error("the same seed gave different bytes")
	}
	if bytes.Equal(a, c) {
		t.Error("another seed gave the same bytes")
	}
}

// TestModeConservation: what goes to two-thread mode comes back, up to one a
// core, and each completed switch costs both threads its cycles.
func TestModeConservation(t *testing.T) {
	c := gemm(t, "v7.3", 3)
	r := run(t, c)
	m := r.Counters.Modes
	if d := m.STToSMT - m.SMTToST; d < -176 || d > 176 || m.STToSMT < 1000 {
		t.Errorf("there %d, back %d", m.STToSMT, m.SMTToST)
	}
	in := c.Machine.CoreMode.In
	if per := m.STToSMTCycles / m.STToSMT; per < 2*in[1] || per > 2*in[0] {
		t.Errorf("%d cycles a switch, want between %d and %d", per, 2*in[1], 2*in[0])
	}
	if m.Aborted > m.SMTToST/100 {
		t.Errorf("%d aborts of %d", m.Aborted, m.SMTToST)
	}
}

// TestWakeupsGoToFirstThreads: with the series every wakeup of a GEMM thread
// whose chosen core is wholly idle ends on the core's first thread, wherever the
// thread was before.
func TestWakeupsGoToFirstThreads(t *testing.T) {
	c := gemm(t, "v7.3+smt-asym-packing=on", 1)
	c.Workload.Name = "nvpl-sgemm" // wakes often
	h, err := domain.Build(c.Machine, c.Policy.Options)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	c.Explain = func(_, now int64, task string) bool { return now > 0 && task[0] == 'n' }
	c.Decision = func(d decision.Decision, task string, _ int64) {
		if d.Request.Flags&placement.TTWU == 0 {
			return
		}
		for s := range h.Siblings[d.Result].All() {
			if d.Before.CPUs[s].NrRunning != 0 || d.Before.CPUs[s].TTWUPending {
				return
			}
		}
		seen++
		if c.Machine.CPUs[d.Result].Thread != 0 {
			t.Errorf("%s went from CPU %d to %d, a second thread of an idle core", task, d.Request.Prev, d.Result)
		}
	}
	run(t, c)
	if seen < 1000 {
		t.Errorf("%d wakeups to idle cores seen", seen)
	}
}

func TestConfigErrors(t *testing.T) {
	m := load(t, "vera")
	w := workload.Spec{Name: "hogs"}
	for _, c := range []Config{
		{},
		{Machine: &machine.Machine{Name: "none"}},
		{Machine: m, Workload: w, DurationNS: -1},
		{Machine: m, Workload: w, DurationNS: MaxDuration + 1},
		{Machine: m, Workload: w, PastNS: -5},
		{Machine: m, Workload: workload.Spec{Name: "nothing"}},
		{Machine: m, Workload: workload.Spec{Name: "hogs", Set: []string{"threads=-1"}}},
	} {
		if _, err := Run(context.Background(), c); err == nil {
			t.Errorf("config %+v: no error", c)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, gemm(t, "v7.3", 1)); err == nil {
		t.Error("a cancelled run gave a result")
	}
}

// benchmark runs c again and again on the same domains and reports the events a
// second of the engine.
func benchmark(b *testing.B, c Config) {
	h, err := domain.Build(c.Machine, c.Policy.Options)
	if err != nil {
		b.Fatal(err)
	}
	c.Domains = h
	b.ReportAllocs()
	var events int64
	for b.Loop() {
		events += run(b, c).Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkSGEMM(b *testing.B) { benchmark(b, gemm(b, "v7.3", 1)) }

func BenchmarkSGEMMQuiet(b *testing.B) { benchmark(b, gemm(b, "v7.3", 1, "noise=off")) }

func BenchmarkHackbench(b *testing.B) {
	c := Default(load(b, "vera"), parse(b, "v7.3"), workload.Spec{
		Name: "hackbench", Set: []string{"groups=10", "fds=20", "loops=20"},
	}, 1)
	benchmark(b, c)
}
