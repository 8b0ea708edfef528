// SPDX-License-Identifier: Apache-2.0

// Package rng gives named random streams of a seed. Streams with different
// names are independent, so that adding a draw to one component does not change
// another. Only the source's Uint64 comes from the standard library, whose
// derived draws carry no promise; bounded, exponential and normal draws are
// made here, from integer operations and package detmath, and are the same bits
// on every machine.
package rng

import (
	"math/rand/v2"

	"sibyl/internal/detmath"
)

// Stream is one stream of random numbers. It is not safe for concurrent use.
type Stream struct {
	src rand.PCG
}

// New returns the stream of that name for a seed.
func New(seed uint64, name string) *Stream {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	s := &Stream{src: *rand.NewPCG(mix(seed), mix(h))}
	return s
}

// mix spreads the bits of a small number (SplitMix64's finalizer).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Uint64 returns 64 random bits.
func (s *Stream) Uint64() uint64 { return s.src.Uint64() }

// Intn returns a uniform number in [0, n). n must be positive.
func (s *Stream) Intn(n int) int {
	if n <= 0 {
		panic("rng: Intn of no values")
	}
	// Numbers above the largest multiple of n would favour small results.
	limit := ^uint64(0) - ^uint64(0)%uint64(n)
	for {
		if x := s.Uint64(); x < limit {
			return int(x % uint64(n))
		}
	}
}

// Float64 returns a uniform number in [0, 1) with 53 bits.
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Bernoulli returns true with probability p.
func (s *Stream) Bernoulli(p float64) bool { return s.Float64() < p }

// ExpNS returns an exponential waiting time with the given mean in ns, at least
// 1.
func (s *Stream) ExpNS(mean int64) int64 {
	u := 1 - s.Float64() // in (0, 1]
	return max(1, int64(-float64(mean)*detmath.Log(u)))
}

// Normal returns a standard normal number.
func (s *Stream) Normal() float64 {
	for {
		if u := s.Float64(); u > 0 {
			return detmath.NormQuantile(u)
		}
	}
}

// Gamma returns a gamma-distributed number with the given mean and coefficient
// of variation (Marsaglia and Tsang's method); without variation it is the mean.
func (s *Stream) Gamma(mean, cv float64) float64 {
	if cv <= 0 {
		return mean
	}
	shape := 1 / float64(cv*cv)
	boost := 1.0
	k := shape
	if k < 1 {
		// A gamma of shape k is one of shape k+1 times u^(1/k).
		boost = detmath.Exp(detmath.Log(1-s.Float64()) / k)
		k++
	}
	d := k - 1.0/3
	c := 1 / float64(3*detmath.Sqrt(d))
	for {
		x := s.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(float64(v*v) * v)
		u := 1 - s.Float64() // in (0, 1]
		if detmath.Log(u) < float64(float64(x*x)/2)+float64(d*(1-v+detmath.Log(v))) {
			return float64(float64(float64(d*v)*boost)*mean) / shape
		}
	}
}
