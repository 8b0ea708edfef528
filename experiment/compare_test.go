// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// samples builds one metric's samples of a policy, seeds from first on.
func samples(policy string, first uint64, xs ...float64) []Sample {
	var out []Sample
	for i, x := range xs {
		out = append(out, Sample{Policy: policy, Seed: first + uint64(i), Metric: "m", Unit: "u", Value: x})
	}
	return out
}

func one(t *testing.T, base, next []Sample, o Options) (Comparison, []string) {
	t.Helper()
	r := Compare([]string{"b", "n"}, append(append([]Sample{}, base...), next...), o)
	if len(r.Comparisons) != 1 {
		t.Fatalf("%d comparisons, warnings %q", len(r.Comparisons), r.Warnings)
	}
	return r.Comparisons[0], r.Warnings
}

func near(a, b, rel float64) bool {
	return math.Abs(a-b) <= rel*math.Max(1e-300, math.Max(math.Abs(a), math.Abs(b)))
}

// The expected numbers are worked by hand: t(0.975, 4) = 2.7764451052.
func TestComparePaired(t *testing.T) {
	c, warn := one(t, samples("b", 1, 100, 102, 98, 101, 99), samples("n", 1, 103, 104, 102, 103, 103), Options{MinEffect: 0.005})
	// Differences 3 2 4 2 4: mean 3, sd 1, standard error 1/sqrt 5.
	half := 2.7764451052 / math.Sqrt(5) / 100
	if c.N != 5 || !c.Paired || c.BaseMean != 100 || c.NewMean != 103 || c.Delta != 0.03 ||
		!near(c.CILow, 0.03-half, 1e-9) || !near(c.CIHigh, 0.03+half, 1e-9) {
		t.Errorf("%+v", c)
	}
	// t = 3 sqrt 5 = 6.708 at 4 degrees: F(4) has the closed form
	// p = 1 - s(3-s²)/2 with s = t/sqrt(4+t²).
	tt := 3 * math.Sqrt(5)
	s := tt / math.Sqrt(4+tt*tt)
	if want := 1 - s*(3-s*s)/2; !near(c.P, want, 1e-8) {
		t.Errorf("p %g: want %g", c.P, want)
	}
	if c.Verdict != Better || len(warn) != 0 {
		t.Errorf("verdict %s, warnings %q", c.Verdict, warn)
	}
}

func TestCompareUnpaired(t *testing.T) {
	c, warn := one(t, samples("b", 1, 10, 12, 14), samples("n", 101, 20, 20, 23, 17), Options{})
	// se² = 4/3 + 6/4, df = (17/6)² / ((4/3)²/2 + 1.5²/3) = 4.898 -> 4.
	half := 2.7764451052 * math.Sqrt(17.0/6)
	if c.Paired || c.N != 3 || !near(c.CILow, (8-half)/12, 1e-9) || !near(c.CIHigh, (8+half)/12, 1e-9) {
		t.Errorf("%+v", c)
	}
	want := []string{
		"n against b: unpaired: seeds differ (m)",
		"n against b: n is 3: fewer than 5 runs a side say little (m)",
	}
	if d := cmp.Diff(want, warn); d != "" {
		t.Error(d)
	}
}

func TestVerdict(t *testing.T) {
	lower := func(ss []Sample) []Sample {
		for i := range ss {
			ss[i].LowerIsBetter = true
		}
		return ss
	}
	base := []float64{100, 110, 90, 105, 95}
	plus := func(ds ...float64) []float64 {
		out := make([]float64, len(ds))
		for i, d := range ds {
			out[i] = base[i] + d
		}
		return out
	}
	for _, tc := range []struct {
		name  string
		next  []float64
		min   float64
		lower bool
		want  Verdict
		warn  string
	}{
		{"up, higher is better", plus(3, 2, 4, 2, 4), 0.005, false, Better, ""},
		{"up, lower is better", plus(3, 2, 4, 2, 4), 0.005, true, Worse, ""},
		{"down, higher is better", plus(-3, -2, -4, -2, -4), 0.005, false, Worse, ""},
		{"down, lower is better", plus(-3, -2, -4, -2, -4), 0.005, true, Better, ""},
		{"noise", plus(3, -2, 4, -2, -4), 0, false, Indistinguishable, ""},
		// The interval is 1.76 % to 4.24 %.
		{"significant, below the bar", plus(3, 2, 4, 2, 4), 0.02, false, Indistinguishable, ""},
		{"just above the bar", plus(3, 2, 4, 2, 4), 0.0175, false, Better, ""},
		{"tiny and certain", plus(0.25, 0.25, 0.25, 0.25, 0.25), 0.005, false, Indistinguishable, "zero variance"},
		{"constant", plus(2, 2, 2, 2, 2), 0.005, false, Better, "zero variance"},
		{"identical", base, 0.005, false, Identical, ""},
		{"one bit", plus(0, 0, 0, 0, 2e-14), 0, false, Indistinguishable, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, n := samples("b", 1, base...), samples("n", 1, tc.next...)
			if tc.lower {
				b, n = lower(b), lower(n)
			}
			c, warn := one(t, b, n, Options{MinEffect: tc.min})
			if c.Verdict != tc.want {
				t.Errorf("verdict %s: want %s (%+v)", c.Verdict, tc.want, c)
			}
			if got := strings.Join(warn, "\n"); tc.warn == "" && got != "" || !strings.Contains(got, tc.warn) {
				t.Errorf("warnings %q: want %q", got, tc.warn)
			}
		})
	}
}

func TestCompareEdges(t *testing.T) {
	t.Run("one run", func(t *testing.T) {
		c, _ := one(t, samples("b", 1, 10), samples("n", 1, 20), Options{})
		if c.IntervalDefined || c.P != 1 || c.Delta != 1 || c.CILow != 1 || c.Verdict != Indistinguishable {
			t.Errorf("%+v", c)
		}
		c, _ = one(t, samples("b", 1, 10), samples("n", 1, 10), Options{})
		if c.Verdict != Identical {
			t.Errorf("%+v", c)
		}
	})
	t.Run("base 0", func(t *testing.T) {
		c, warn := one(t, samples("b", 1, 0, 0, 0, 0, 0), samples("n", 1, 5, 6, 4, 5, 5), Options{MinEffect: 0.005})
		if c.DeltaDefined || c.Delta != 0 || c.Verdict != Better || !strings.Contains(warn[0], "base mean is 0") {
			t.Errorf("%+v %q", c, warn)
		}
		c, warn = one(t, samples("b", 1, 0, 0, 0, 0, 0), samples("n", 1, 0, 0, 0, 0, 0), Options{})
		if c.Verdict != Identical || !c.DeltaDefined || len(warn) != 0 {
			t.Errorf("%+v %q", c, warn)
		}
		c, _ = one(t, samples("b", 1, 1, -1, 1, -1), samples("n", 1, 2, 0, 2, 0), Options{})
		if c.DeltaDefined || c.Verdict != Better {
			t.Errorf("%+v", c)
		}
	})
	t.Run("negative base", func(t *testing.T) {
		c, _ := one(t, samples("b", 1, -10, -11, -9), samples("n", 1, -5, -6, -4), Options{})
		if !near(c.Delta, 0.5, 1e-12) || c.Verdict != Better {
			t.Errorf("%+v", c)
		}
	})
	t.Run("stopped batch", func(t *testing.T) {
		c, warn := one(t, samples("b", 1, 1, 2, 3, 9), samples("n", 1, 2, 3, 5), Options{})
		if !c.Paired || c.N != 3 || c.BaseMean != 2 || !strings.Contains(warn[0], "seeds differ: 1 runs without a partner are left out") {
			t.Errorf("%+v %q", c, warn)
		}
	})
	t.Run("not deterministic", func(t *testing.T) {
		b := append(samples("b", 1, 1, 2, 3), samples("b", 3, 4)...)
		c, warn := one(t, b, samples("n", 1, 2, 3, 5), Options{})
		if c.Paired || !strings.Contains(warn[0], "not deterministic") {
			t.Errorf("%+v %q", c, warn)
		}
	})
	t.Run("repeated sample", func(t *testing.T) {
		b := samples("b", 1, 1, 2, 3)
		c, _ := one(t, append(b, b...), samples("n", 1, 2, 3, 5), Options{})
		if !c.Paired || c.N != 3 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("constant sides, unpaired", func(t *testing.T) {
		c, _ := one(t, samples("b", 1, 2, 2), samples("n", 10, 2, 2, 2), Options{})
		if c.Paired || c.Verdict != Identical {
			t.Errorf("%+v", c)
		}
	})
}

// What cannot be compared is said, not dropped.
func TestCompareLeavesOutWithWarning(t *testing.T) {
	ss := append(samples("b", 1, 1, 2, 3, 4, math.NaN(), 6, 7), samples("n", 1, 1, 2, 3, 4, 5, math.Inf(1), 8)...)
	ss = append(ss, samples("other", 1, 1)...)
	ss = append(ss, Sample{Policy: "n", Seed: 1, Metric: "alone", Value: 1})
	for i := range uint64(5) {
		ss = append(ss,
			Sample{Policy: "b", Seed: i, Metric: "huge", Value: math.MaxFloat64},
			Sample{Policy: "n", Seed: i, Metric: "huge", Value: -math.MaxFloat64})
	}
	r := Compare([]string{"b", "n", "absent"}, ss, Options{First: []string{"m"}})
	want := []string{
		"samples: 1 of policies that are not compared are left out",
		"b: seed 5 gave no finite value: left out (m)",
		"n: seed 6 gave no finite value: left out (m)",
		"absent: no run of it can be compared",
		"n against b: seeds differ: 2 runs without a partner are left out (m)",
		"n against b: values too large to compare (huge)",
		"n against b: only one of them has the metric: not compared (alone)",
		"absent against b: only one of them has the metric: not compared (m, huge)",
	}
	if d := cmp.Diff(want, r.Warnings); d != "" {
		t.Error(d)
	}
	if len(r.Comparisons) != 1 || r.Comparisons[0].N != 5 {
		t.Errorf("%+v", r.Comparisons)
	}
}

func drawSamples(t *rapid.T) []Sample {
	var ss []Sample
	for _, p := range []string{"b", "n", "o"} {
		for _, m := range []string{"throughput", "latency"} {
			for _, x := range rapid.SliceOfN(rapid.Float64Range(1, 1e6), 0, 12).Draw(t, p+m) {
				ss = append(ss, Sample{
					Policy: p, Seed: rapid.Uint64Range(0, 15).Draw(t, "seed"), Metric: m, Unit: "u",
					Value: x, LowerIsBetter: m == "latency",
				})
			}
		}
	}
	return ss
}

func TestCompareIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ss := drawSamples(t)
		policies := []string{"b", "n", "o"}
		want := Compare(policies, ss, Options{MinEffect: 0.01})
		got := Compare(policies, rapid.Permutation(ss).Draw(t, "permuted"), Options{MinEffect: 0.01})
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Report{})); d != "" {
			t.Fatal(d)
		}
	})
}

// Scaling every value by a power of two scales means and leaves the rest, to
// the bit.
func TestCompareScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ss := drawSamples(t)
		scale := math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "exponent"))
		scaled := make([]Sample, len(ss))
		for i, s := range ss {
			scaled[i] = s
			scaled[i].Value *= scale
		}
		a := Compare([]string{"b", "n"}, ss, Options{MinEffect: 0.01})
		b := Compare([]string{"b", "n"}, scaled, Options{MinEffect: 0.01})
		for i := range b.Comparisons {
			c := &b.Comparisons[i]
			c.BaseMean /= scale
			c.BaseSD /= scale
			c.NewMean /= scale
			c.NewSD /= scale
		}
		if d := cmp.Diff(a.Comparisons, b.Comparisons); d != "" {
			t.Fatal(d)
		}
	})
}

// Swapping base and new swaps better and worse, up to the bar, which is
// relative to the base.
func TestCompareSwap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ss := drawSamples(t)
		a := Compare([]string{"b", "n"}, ss, Options{})
		b := Compare([]string{"n", "b"}, ss, Options{})
		opposite := map[Verdict]Verdict{Better: Worse, Worse: Better, Identical: Identical, Indistinguishable: Indistinguishable}
		for i, c := range a.Comparisons {
			if o := b.Comparisons[i]; o.Verdict != opposite[c.Verdict] || math.Abs(o.P-c.P) > 1e-9 || o.N != c.N {
				t.Fatalf("%+v\nswapped %+v", c, o)
			}
		}
	})
}

// Noise that both sides share does not widen a paired interval.
func TestPairedBeatsUnpaired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.SliceOfNDistinct(rapid.IntRange(-50, 50), 5, 20, rapid.ID).Draw(t, "noise")
		var b, n []float64
		for i, x := range noise {
			b = append(b, 1000+float64(x))
			n = append(n, 1030+float64(x)+float64(i%3)/10)
		}
		p, _ := one2(b, n, 1)
		u, _ := one2(b, n, 1000)
		if !p.Paired || u.Paired {
			t.Fatal("pairing")
		}
		if p.CIHigh-p.CILow >= u.CIHigh-u.CILow || p.P > u.P {
			t.Fatalf("paired %+v\nunpaired %+v", p, u)
		}
		if p.Verdict != Better {
			t.Fatalf("paired: %+v", p)
		}
	})
}

func one2(b, n []float64, firstOfNew uint64) (Comparison, []string) {
	r := Compare([]string{"b", "n"}, append(samples("b", 1, b...), samples("n", firstOfNew, n...)...), Options{})
	return r.Comparisons[0], r.Warnings
}

// The interval covers a true difference of 0 about as often as it says.
func TestCoverage(t *testing.T) {
	// A fixed congruential stream: twelve uniform draws make a normal one.
	x := uint64(1)
	uniform := func() float64 {
		x = x*6364136223846793005 + 1442695040888963407
		return float64(x>>11) / (1 << 53)
	}
	normal := func() float64 {
		s := -6.0
		for range 12 {
			s += uniform()
		}
		return s
	}
	const trials = 1500
	for _, first := range []uint64{1, 1000} {
		miss := 0
		for range trials {
			var b, n []float64
			for range 6 {
				b, n = append(b, 100+normal()), append(n, 100+normal())
			}
			if c, _ := one2(b, n, first); c.Verdict != Indistinguishable {
				miss++
			}
		}
		if rate := float64(miss) / trials; rate < 0.03 || rate > 0.065 {
			t.Errorf("new seeds from %d: %.3f of comparisons of equals have a verdict: want about 0.05", first, rate)
		}
	}
}
