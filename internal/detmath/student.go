// SPDX-License-Identifier: Apache-2.0

package detmath

import "math"

// StudentP is the two-sided p value of Student's t with df degrees of freedom:
// the probability of a value at least as far from 0. It is NaN if t is NaN or df
// is below 1.
func StudentP(t float64, df int) float64 {
	if df < 1 || math.IsNaN(t) {
		return math.NaN()
	}
	if math.IsInf(t, 0) {
		return 0
	}
	n := float64(df)
	return betaInc(n/2, 0.5, n/(n+float64(t*t)))
}

// StudentQuantile is the t that Student's distribution with df degrees of
// freedom stays below with probability p in (0, 1); NaN for other p or a df below
// 1.
func StudentQuantile(p float64, df int) float64 {
	if df < 1 || !(p > 0 && p < 1) {
		return math.NaN()
	}
	if p < 0.5 {
		return -StudentQuantile(1-p, df)
	}
	if p == 0.5 {
		return 0
	}
	lo, hi := 0.0, 1.0
	for hi < 1e12 && 1-float64(StudentP(hi, df)/2) < p {
		hi *= 2
	}
	for range 200 {
		mid := lo + float64((hi-lo)/2)
		if mid == lo || mid == hi {
			break
		}
		if 1-float64(StudentP(mid, df)/2) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// betaInc is the regularised incomplete beta function I_x(a, b).
func betaInc(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - betaFraction(b, a, 1-x)
	}
	return betaFraction(a, b, x)
}

// betaFraction is I_x(a, b) by Lentz's continued fraction, which converges
// fast for x below about (a+1)/(a+b+2).
func betaFraction(a, b, x float64) float64 {
	front := Exp(logGamma(a+b) - logGamma(a) - logGamma(b) + float64(a*Log(x)) + float64(b*Log(1-x)))
	const tiny = 1e-300
	c, d := 1.0, 1-float64((a+b)*x)/(a+1)
	if math.Abs(d) < tiny {
		d = tiny
	}
	d = 1 / d
	h := d
	for m := 1.0; m < 500; m++ {
		for _, num := range [2]float64{
			float64(float64(m*(b-m))*x) / float64((a+float64(2*m)-1)*(a+float64(2*m))),
			-float64(float64((a+m)*(a+b+m))*x) / float64((a+float64(2*m))*(a+float64(2*m)+1)),
		} {
			d = 1 + float64(num*d)
			if math.Abs(d) < tiny {
				d = tiny
			}
			c = 1 + num/c
			if math.Abs(c) < tiny {
				c = tiny
			}
			d = 1 / d
			h = float64(h * float64(c*d))
			if math.Abs(float64(c*d)-1) < 1e-16 {
				return float64(front*h) / a
			}
		}
	}
	return float64(front*h) / a
}

// logGamma is the logarithm of the gamma function for positive x, by Stirling's
// series after shifting x above 12.
func logGamma(x float64) float64 {
	shift := 0.0
	for x < 12 {
		shift += Log(x)
		x++
	}
	z := 1 / float64(x*x)
	series := poly(z, []float64{1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12}) / x
	return float64((x-0.5)*Log(x)) - x + 0.918938533204672741780 + series - shift
}
