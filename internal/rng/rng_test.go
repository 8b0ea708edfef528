// SPDX-License-Identifier: Apache-2.0

package rng

import (
	"math"
	"testing"
)

// TestGolden pins the draws: results of earlier versions must stay
// reproducible.
func TestGolden(t *testing.T) {
	s := New(1, "a")
	got := [4]uint64{s.Uint64(), s.Uint64(), uint64(s.Intn(1000)), uint64(s.ExpNS(1_000_000))}
	want := [4]uint64{13300301389081113539, 13568255388123066859, 276, 606046}
	if got != want {
		t.Errorf("draws %v, want %v", got, want)
	}
	if New(1, "a").Uint64() == New(1, "b").Uint64() || New(1, "a").Uint64() == New(2, "a").Uint64() {
		t.Error("streams do not depend on seed and name")
	}
}

func TestMoments(t *testing.T) {
	s := New(3, "moments")
	const n = 200_000
	var exp, norm, norm2 float64
	cvs := [2]float64{0.8, 1.3} // shapes above and below 1
	var gamma, gamma2 [2]float64
	for range n {
		exp += float64(s.ExpNS(1000))
		z := s.Normal()
		norm, norm2 = norm+z, norm2+z*z
		for i, cv := range cvs {
			g := s.Gamma(2, cv)
			gamma[i], gamma2[i] = gamma[i]+g, gamma2[i]+g*g
		}
	}
	check := func(what string, got, want, tol float64) {
		if math.Abs(got-want) > tol {
			t.Errorf("%s %g, want %g", what, got, want)
		}
	}
	check("exponential mean", exp/n, 1000, 10)
	check("normal mean", norm/n, 0, 0.01)
	check("normal variance", norm2/n, 1, 0.02)
	for i, cv := range cvs {
		mean := gamma[i] / n
		check("gamma mean", mean, 2, 0.03)
		check("gamma cv", math.Sqrt(gamma2[i]/n-mean*mean)/mean, cv, 0.03)
	}
	counts := make([]int, 7)
	for range n {
		counts[s.Intn(7)]++
	}
	for i, c := range counts {
		check("uniform "+string(rune('0'+i)), float64(c)/n, 1.0/7, 0.005)
	}
}

// TestGoldenDraws pins every kind of draw over many draws: FNV-1a of the bits.
func TestGoldenDraws(t *testing.T) {
	h := uint64(14695981039346656037)
	add := func(v uint64) { h = (h ^ v) * 1099511628211 }
	s := New(42, "golden")
	for i := range 2000 {
		add(s.Uint64())
		add(uint64(s.Intn(1 + i)))
		add(math.Float64bits(s.Float64()))
		add(uint64(s.ExpNS(250_000)))
		add(math.Float64bits(s.Normal()))
		add(math.Float64bits(s.Gamma(1, 1.6)))
		if s.Bernoulli(0.25) {
			add(1)
		}
	}
	const want = 0x3eaac29bab7c0ab5
	if h != want {
		t.Errorf("hash of draws %#x, want %#x", h, uint64(want))
	}
}

func TestBounds(t *testing.T) {
	s := New(9, "bounds")
	yes := 0
	for range 100_000 {
		if f := s.Float64(); f < 0 || f >= 1 {
			t.Fatalf("Float64 %g", f)
		}
		if n := s.Intn(3); n < 0 || n > 2 {
			t.Fatalf("Intn(3) %d", n)
		}
		if s.Intn(1) != 0 || s.ExpNS(0) != 1 || s.ExpNS(1) < 1 {
			t.Fatal("Intn(1) is 0, ExpNS at least 1")
		}
		if s.Bernoulli(0) || !s.Bernoulli(1) {
			t.Fatal("certain events")
		}
		if s.Bernoulli(0.3) {
			yes++
		}
		if z := s.Normal(); math.IsNaN(z) || math.Abs(z) > 9 {
			t.Fatalf("Normal %g", z)
		}
	}
	if yes < 29_000 || yes > 31_000 {
		t.Errorf("Bernoulli(0.3): %d of 100000", yes)
	}
	// A bound of more than half of the range would show a biased draw.
	const n = 3 << 61
	low := 0
	for range 10_000 {
		if s.Intn(n) < n/2 {
			low++
		}
	}
	if low < 4_800 || low > 5_200 {
		t.Errorf("%d of 10000 draws in the lower half", low)
	}
	if s.Gamma(3, 0) != 3 {
		t.Error("no variation: the mean")
	}
	defer func() {
		if recover() == nil {
			t.Error("Intn(0) must panic")
		}
	}()
	s.Intn(0)
}

// A Stream is a value: a copy goes on by itself.
func TestStreamIsValue(t *testing.T) {
	s := New(5, "value")
	s.Uint64()
	c := *s
	if a, b := s.Uint64(), c.Uint64(); a != b {
		t.Errorf("%d and %d", a, b)
	}
	s.Uint64()
	if a, b := s.Uint64(), c.Uint64(); a == b {
		t.Error("the copy follows the original")
	}
}

func BenchmarkExpNS(b *testing.B) {
	s := New(1, "bench")
	for b.Loop() {
		s.ExpNS(1_000_000)
	}
}
