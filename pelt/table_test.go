// SPDX-License-Identifier: Apache-2.0

package pelt

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestPowers computes the table anew: y^n times 2^32-1, rounded down, is the
// 32nd root of (2^32-1)^32 / 2^n. Roots of 32 are five square roots, and
// rounding down on the way does not change the last result.
func TestPowers(t *testing.T) {
	full := new(big.Int).Exp(big.NewInt(1<<32-1), big.NewInt(halfLife), nil)
	for n, got := range yPowers {
		want := new(big.Int).Rsh(full, uint(n))
		for range 5 {
			want.Sqrt(want)
		}
		if want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Errorf("y^%d is %#x, computed %#x", n, got, want)
		}
	}
}

// TestMax: the sum of a signal that is always on ends at LOAD_AVG_MAX.
func TestMax(t *testing.T) {
	sum, last := uint64(0), uint64(1)
	for sum != last {
		last, sum = sum, sum*uint64(yPowers[1])>>32+period
	}
	if sum != Max {
		t.Errorf("the sum tends to %d, not %d", sum, Max)
	}
}

// TestQuotient: the reciprocals give the same as a division, also next to
// where the quotient steps.
func TestQuotient(t *testing.T) {
	for at := range uint32(period) {
		div := minDivider + uint64(at)
		for _, q := range []uint64{1, 1023, 1024, 88761, (1<<48 - 1) / div, 1 << 40} {
			for _, v := range []uint64{q*div - 1, q * div, q*div + 1} {
				if got := quotient(v, at); got != v/div {
					t.Fatalf("%d/%d is %d, not %d", v, div, got, v/div)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v, at := rapid.Uint64().Draw(t, "v"), rapid.Uint32Range(0, 2*period).Draw(t, "at")
		if got, want := quotient(v, at), v/(minDivider+uint64(at)); got != want {
			t.Fatalf("%d at %d: %d, not %d", v, at, got, want)
		}
	})
}
