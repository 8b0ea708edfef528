// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math/bits"

	"sibyl/cpumask"
)

// wrap is a walk over the words of a mask in the order of for_each_cpu_wrap:
// the word of start from start upward, the words after it, the words before
// it, and the rest of start's word.
type wrap struct {
	word, left int
	head, mask uint64 // bits of the first word at or above start; bits of this step
}

// from begins a walk over masks of n words. A start beyond them begins at 0.
func from(start, n int) wrap {
	if start < 0 || start >= n<<6 {
		start = 0
	}
	head := ^uint64(0) << (uint(start) & 63)
	return wrap{word: start >> 6, left: n + 1, head: head, mask: head}
}

// next moves to the following step; n is the number of words.
func (w *wrap) next(n int) {
	w.left--
	w.word++
	if w.word >= n {
		w.word = 0
	}
	w.mask = ^uint64(0)
	if w.left == 1 {
		w.mask = ^w.head
	}
}

// firstAnd returns the first CPU in both a and b in wrap order from start, -1
// if there is none.
func firstAnd(a, b cpumask.Mask, start int) int {
	n := len(a)
	for w := from(start, n); w.left > 0; w.next(n) {
		if hit := a[w.word] & b[w.word] & w.mask; hit != 0 {
			return w.word<<6 | bits.TrailingZeros64(hit)
		}
	}
	return -1
}

// choosable returns word i of the set of CPUs that choose_idle_cpu accepts;
// policy is chooseIdlePolicy, asked once per scan.
func (p *Placer) choosable(i int, policy bool) uint64 {
	w := p.s.Avail[i]
	if policy {
		w |= p.s.IdlePolicy[i]
	}
	return w
}

// firstChoosable returns the first CPU of m in wrap order from start that
// choose_idle_cpu accepts, and how many CPUs of m come before it. Without one,
// the CPU is -1 and the count is that of m.
func (p *Placer) firstChoosable(m cpumask.Mask, start int) (cpu, before int) {
	n := len(m)
	policy := p.chooseIdlePolicy()
	for w := from(start, n); w.left > 0; w.next(n) {
		set := m[w.word] & w.mask
		if hit := set & p.choosable(w.word, policy); hit != 0 {
			bit := bits.TrailingZeros64(hit)
			return w.word<<6 | bit, before + bits.OnesCount64(set&(1<<uint(bit)-1))
		}
		before += bits.OnesCount64(set)
	}
	return -1, before
}
