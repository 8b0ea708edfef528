// SPDX-License-Identifier: Apache-2.0

// Package detmath has the few functions of real numbers that results need, with
// the same bits on every machine: every product that feeds a sum is rounded by
// an explicit conversion, so that no compiler fuses the two, and nothing is
// taken from per-architecture assembly.
package detmath

import "math"

// Sqrt is the square root, which IEEE 754 defines to the last bit.
func Sqrt(x float64) float64 { return math.Sqrt(x) }

// atanh has the coefficients 1/25, 1/23, …, 1 of the series of atanh(s)/s in s².
var atanh = [...]float64{
	1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
	1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1,
}

const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// Log is the natural logarithm, to a few units in the last place.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	f, e := math.Frexp(x) // in [1/2, 1)
	if f < math.Sqrt2/2 {
		f *= 2
		e--
	}
	// log f = 2 atanh((f-1)/(f+1)), by its series.
	s := (f - 1) / (f + 1)
	z := float64(s * s)
	sum := poly(z, atanh[:])
	k := float64(e)
	return float64(k*ln2Hi) + (float64(k*ln2Lo) + float64(2*s*sum))
}

// Exp is the exponential function, to a few units in the last place.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 709.78:
		return math.Inf(1)
	case x < -745.1:
		return 0
	}
	k := math.Floor(float64(x/math.Ln2) + 0.5)
	r := x - float64(k*ln2Hi)
	r -= float64(k * ln2Lo)
	sum := 1.0
	for i := 18; i >= 1; i-- {
		sum = float64(sum*r)/float64(i) + 1
	}
	return math.Ldexp(sum, int(k))
}

// NormQuantile is the inverse of the standard normal distribution function for
// p in (0, 1), by Acklam's rational approximation (relative error below
// 1.2e-9), which is ample for random draws.
func NormQuantile(p float64) float64 {
	const low = 0.02425
	switch {
	case !(p > 0 && p < 1):
		return math.NaN()
	case p < low:
		q := Sqrt(-2 * Log(p))
		return poly(q, tailNum[:]) / float64(poly(q, tailDen[:]))
	case p > 1-low:
		q := Sqrt(-2 * Log(1-p))
		return -poly(q, tailNum[:]) / float64(poly(q, tailDen[:]))
	}
	q := p - 0.5
	r := float64(q * q)
	return float64(poly(r, midNum[:])*q) / poly(r, midDen[:])
}

// Coefficients of the approximation, highest power first.
var (
	midNum = [...]float64{
		-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
		1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00,
	}
	midDen = [...]float64{
		-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
		6.680131188771972e+01, -1.328068155288572e+01, 1,
	}
	tailNum = [...]float64{
		-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
		-2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00,
	}
	tailDen = [...]float64{
		7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
		3.754408661907416e+00, 1,
	}
)

func poly(x float64, c []float64) float64 {
	sum := 0.0
	for _, a := range c {
		sum = float64(sum*x) + a
	}
	return sum
}
