// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Verdict says what a comparison shows.
type Verdict string

// The verdicts. Better and Worse need the whole 95 % interval to lie beyond the
// minimum effect; Identical needs every pair, or every value of both sides, to
// be equal to the last bit.
const (
	Better            Verdict = "better"
	Worse             Verdict = "worse"
	Indistinguishable Verdict = "indistinguishable"
	Identical         Verdict = "identical"
)

// Defaults of Options for simulated runs.
const (
	// DefaultMinEffect is half a per cent: as many simulated runs as one
	// likes make any difference significant, so a bar of relevance is needed.
	DefaultMinEffect = 0.005
	// FewRuns is the number of runs below which a warning is given.
	FewRuns = 5
)

// Options say how samples are compared. The zero value has no bar of
// relevance; commands start from DefaultMinEffect.
type Options struct {
	// MinEffect is the relative difference that the interval must clear.
	MinEffect float64
	// First names metrics that come first, in this order; the others follow
	// by name.
	First []string
}

// Comparison is one metric of one policy against the base.
type Comparison struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Base   string `json:"base"`
	New    string `json:"new"`
	// N is the number of pairs, or of runs on the smaller side if unpaired.
	N        int     `json:"n"`
	BaseMean float64 `json:"base_mean"`
	BaseSD   float64 `json:"base_sd"`
	NewMean  float64 `json:"new_mean"`
	NewSD    float64 `json:"new_sd"`
	// Delta is (new-base)/|base| of the means, CILow and CIHigh its 95 %
	// interval and P the two-sided probability of Student's t on the paired
	// differences, or of Welch's t. The base mean is taken as exact.
	Delta   float64 `json:"delta"`
	CILow   float64 `json:"ci_low"`
	CIHigh  float64 `json:"ci_high"`
	P       float64 `json:"p"`
	Paired  bool    `json:"paired"`
	Verdict Verdict `json:"verdict"`

	LowerIsBetter bool `json:"lower_is_better"`
	// DeltaDefined is false where the base mean is 0 and the new one is not:
	// Delta and its interval are then 0, and the verdict is that of the
	// absolute difference, which clears any relative bar.
	DeltaDefined bool `json:"delta_defined"`
	// IntervalDefined is false with fewer than two runs on a side: CILow and
	// CIHigh then repeat Delta, P is 1, and no verdict but Identical and
	// Indistinguishable is given.
	IntervalDefined bool `json:"interval_defined"`
}

// Report is the result of a comparison. Warnings are part of it: whoever shows
// a comparison shows them. The slices are never nil.
type Report struct {
	// Samples are sorted by policy (in the order compared), metric and seed.
	Samples     []Sample     `json:"samples"`
	Comparisons []Comparison `json:"comparisons"`
	Warnings    []string     `json:"warnings"`

	minEffect float64 // for the legend of the tables
}

// Compare compares every policy after the first with the first, metric by
// metric. Runs of equal seeds are paired. The order of samples has no effect.
// Samples that cannot be used are left out with a warning.
func Compare(policies []string, samples []Sample, o Options) *Report {
	var w warnings
	kept := keep(policies, samples, o, &w)
	r := &Report{Samples: kept, Comparisons: []Comparison{}, minEffect: o.MinEffect}
	for _, p := range policies {
		if !slices.ContainsFunc(kept, func(s Sample) bool { return s.Policy == p }) {
			w.add(p, "no run of it can be compared", "")
		}
	}
	metrics := metricsOf(kept)
	for i, p := range policies {
		if i == 0 || slices.Contains(policies[:i], p) {
			continue
		}
		for _, m := range metrics {
			base, next := side(kept, policies[0], m), side(kept, p, m)
			about := p + " against " + policies[0]
			switch {
			case len(base) == 0 && len(next) == 0:
			case len(base) == 0 || len(next) == 0:
				w.add(about, "only one of them has the metric: not compared", m.name)
			default:
				c, texts := compare(base, next, o.MinEffect)
				for _, t := range texts {
					w.add(about, t, m.name)
				}
				if c.Metric != "" {
					r.Comparisons = append(r.Comparisons, c)
				}
			}
		}
	}
	r.Warnings = w.lines()
	return r
}

// metric identifies what is compared: values of other units are another one.
type metric struct{ name, unit string }

// keep returns the usable samples in their canonical order.
func keep(policies []string, samples []Sample, o Options, w *warnings) []Sample {
	kept := make([]Sample, 0, len(samples))
	for _, s := range samples {
		if slices.Contains(policies, s.Policy) {
			kept = append(kept, s)
		}
	}
	if n := len(samples) - len(kept); n > 0 {
		w.add("samples", fmt.Sprintf("%d of policies that are not compared are left out", n), "")
	}
	rank := func(list []string, s string) int {
		if i := slices.Index(list, s); i >= 0 {
			return i
		}
		return len(list)
	}
	slices.SortFunc(kept, func(a, b Sample) int {
		return cmp.Or(
			cmp.Compare(rank(policies, a.Policy), rank(policies, b.Policy)),
			cmp.Compare(rank(o.First, a.Metric), rank(o.First, b.Metric)),
			cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Unit, b.Unit),
			cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Value, b.Value))
	})
	// After sorting, so that the warnings have an order of their own.
	return slices.DeleteFunc(kept, func(s Sample) bool {
		if finite(s.Value) {
			return false
		}
		w.add(s.Policy, fmt.Sprintf("seed %d gave no finite value: left out", s.Seed), s.Metric)
		return true
	})
}

// metricsOf lists the metrics in the order of the first policy that has them.
func metricsOf(kept []Sample) []metric {
	var ms []metric
	for _, s := range kept {
		if m := (metric{s.Metric, s.Unit}); !slices.Contains(ms, m) {
			ms = append(ms, m)
		}
	}
	return ms
}

func side(kept []Sample, policy string, m metric) []Sample {
	var out []Sample
	for _, s := range kept {
		if s.Policy == policy && s.Metric == m.name && s.Unit == m.unit {
			out = append(out, s)
		}
	}
	return out
}

// compare compares two non-empty sides of one metric, sorted by seed. The
// result has no Metric if the numbers are too large to compare.
func compare(base, next []Sample, minEffect float64) (c Comparison, warn []string) {
	c = Comparison{
		Metric: base[0].Metric, Unit: base[0].Unit, Base: base[0].Policy, New: next[0].Policy,
		LowerIsBetter: base[0].LowerIsBetter, DeltaDefined: true,
	}
	for _, s := range slices.Concat(base, next) {
		if s.LowerIsBetter != c.LowerIsBetter {
			return Comparison{}, []string{"samples do not agree whether lower is better: not compared"}
		}
	}
	b, n, paired, warn := align(base, next)
	c.Paired = paired
	sb, sn := Summarize(b), Summarize(n)
	c.N = min(sb.N, sn.N)
	c.BaseMean, c.BaseSD, c.NewMean, c.NewSD = sb.Mean, sb.SD, sn.Mean, sn.SD
	var e effect
	if paired {
		e = pairedEffect(b, n)
	} else {
		e = welchEffect(sb, sn)
	}
	for _, x := range []float64{sb.Mean, sb.SD, sn.Mean, sn.SD, e.mean, e.low, e.high} {
		if !finite(x) {
			return Comparison{}, append(warn, "values too large to compare")
		}
	}
	if c.N < FewRuns {
		warn = append(warn, fmt.Sprintf("n is %d: fewer than %d runs a side say little", c.N, FewRuns))
	}
	if e.constant && !e.same && c.N > 1 {
		warn = append(warn, "zero variance: the difference is the same in every run, so the interval has no width")
	}
	c.P, c.IntervalDefined = e.p, e.hasInterval
	if scale := math.Abs(sb.Mean); scale > 0 {
		c.Delta, c.CILow, c.CIHigh = e.mean/scale, e.low/scale, e.high/scale
		if !finite(c.Delta) || !finite(c.CILow) || !finite(c.CIHigh) {
			return Comparison{}, append(warn, "base mean too small to compare with")
		}
	} else if e.mean != 0 || e.low != e.high {
		c.DeltaDefined = false
		warn = append(warn, "base mean is 0: no relative difference, the verdict is that of the absolute one")
	}
	c.Verdict = verdict(&c, e, minEffect)
	return c, warn
}

func verdict(c *Comparison, e effect, minEffect float64) Verdict {
	up, down := c.CILow > minEffect, c.CIHigh < -minEffect
	if !c.DeltaDefined {
		up, down = e.low > 0, e.high < 0
	}
	switch {
	case e.same:
		return Identical
	case !e.hasInterval || !up && !down:
		return Indistinguishable
	case up == c.LowerIsBetter:
		return Worse
	}
	return Better
}

// align returns the values to compare. They are paired, entry by entry, if the
// sides have seeds in common: all of them, or at least two.
func align(base, next []Sample) (b, n []float64, paired bool, warn []string) {
	base, again := distinct(base)
	next, again2 := distinct(next)
	values := func(ss []Sample) []float64 {
		out := make([]float64, len(ss))
		for i, s := range ss {
			out[i] = s.Value
		}
		return out
	}
	if again || again2 {
		return values(base), values(next), false, []string{"unpaired: one seed gave different values, so runs are not deterministic"}
	}
	for i, j := 0, 0; i < len(base) && j < len(next); {
		switch {
		case base[i].Seed < next[j].Seed:
			i++
		case base[i].Seed > next[j].Seed:
			j++
		default:
			b, n = append(b, base[i].Value), append(n, next[j].Value)
			i, j = i+1, j+1
		}
	}
	alone := len(base) + len(next) - 2*len(b)
	switch {
	case alone == 0:
		return b, n, true, nil
	case len(b) >= 2:
		return b, n, true, []string{fmt.Sprintf("seeds differ: %d runs without a partner are left out", alone)}
	}
	return values(base), values(next), false, []string{"unpaired: seeds differ"}
}

// distinct drops repeated equal samples of one seed and tells whether unequal
// ones remain.
func distinct(ss []Sample) (out []Sample, conflict bool) {
	for _, s := range ss {
		if k := len(out); k > 0 && out[k-1].Seed == s.Seed {
			if out[k-1].Value == s.Value {
				continue
			}
			conflict = true
		}
		out = append(out, s)
	}
	return out, conflict
}
