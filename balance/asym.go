// SPDX-License-Identifier: Apache-2.0

package balance

import "sibyl/domain"

// The predicates of asymmetric packing (mechanisms 7.6). Between cores a
// priority counts only if the whole destination core is idle; inside a core it
// always does.

// usePrio is sched_use_asym_prio.
func (b *Balancer) usePrio(d *domain.Domain, c int) bool {
	return is(d, domain.AsymPacking) &&
		(!b.s.H.SMTActive || is(d, domain.ShareCPUCapacity) || b.s.RestIdle(c))
}

// prefer is sched_asym_prefer: a has the higher priority.
func (b *Balancer) prefer(a, c int) bool { return b.s.H.Priority[a] > b.s.H.Priority[c] }

// asymMove is sched_asym: may priorities move a task from src to dst?
func (b *Balancer) asymMove(d *domain.Domain, dst, src int) bool {
	return b.usePrio(d, dst) && b.prefer(dst, src)
}

// asymGroup is sched_group_asym: may priorities move a task from group g, of
// which busy CPUs are busy, to dst? A core with more than one busy thread has
// no priority worth comparing.
func (b *Balancer) asymGroup(d *domain.Domain, dst int, g *domain.Group, busy int) bool {
	if g.Flags&domain.ShareCPUCapacity != 0 && busy != 1 {
		return false
	}
	return b.asymMove(d, dst, g.AsymPreferCPU)
}
