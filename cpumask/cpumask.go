// SPDX-License-Identifier: Apache-2.0

// Package cpumask holds sets of CPU numbers, as the kernel's cpumask_t does.
//
// A Mask is a slice of 64-bit words. All masks that meet in one operation must
// have been made for the same number of CPUs; that keeps every operation a
// short loop over words without a length test per bit. A Mask is a reference:
// assignment shares the bits, Clone copies them. Masks are not safe for
// concurrent writing.
package cpumask

import (
	"iter"
	"math/bits"
)

// Mask is a set of CPU numbers below the size that it was made for. The zero
// value is an empty set of size zero.
type Mask []uint64

// New returns an empty set with room for CPUs 0 to n-1.
func New(n int) Mask { return make(Mask, (n+63)/64) }

// Of returns the set of the given CPUs, with room for CPUs 0 to n-1.
func Of(n int, cpus ...int) Mask {
	m := New(n)
	for _, c := range cpus {
		m.Set(c)
	}
	return m
}

// Range returns the set {lo, …, hi-1}, with room for CPUs 0 to n-1.
func Range(n, lo, hi int) Mask {
	m := New(n)
	for c := lo; c < hi; c++ {
		m.Set(c)
	}
	return m
}

// Has tells whether CPU c is in the set. A c outside the mask's size is not.
func (m Mask) Has(c int) bool {
	w := uint(c) >> 6
	return w < uint(len(m)) && m[w]>>(uint(c)&63)&1 != 0
}

// Set adds CPU c, which must be within the mask's size.
func (m Mask) Set(c int) { m[uint(c)>>6] |= 1 << (uint(c) & 63) }

// Clear removes CPU c, which must be within the mask's size.
func (m Mask) Clear(c int) { m[uint(c)>>6] &^= 1 << (uint(c) & 63) }

// Assign adds CPU c if in is true and removes it otherwise.
func (m Mask) Assign(c int, in bool) {
	if in {
		m.Set(c)
	} else {
		m.Clear(c)
	}
}

// Reset empties the set.
func (m Mask) Reset() {
	for i := range m {
		m[i] = 0
	}
}

// Clone returns a copy that shares no bits with m.
func (m Mask) Clone() Mask { return append(Mask(nil), m...) }

// Copy makes m equal to a.
func (m Mask) Copy(a Mask) { copy(m, a) }

// And makes m the intersection of a and b. m may be a or b.
func (m Mask) And(a, b Mask) {
	for i := range m {
		m[i] = a[i] & b[i]
	}
}

// Or makes m the union of a and b. m may be a or b.
func (m Mask) Or(a, b Mask) {
	for i := range m {
		m[i] = a[i] | b[i]
	}
}

// AndNot makes m the CPUs of a that are not in b. m may be a or b.
func (m Mask) AndNot(a, b Mask) {
	for i := range m {
		m[i] = a[i] &^ b[i]
	}
}

// Count returns the number of CPUs in the set.
func (m Mask) Count() int {
	n := 0
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}

// CountAnd returns the number of CPUs that are in both m and a.
func (m Mask) CountAnd(a Mask) int {
	n := 0
	for i, w := range m {
		n += bits.OnesCount64(w & a[i])
	}
	return n
}

// Empty tells whether the set has no CPU.
func (m Mask) Empty() bool {
	for _, w := range m {
		if w != 0 {
			return false
		}
	}
	return true
}

// Equal tells whether m and a hold the same CPUs.
func (m Mask) Equal(a Mask) bool {
	for i, w := range m {
		if w != a[i] {
			return false
		}
	}
	return true
}

// Intersects tells whether m and a share a CPU.
func (m Mask) Intersects(a Mask) bool {
	for i, w := range m {
		if w&a[i] != 0 {
			return true
		}
	}
	return false
}

// SubsetOf tells whether every CPU of m is in a.
func (m Mask) SubsetOf(a Mask) bool {
	for i, w := range m {
		if w&^a[i] != 0 {
			return false
		}
	}
	return true
}

// First returns the lowest CPU of the set, or -1 if it is empty.
func (m Mask) First() int { return m.Next(0) }

// Last returns the highest CPU of the set, or -1 if it is empty.
func (m Mask) Last() int {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i] != 0 {
			return i<<6 + 63 - bits.LeadingZeros64(m[i])
		}
	}
	return -1
}

// Next returns the lowest CPU of the set that is not below c, or -1 if there
// is none. for c := m.First(); c >= 0; c = m.Next(c + 1) reads the mask live:
// a bit cleared during the walk is not visited later, as with the kernel's
// for_each_cpu.
func (m Mask) Next(c int) int {
	if c < 0 {
		c = 0
	}
	i := c >> 6
	if i >= len(m) {
		return -1
	}
	w := m[i] >> (uint(c) & 63) << (uint(c) & 63)
	for w == 0 {
		i++
		if i >= len(m) {
			return -1
		}
		w = m[i]
	}
	return i<<6 + bits.TrailingZeros64(w)
}

// NextAnd returns the lowest CPU in both m and a that is not below c, or -1.
func (m Mask) NextAnd(a Mask, c int) int {
	if c < 0 {
		c = 0
	}
	i := c >> 6
	if i >= len(m) {
		return -1
	}
	w := (m[i] & a[i]) >> (uint(c) & 63) << (uint(c) & 63)
	for w == 0 {
		i++
		if i >= len(m) {
			return -1
		}
		w = m[i] & a[i]
	}
	return i<<6 + bits.TrailingZeros64(w)
}

// All yields the CPUs of the set in ascending order, reading the mask live.
func (m Mask) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for c := m.First(); c >= 0; c = m.Next(c + 1) {
			if !yield(c) {
				return
			}
		}
	}
}

// Wrap yields the CPUs of the set from start upward, then from 0 to start-1,
// reading the mask live, as the kernel's for_each_cpu_wrap does. A start
// beyond the mask's size begins at 0.
func (m Mask) Wrap(start int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if start < 0 || start >= len(m)<<6 {
			start = 0
		}
		for c := m.Next(start); c >= 0; c = m.Next(c + 1) {
			if !yield(c) {
				return
			}
		}
		for c := m.First(); c >= 0 && c < start; c = m.Next(c + 1) {
			if !yield(c) {
				return
			}
		}
	}
}
