// SPDX-License-Identifier: Apache-2.0

package published

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sibyl/fitted"
	"sibyl/sim"
)

// once runs a setup on seed 1 and returns the result and, for each core, how
// many threads end there.
func once(t *testing.T, s Setup, ch change) (*sim.Result, map[int]int) {
	t.Helper()
	c, err := config(s, fitted.Default(), ch)
	if err != nil {
		t.Fatal(err)
	}
	c.Seed = 1
	r, err := sim.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	cores := map[int]int{}
	for _, task := range r.Tasks {
		cores[c.Machine.CPUs[task.CPU].Core]++
	}
	return r, cores
}

// TestThunderX2Placement: the reviewer's question. On a machine whose threads of
// a core are equal the series must not change how many threads a core gets, and
// where each core has one CPU to give or is full, not which CPUs are used.
func TestThunderX2Placement(t *testing.T) {
	if testing.Short() {
		t.Skip("14 whole runs")
	}
	_, m := data(t)
	n := 0
	for letter := range strings.SplitSeq("abcdefg", "") {
		s, ok := m.Runs["tx2-"+letter+"-on"]
		if !ok {
			t.Fatalf("row %s has no run", letter)
		}
		n++
		base := s
		base.Policy = "v7.3"
		if have, ok := m.Runs["tx2-"+letter+"-base"]; ok && have.Policy != base.Policy {
			t.Errorf("%s: base is %s", letter, have.Policy)
		}
		with, coresWith := once(t, s, change{})
		without, coresWithout := once(t, base, change{})
		if len(with.Tasks) != 32 || len(without.Tasks) != 32 {
			t.Errorf("%s: %d and %d threads", letter, len(with.Tasks), len(without.Tasks))
		}
		for core := range 64 {
			if coresWith[core] != coresWithout[core] {
				t.Errorf("%s: core %d has %d threads with the series, %d without", letter, core, coresWith[core], coresWithout[core])
			}
		}
		// Threads go to as many cores as the list has.
		want := map[string]int{"a": 8, "b": 16}[letter]
		if want == 0 {
			want = 32
		}
		if len(coresWith) != want {
			t.Errorf("%s: %d cores are used, want %d", letter, len(coresWith), want)
		}
		if strings.Contains("cfg", letter) {
			if a, b := usedCPUs(with), usedCPUs(without); !slices.Equal(a, b) || len(a) != 32 {
				t.Errorf("%s: CPUs %v with the series, %v without", letter, a, b)
			}
		}
	}
	if n != 7 {
		t.Errorf("%d rows", n)
	}
}

func usedCPUs(r *sim.Result) []int {
	var cpus []int
	for _, task := range r.Tasks {
		cpus = append(cpus, task.CPU)
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// TestNoNoiseNoGain: the series' gain comes from noise on second threads alone:
// without noise both policies give the same.
func TestNoNoiseNoGain(t *testing.T) {
	if testing.Short() {
		t.Skip("four runs of 88 threads")
	}
	_, m := data(t)
	quiet := change{set: []string{"fill=1.5s", "noise=off"}}
	for _, lib := range []string{"ob", "nvpl"} {
		var got [2]float64
		for i, run := range []string{lib + "-main", lib + "-series"} {
			r, cores := once(t, m.Runs[run], quiet)
			got[i] = measure(r, 0)["throughput"]
			if len(cores) != 88 {
				t.Errorf("%s: %d cores are used", run, len(cores))
			}
		}
		if !(got[0] > 0) || abs(got[1]/got[0]-1) > 0.0005 {
			t.Errorf("%s: %g on mainline, %g with the series", lib, got[0], got[1])
		}
	}
}

// TestUnevenness holds the closed form to direct draws.
func TestUnevenness(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct{ cv, q, other float64 }{
		{1.2, 0.5, 0.1}, {1.2, 0.3, 0.1}, {0.6, 0.7, 0.3}, {2, 0.45, 0.15}, {1, 1, 0},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			const trials = 20_000
			sum, square := 0.0, 0.0
			for range trials {
				count := 0.0
				for range 88 {
					if r.Float64() < tc.q {
						count += 1 + tc.cv*(r.ExpFloat64()-1) // mean 1, sd cv
					} else {
						count += tc.other
					}
				}
				sum += count
				square += count * count
			}
			mean := sum / trials
			s := math.Sqrt(square/trials-mean*mean) / mean
			if got := float64(unevenness(s, tc.q, tc.other)) / 1000; math.Abs(got/tc.cv-1) > 0.05 {
				t.Errorf("%g, want about %g", got, tc.cv)
			}
		})
	}
	if got := unevenness(0, 0.5, 0.1); got != 0 {
		t.Errorf("%d: less than no spread is none", got)
	}
}

// TestPrediction: NVPL on mainline, which no parameter has seen, comes out
// within the published spread, and the series gains on both libraries, more on
// the one that loses more to a second thread.
func TestPrediction(t *testing.T) {
	if testing.Short() {
		t.Skip("80 whole runs")
	}
	rep, err := Reproduce(context.Background(), Options{Tables: []string{"olympus-gemm"}, NoAblations: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[[2]string]Line{}
	for _, l := range rep.Rows {
		got[[2]string{l.Workload, l.Configuration}] = l
		if l.Simulated == nil || l.Simulated.Runs != 20 || l.OtherShare == nil {
			t.Fatalf("%s %s: want 20 runs and q: %+v", l.Workload, l.Configuration, l)
		}
	}
	l := got[nvplMain]
	if l.Role != Predicted || !l.Within || l.WithinSD == nil || !*l.WithinSD || abs(l.Simulated.Mean-9.647) > 0.173 {
		t.Errorf("NVPL on mainline: %s, %.4f TFLOP/s, want 9.647 +- 0.173", l.Role, l.Simulated.Mean)
	}
	gain := func(main, series [2]string) float64 { return got[series].Simulated.Mean/got[main].Simulated.Mean - 1 }
	ob, nvpl := gain(obMain, obSeries), gain(nvplMain, nvplSeries)
	if !(ob > 0 && nvpl > ob) {
		t.Errorf("gains: OpenBLAS %.2f %%, NVPL %.2f %%: want both positive, NVPL's larger", 100*ob, 100*nvpl)
	}
	// With the series threads sit on first threads; on mainline many do not.
	if q, m := got[obSeries].OtherShare.Mean, got[obMain].OtherShare.Mean; q > 0.05 || m < 0.2 {
		t.Errorf("q is %.3f with the series, %.3f on mainline", q, m)
	}
}

// The batch's order, and so a report, does not depend on how many run at once.
func TestReproduceParallel(t *testing.T) {
	if testing.Short() {
		t.Skip("TestBatchParallel has the same workers")
	}
	var first string
	for _, workers := range []int{1, 3} {
		rep, err := Reproduce(context.Background(), Options{Tables: []string{"thunderx2-gemm"}, Workers: workers, Seeds: 1})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := rep.JSON(&b); err != nil {
			t.Fatal(err)
		}
		if err := rep.Text(&b); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = b.String()
		} else if first != b.String() {
			t.Error("one worker and three give different reports")
		}
	}
}

// Runs that share a configuration do not touch it: this is for the race detector.
func TestBatchParallel(t *testing.T) {
	_, m := data(t)
	var list []job
	var err error
	for _, run := range []string{"tx2-b-on", "nvpl-main"} {
		short := change{set: []string{"size=1024", "fill=5ms"}}
		if list, err = jobs(list, run, m.Runs[run], fitted.Default(), short, 4); err != nil {
			t.Fatal(err)
		}
	}
	one, err := batch(context.Background(), list, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	four, err := batch(context.Background(), list, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(one, four); d != "" {
		t.Errorf("one worker and four: %s", d)
	}
	if cmp.Equal(one[4], one[5]) {
		t.Error("two seeds give the same")
	}
}

func TestReproduceErrors(t *testing.T) {
	if _, err := Reproduce(context.Background(), Options{Tables: []string{"nosuch"}}); err == nil || !strings.Contains(err.Error(), "known are olympus-gemm") {
		t.Errorf("unknown table: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Reproduce(ctx, Options{Tables: []string{"thunderx2-gemm"}}); err == nil {
		t.Error("stopped: no error")
	}
}
