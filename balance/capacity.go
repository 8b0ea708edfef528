// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"math"

	"sibyl/domain"
)

// reduced is check_cpu_capacity: interrupts and higher classes leave visibly
// less of CPU c than it has.
func (b *Balancer) reduced(c, pct int) bool {
	q := &b.s.CPUs[c]
	return q.CapNow*int64(pct) < q.CapMax*100
}

// capacityLeft is scale_rt_capacity: what RT and deadline tasks and interrupts
// leave of CPU c, at least 1 (mechanisms 1.6).
func (b *Balancer) capacityLeft(c int) int64 {
	q := &b.s.CPUs[c]
	if q.IRQUtil >= q.CapActual || q.RTUtil >= q.CapActual {
		return 1
	}
	return max(1, (q.CapActual-q.RTUtil)*(q.CapActual-q.IRQUtil)/q.CapActual)
}

// UpdateGroupCapacity is update_group_capacity: it refreshes the capacity of
// d's local group, at the base domain from CPU cpu itself, above from the
// stored values of the child's groups. These are the only times when CapNow
// and group capacities change; in between they are stale.
func (b *Balancer) UpdateGroupCapacity(d *domain.Domain, cpu int, jiffies int64) {
	s := b.s
	g := &s.Groups[d.Groups[0].ID]
	g.NextUpdate = jiffies + b.Interval(d, false)
	if d.Child == nil {
		c := b.capacityLeft(cpu)
		s.CPUs[cpu].CapNow = c
		g.Capacity, g.MinCapacity, g.MaxCapacity = c, c, c
		return
	}
	var sum, hi int64
	lo := int64(math.MaxInt64)
	if is(d.Child, domain.NUMA) {
		// The child's groups overlap or do not cover this group.
		for c := range d.Groups[0].Span.All() {
			now := s.CPUs[c].CapNow
			sum, lo, hi = sum+now, min(lo, now), max(hi, now)
		}
	} else {
		for _, child := range d.Child.Groups {
			o := &s.Groups[child.ID]
			sum, lo, hi = sum+o.Capacity, min(lo, o.MinCapacity), max(hi, o.MaxCapacity)
		}
	}
	g.Capacity, g.MinCapacity, g.MaxCapacity = sum, lo, hi
}
