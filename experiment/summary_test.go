// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		name string
		xs   []float64
		want Summary
	}{
		{"none", nil, Summary{}},
		{"one", []float64{7}, Summary{1, 7, 0, 7}},
		{"equal", []float64{0.1, 0.1, 0.1}, Summary{3, 0.1, 0, 0.1}},
		{"odd", []float64{3, 1, 2}, Summary{3, 2, 1, 2}},
		{"even", []float64{4, 1, 3, 2}, Summary{4, 2.5, math.Sqrt(5.0 / 3), 2.5}},
		{"skewed", []float64{0, 0, 9}, Summary{3, 3, math.Sqrt(27), 0}},
	} {
		if got := Summarize(c.xs); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestSummarizeKeepsItsArgument(t *testing.T) {
	xs := []float64{3, 1, 2}
	Summarize(xs)
	if xs[0] != 3 || xs[1] != 1 {
		t.Errorf("argument changed: %v", xs)
	}
}

func TestSummarizeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 30).Draw(t, "xs")
		s := Summarize(xs)
		if p := Summarize(rapid.Permutation(xs).Draw(t, "permuted")); p != s {
			t.Fatalf("permuted: %+v, was %+v", p, s)
		}
		// A power of two scales exactly.
		scaled := make([]float64, len(xs))
		for i, x := range xs {
			scaled[i] = x * 1024
		}
		if g := Summarize(scaled); g != (Summary{s.N, s.Mean * 1024, s.SD * 1024, s.Median * 1024}) &&
			s.SD > 1e-100 { // squares of the smallest deviations underflow
			t.Fatalf("scaled: %+v, was %+v", g, s)
		}
	})
}
