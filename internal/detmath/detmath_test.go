// SPDX-License-Identifier: Apache-2.0

package detmath

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(got, want, rel float64) bool {
	return got == want || math.Abs(got-want) <= rel*math.Max(1e-300, math.Abs(want))
}

func TestLogExpAgainstStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-700, 700).Draw(t, "x")
		if got, want := Exp(x), math.Exp(x); !near(got, want, 4e-15) {
			t.Errorf("Exp(%g) = %g, want %g", x, got, want)
		}
		y := math.Exp(x)
		if got, want := Log(y), math.Log(y); math.Abs(got-want) > 4e-15*math.Max(1, math.Abs(want)) {
			t.Errorf("Log(%g) = %g, want %g", y, got, want)
		}
	})
	for x, want := range map[float64]float64{0: math.Inf(-1), 1: 0} {
		if Log(x) != want {
			t.Errorf("Log(%g) = %g", x, Log(x))
		}
	}
	if !math.IsNaN(Log(-1)) || Exp(-1e9) != 0 || !math.IsInf(Exp(1e9), 1) {
		t.Error("edges")
	}
}

func TestNormQuantile(t *testing.T) {
	for p, want := range map[float64]float64{
		0.5: 0, 0.975: 1.959963984540054, 0.025: -1.959963984540054, 0.999: 3.090232306167813, 0.001: -3.090232306167813,
	} {
		if got := NormQuantile(p); math.Abs(got-want) > 1e-8 {
			t.Errorf("NormQuantile(%g) = %.12f, want %.12f", p, got, want)
		}
	}
}

// TestStudent holds quantiles and p values to the printed tables.
func TestStudent(t *testing.T) {
	for _, tc := range []struct {
		p    float64
		df   int
		want float64
	}{
		{0.975, 1, 12.7062047364}, {0.975, 2, 4.30265272991}, {0.975, 4, 2.7764451052}, {0.975, 19, 2.09302405441},
		{0.995, 9, 3.24983554402}, {0.975, 1000, 1.96233908082}, {0.025, 4, -2.7764451052},
	} {
		if got := StudentQuantile(tc.p, tc.df); !near(got, tc.want, 1e-9) {
			t.Errorf("StudentQuantile(%g, %d) = %.12f, want %.12f", tc.p, tc.df, got, tc.want)
		}
	}
	if got := StudentP(2.7764451052, 4); !near(got, 0.05, 1e-9) {
		t.Errorf("StudentP = %.12f, want 0.05", got)
	}
	if StudentP(0, 5) != 1 {
		t.Errorf("StudentP(0) = %g, want 1", StudentP(0, 5))
	}
}
