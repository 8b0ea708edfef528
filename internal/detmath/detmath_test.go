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
		{0.975, 1, 12.7062047364},
		{0.975, 2, 4.30265272991},
		{0.975, 4, 2.7764451052},
		{0.975, 19, 2.09302405441},
		{0.995, 9, 3.24983554402},
		{0.975, 1000, 1.96233908082},
		{0.025, 4, -2.7764451052},
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

// TestStudentP holds p values to closed forms: one degree of freedom is the
// Cauchy distribution, two have 1 - t/sqrt(2+t²), very many are normal.
func TestStudentP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-3, 50).Draw(t, "t")
		if got, want := StudentP(x, 1), 1-2*math.Atan(x)/math.Pi; math.Abs(got-want) > 1e-13 {
			t.Errorf("StudentP(%g, 1) = %g, want %g", x, got, want)
		}
		if got, want := StudentP(-x, 2), 1-x/math.Sqrt(2+x*x); math.Abs(got-want) > 1e-13 {
			t.Errorf("StudentP(%g, 2) = %g, want %g", -x, got, want)
		}
		df := rapid.IntRange(1, 5000).Draw(t, "df")
		if a, b := StudentP(x, df), StudentP(x+0.1, df); !(a >= b && b >= 0 && a <= 1) {
			t.Errorf("df %d: P(%g) = %g, P(%g) = %g: not falling in [0, 1]", df, x, a, x+0.1, b)
		}
	})
	for _, x := range []float64{0.5, 1, 1.96, 3} {
		if got, want := StudentP(x, 100_000_000), math.Erfc(x/math.Sqrt2); !near(got, want, 1e-6) {
			t.Errorf("StudentP(%g, many) = %g, want %g", x, got, want)
		}
	}
	for _, v := range []float64{StudentP(1, 0), StudentP(math.NaN(), 3), StudentQuantile(0, 3), StudentQuantile(1, 3), StudentQuantile(0.5, -1)} {
		if !math.IsNaN(v) {
			t.Errorf("wrong use gives %g, want NaN", v)
		}
	}
	if StudentP(math.Inf(-1), 3) != 0 {
		t.Error("infinite t")
	}
}

// The quantile is the inverse of the p value.
func TestStudentQuantileInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0.6, 0.9999).Draw(t, "p")
		df := rapid.IntRange(1, 300).Draw(t, "df")
		q := StudentQuantile(p, df)
		if got := 1 - StudentP(q, df)/2; !near(got, p, 1e-12) {
			t.Errorf("df %d: quantile %g has probability %g, want %g", df, q, got, p)
		}
		if back := StudentQuantile(1-p, df); !near(back, -q, 1e-9) {
			t.Errorf("df %d: quantiles %g and %g are not symmetric", df, back, q)
		}
	})
}

// TestGoldenBits pins the last bits: another architecture or GOAMD64 level must
// give the same.
func TestGoldenBits(t *testing.T) {
	h := uint64(14695981039346656037)
	for i := 1; i <= 2000; i++ {
		x := float64(i) / 128
		for _, v := range []float64{Log(x), Exp(-x), Exp(x), NormQuantile(float64(i) / 2001), StudentP(x, 1+i%40), StudentQuantile(float64(i)/2001, 1+i%40)} {
			h = (h ^ math.Float64bits(v)) * 1099511628211
		}
	}
	const want = 0xa4c198464ee36544
	if h != want {
		t.Errorf("hash of results %#x, want %#x", h, uint64(want))
	}
}
