// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"slices"

	"sibyl/cpumask"
	"sibyl/machine"
)

// Distances of include/linux/topology.h; reclaimDistance is
// node_reclaim_distance, which only AMD's family 17h and later raise (to 32).
const (
	localDistance   = 10
	remoteDistance  = 20
	reclaimDistance = 30
)

// nodeOf returns the CPU's node; a CPU whose node is unknown is on the first.
func (b *builder) nodeOf(c *machine.CPU) int { return max(0, c.Node) }

// distance returns the distance between two nodes, the default where the
// machine does not give it.
func (b *builder) distance(i, j int) int {
	if i < len(b.m.Nodes) && j < len(b.m.Nodes[i].Distance) && b.m.Nodes[i].Distance[j] > 0 {
		return b.m.Nodes[i].Distance[j]
	}
	if i == j {
		return localDistance
	}
	return remoteDistance
}

// numaLevels follows sched_init_numa: one level per distinct distance between
// nodes that have online CPUs. The lowest is NODE, which is plain; the others
// are NUMA, with overlapping groups.
func (b *builder) numaLevels() []level {
	n := len(b.m.CPUs)
	nodes := make([]cpumask.Mask, max(1, len(b.m.Nodes)))
	for c := range b.m.CPUs {
		if !b.m.CPUs[c].Online {
			continue
		}
		node := b.nodeOf(&b.m.CPUs[c])
		if nodes[node] == nil {
			nodes[node] = cpumask.New(n)
		}
		nodes[node].Set(c)
	}
	var distances []int
	for i := range nodes {
		for j := range nodes {
			if nodes[i] != nil && nodes[j] != nil {
				distances = append(distances, b.distance(i, j))
			}
		}
	}
	slices.Sort(distances)
	distances = slices.Compact(distances)

	var topo []level
	for k, d := range distances {
		reach := make([]cpumask.Mask, len(nodes))
		for i := range nodes {
			reach[i] = cpumask.New(n)
			for j := range nodes {
				if nodes[i] != nil && nodes[j] != nil && b.distance(i, j) <= d {
					reach[i].Or(reach[i], nodes[j])
				}
			}
		}
		lv := level{name: "NUMA", flags: NUMA, distance: d, mask: make([]cpumask.Mask, n)}
		if k == 0 {
			lv = level{name: "NODE", mask: lv.mask}
		}
		for c := range b.m.CPUs {
			if b.m.CPUs[c].Online {
				lv.mask[c] = reach[b.nodeOf(&b.m.CPUs[c])]
			} else {
				lv.mask[c] = cpumask.Of(n, c)
			}
		}
		topo = append(topo, lv)
	}
	return topo
}

// overlapGroups follows build_overlap_sched_groups: the groups of a NUMA
// domain are the child spans of the domains that its CPUs have on the same
// level. They may overlap, and each domain has its own objects; only their
// capacity is common.
func (b *builder) overlapGroups(d *Domain) {
	covered := cpumask.New(b.n)
	for i := range d.Span.Wrap(d.CPU) {
		if covered.Has(i) {
			continue
		}
		sib := b.at[b.lvl[d]][i]
		if sib == nil || !sib.Span.Has(i) {
			continue // trees of unequal depth
		}
		if sib.Child != nil && !sib.Child.Span.SubsetOf(d.Span) {
			sib = descendedSibling(d, sib)
		}
		g := &Group{Span: sib.Span}
		if sib.Child != nil {
			g.Span, g.Flags = sib.Child.Span, sib.Child.Flags
		}
		covered.Or(covered, g.Span)
		g.BalanceMask = b.balanceMask(b.lvl[sib], g.Span)
		b.capacity[g] = sgcKey{b.lvl[sib], g.BalanceMask.First()}
		b.member[g] = sib
		d.Groups = append(d.Groups, g)
	}
}

// descendedSibling is find_descended_sibling: on machines whose NUMA diameter
// is three or more, the sibling's child may reach beyond d.
func descendedSibling(d, sib *Domain) *Domain {
	for sib.Child != nil && !sib.Child.Span.SubsetOf(d.Span) {
		sib = sib.Child
	}
	for sib.Child != nil && sib.Child.Span.Equal(sib.Span) {
		sib = sib.Child
	}
	return sib
}

// balanceMask is build_balance_mask: the CPUs of the group that arrive at the
// same group when they come up through their own domains.
func (b *builder) balanceMask(level int, span cpumask.Mask) cpumask.Mask {
	key := balanceKey{level, &span[0]}
	if mask, ok := b.balance[key]; ok {
		return mask
	}
	mask := cpumask.New(b.n)
	for i := range span.All() {
		sib := b.at[level][i]
		if sib != nil && sib.Child != nil && same(sib.Child.Span, span) {
			mask.Set(i)
		}
	}
	if mask.Empty() {
		// The kernel warns here and would use a CPU beyond the mask.
		mask.Set(span.First())
	}
	mask = b.intern(mask)
	b.balance[key] = mask
	return mask
}

// balanceKey names a balance mask by its level and the stored span.
type balanceKey struct {
	level int
	span  *uint64
}

// same tells whether two interned masks are equal.
func same(a, b cpumask.Mask) bool { return &a[0] == &b[0] }
