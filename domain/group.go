// SPDX-License-Identifier: Apache-2.0

package domain

import "sibyl/cpumask"

// sgcKey tells sched_group_capacity objects apart: the kernel keeps one per
// level and CPU, and groups that represent the same CPUs share it.
type sgcKey struct{ level, cpu int }

// plainGroups follows build_sched_groups. All CPUs of a span share the group
// objects, and every CPU's pass relinks them into one ring, so the order that
// stays is that of the last CPU: its own group first, then by lowest CPU.
// Each domain's Groups is that ring, entered at the local group.
func (b *builder) plainGroups(d *Domain) {
	key := ringKey{b.lvl[d], d.Span.First()}
	ring := b.rings[key]
	if ring == nil {
		ring = b.ring(d)
		b.rings[key] = ring
	}
	k := len(ring) / 2
	for i, g := range ring[:k] {
		if g.Span.Has(d.CPU) {
			d.Groups = ring[i : i+k : i+k]
			return
		}
	}
}

type ringKey struct{ level, first int }

// ring builds the groups of d's span, twice in a row, so that the ring can be
// entered anywhere without a copy.
func (b *builder) ring(d *Domain) []*Group {
	covered := cpumask.New(b.n)
	var ring []*Group
	for i := range d.Span.Wrap(d.Span.Last()) {
		if covered.Has(i) {
			continue
		}
		g := &Group{}
		sib := b.at[b.lvl[d]][i]
		if sib.Child != nil {
			g.Span, g.Flags = sib.Child.Span, sib.Child.Flags
		} else {
			g.Span = b.intern(cpumask.Of(b.n, i))
		}
		g.BalanceMask = g.Span
		covered.Or(covered, g.Span)
		b.capacity[g] = sgcKey{b.lvl[d], g.Span.First()}
		b.member[g] = sib
		ring = append(ring, g)
	}
	return append(ring, ring...)
}

// describe sets what init_sched_groups_capacity does, except the capacity.
func (b *builder) describe(d *Domain) {
	for _, g := range d.Groups {
		if g.Weight == 0 {
			g.Weight = g.Span.Count()
			for i, w := range g.Span {
				if w != 0 {
					g.Words = append(g.Words, i)
				}
			}
			g.AsymPreferCPU = -1
			b.stamp++
			for c := range g.Span.All() {
				if core := b.h.Core[c]; b.seen[core] != b.stamp {
					b.seen[core] = b.stamp
					g.Cores++
				}
			}
		}
		if d.Flags.Has(AsymPacking) && g.AsymPreferCPU < 0 {
			for c := range g.Span.All() {
				if g.AsymPreferCPU < 0 || b.h.Priority[c] > b.h.Priority[g.AsymPreferCPU] {
					g.AsymPreferCPU = c
				}
			}
		}
	}
}

// adjustImbalance is adjust_numa_imbalance: how many tasks may be out of
// balance between the groups of a domain above the LLC before a task leaves
// its node, from the number of LLCs below it.
func (b *builder) adjustImbalance(llc *Domain) {
	p := llc.Parent
	if p == nil {
		return
	}
	imb := p.Weight / llc.Weight
	if imb == 1 {
		imb = p.Weight / 8
	}
	imb = max(1, imb)
	span := p.Weight
	for up := p.Parent; up != nil; up = up.Parent {
		if up.Flags.Has(NUMA) {
			span = up.Weight
			break
		}
	}
	for ; p != nil; p = p.Parent {
		p.ImbNUMANr = imb * max(1, p.Weight/span)
	}
}
