// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"

	"sibyl/internal/detmath"
)

// level is the share of intervals that are to cover the true difference.
const level = 0.95

// effect is a difference of means in the metric's unit.
type effect struct {
	mean, low, high, p float64
	hasInterval        bool // low, high and p are not known otherwise
	same               bool // all values that are compared are equal
	constant           bool // the difference has no variance
}

// pairedEffect is Student's t on the differences new-base.
func pairedEffect(base, next []float64) effect {
	d := make([]float64, len(base))
	same := true
	for i := range d {
		d[i] = next[i] - base[i]
		same = same && base[i] == next[i]
	}
	s := Summarize(d)
	return student(s.Mean, s.SD/math.Sqrt(float64(s.N)), s.N-1, same)
}

// welchEffect is Welch's t on two independent sides. The degrees of freedom of
// Welch and Satterthwaite are rounded down, which widens the interval.
func welchEffect(base, next Summary) effect {
	same := base.SD == 0 && next.SD == 0 && base.Mean == next.Mean
	diff := next.Mean - base.Mean
	if base.N < 2 || next.N < 2 {
		return student(diff, 0, 0, same)
	}
	// Not math.Hypot, which has its own assembly on some machines.
	eb, en := base.SD/math.Sqrt(float64(base.N)), next.SD/math.Sqrt(float64(next.N))
	se := 0.0
	if big := max(eb, en); big > 0 {
		rb, rn := eb/big, en/big
		se = float64(big * math.Sqrt(float64(rb*rb)+float64(rn*rn)))
	}
	return student(diff, se, welchDF(base, next), same)
}

// welchDF works on shares of the variance, which do not overflow.
func welchDF(base, next Summary) int {
	big := max(base.SD, next.SD)
	if big == 0 {
		return base.N + next.N - 2
	}
	rb, rn := base.SD/big, next.SD/big
	vb, vn := float64(rb*rb)/float64(base.N), float64(rn*rn)/float64(next.N)
	den := float64(vb*vb)/float64(base.N-1) + float64(vn*vn)/float64(next.N-1)
	v := vb + vn
	return max(1, int(float64(v*v)/den))
}

// student gives the interval and p of a mean with its standard error. With df
// 0 there is neither.
func student(mean, se float64, df int, same bool) effect {
	e := effect{mean: mean, low: mean, high: mean, p: 1, same: same, constant: se == 0}
	switch {
	case df < 1:
		return e
	case se == 0:
		e.hasInterval = true
		if mean != 0 {
			e.p = 0
		}
		return e
	}
	e.hasInterval = true
	half := float64(detmath.StudentQuantile(1-(1-level)/2, df) * se)
	e.low, e.high = mean-half, mean+half
	e.p = detmath.StudentP(mean/se, df)
	return e
}
