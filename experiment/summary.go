// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"slices"
)

// Summary describes a set of values. The zero value is that of no values.
type Summary struct {
	N      int
	Mean   float64
	SD     float64 // of the sample (n-1); 0 for fewer than two values
	Median float64
}

// Summarize returns the summary of xs. It does not depend on their order. NaN
// and infinite values spread into the result; Compare leaves them out.
func Summarize(xs []float64) Summary {
	n := len(xs)
	if n == 0 {
		return Summary{}
	}
	// Sums in sorted order are the same for every permutation.
	s := slices.Clone(xs)
	slices.Sort(s)
	if s[0] == s[n-1] {
		return Summary{N: n, Mean: s[0], Median: s[0]}
	}
	mid := s[n/2]
	if n%2 == 0 {
		mid = float64(s[n/2-1]/2) + float64(s[n/2]/2)
	}
	mean := sum(s) / float64(n)
	var ss float64
	for _, x := range s {
		d := x - mean
		ss += float64(d * d) // the conversion keeps it from being fused
	}
	return Summary{N: n, Mean: mean, SD: math.Sqrt(ss / float64(n-1)), Median: mid}
}

func sum(xs []float64) float64 {
	var t float64
	for _, x := range xs {
		t += x
	}
	return t
}

// finite tells whether x can be compared and written as JSON.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
