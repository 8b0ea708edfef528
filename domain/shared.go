// SPDX-License-Identifier: Apache-2.0

package domain

import "sibyl/cpumask"

// slot is one CPU's preallocated sched_domain_shared. claim is 0 while it is
// free; else its value is what nr_idle_scan starts with, because the kernel
// keeps the claim flag in the same storage (mechanisms 1.5).
type slot struct {
	claim  Flags
	weight int // nr_busy_cpus: of the last claim
}

// claimShared follows init_sched_domain_shared: the lowest CPU of the span
// whose slot is free or was claimed for the same purpose. A domain of one CPU
// takes its slot whatever it holds, since it will degenerate; a later claim of
// the other purpose then passes that slot by.
func (b *builder) claimShared(d *Domain, purpose Flags) {
	at := d.Span.Last() // none is free: the kernel warns and uses the last
	for c := range d.Span.All() {
		s := &b.slots[c]
		if s.claim == 0 || d.Weight == 1 || s.claim == purpose {
			s.claim = purpose
			at = c
			break
		}
	}
	b.slots[at].weight = d.Weight
	b.shared[d] = at
}

// attachShared gives each CPU's innermost full asymmetric domain and its
// topmost LLC domain a shared object, and sets imb_numa_nr on the way, as
// build_sched_domains does.
func (b *builder) attachShared(base *Domain) {
	if base == nil {
		return
	}
	if b.h.AsymActive && !b.o.NoAsymShared {
		d := base
		for d != nil && !d.Flags.Has(AsymCPUCapacityFull) {
			d = d.Parent
		}
		if d != nil && !d.Flags.Has(NUMA) {
			b.claimShared(d, AsymCPUCapacity)
		}
	}
	d := base
	for d.Parent != nil && d.Parent.Flags.Has(ShareLLC) {
		d = d.Parent
	}
	if d.Flags.Has(ShareLLC) {
		b.claimShared(d, ShareLLC)
		b.adjustImbalance(d)
	}
}

// numberShared lists the slots that kept domains refer to, in order of first
// use, and turns Domain.Shared from a slot into an index of that list.
func (b *builder) numberShared() {
	number := map[int]int{}
	for _, d := range b.h.Domains {
		s := d.Shared
		if s < 0 {
			continue
		}
		i, seen := number[s]
		if !seen {
			i = len(b.h.Shared)
			number[s] = i
			spec := SharedSpec{Span: d.Span, Weight: b.slots[s].weight, InitialIdleScan: int(b.slots[s].claim)}
			if b.o.IdleScanStartsAtZero {
				spec.InitialIdleScan = 0
			}
			b.h.Shared = append(b.h.Shared, spec)
		}
		d.Shared = i
	}
}

// intern returns the one stored copy of an equal mask. Spans do not change
// after Build, so CPUs with equal spans share them.
func (b *builder) intern(m cpumask.Mask) cpumask.Mask {
	b.keyBuf = b.keyBuf[:0]
	for _, w := range m {
		for range 8 {
			b.keyBuf = append(b.keyBuf, byte(w))
			w >>= 8
		}
	}
	if s, ok := b.masks[string(b.keyBuf)]; ok {
		return s
	}
	b.masks[string(b.keyBuf)] = m
	return m
}
