// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/domain"
	"sibyl/placement"
)

// busier is update_sd_pick_busiest (mechanisms 7.4): does group g, with the
// statistics st, replace the busiest group found so far?
func (b *Balancer) busier(g *domain.Group, st *groupStats) bool {
	s, sds := b.s, &b.sds
	if st.hNr == 0 {
		return false
	}
	asym := sds.asymCapacity
	gc := &s.Groups[g.ID]
	dstCap := s.CPUs[b.env.dst].CapNow
	if asym && st.typ == MisfitTask {
		switch {
		case !b.r.MisfitPullAnyCore && !sds.dstCoreIdle,
			!placement.CapGreater(dstCap, gc.MaxCapacity),
			sds.localStats.typ != HasSpare:
			return false
		}
	}
	// Tasks that have a CPU each had better not move to a smaller one.
	downward := asym && st.typ <= FullyBusy && placement.CapGreater(gc.MinCapacity, dstCap)
	if downward && !b.r.MinCapacityTestLast {
		return false
	}
	if st.typ != sds.busiestStats.typ {
		return st.typ > sds.busiestStats.typ
	}
	return b.busierOfType(g, st) && !downward
}

// busierOfType compares two groups of one type.
func (b *Balancer) busierOfType(g *domain.Group, st *groupStats) bool {
	sds := &b.sds
	best := &sds.busiestStats
	switch st.typ {
	case Overloaded:
		return st.avgLoad > best.avgLoad
	case Imbalanced:
		return false
	case AsymPacking:
		// Take from the lowest priority.
		return b.prefer(sds.busiest.AsymPreferCPU, g.AsymPreferCPU)
	case MisfitTask:
		return st.misfit > best.misfit
	case SMTBalance:
		if st.idle != 0 || best.idle != 0 {
			return fewerIdle(st, best)
		}
		return fullyBusier(st, best, sds.busiest)
	case FullyBusy:
		return fullyBusier(st, best, sds.busiest)
	}
	if smtDiffers(sds.busiest, g) {
		// A core with one busy thread is not emptied in favour of a
		// single CPU's tasks.
		return g.Flags&domain.ShareCPUCapacity == 0 || st.hNr > 1
	}
	return fewerIdle(st, best)
}

// fullyBusier: average loads are 0 for groups that are not overloaded, so that
// a later group replaces an earlier one unless that is an SMT core.
func fullyBusier(st, best *groupStats, bestGroup *domain.Group) bool {
	if st.avgLoad != best.avgLoad {
		return st.avgLoad > best.avgLoad
	}
	return bestGroup.Flags&domain.ShareCPUCapacity == 0
}

// fewerIdle: fewer idle CPUs, or as many and more tasks.
func fewerIdle(st, best *groupStats) bool {
	if st.idle != best.idle {
		return st.idle < best.idle
	}
	return st.nr > best.nr
}

// smtDiffers is smt_vs_nonsmt_groups: exactly one of the two is an SMT core.
// It is false if one does not exist.
func smtDiffers(a, g *domain.Group) bool {
	return a != nil && g != nil && (a.Flags^g.Flags)&domain.ShareCPUCapacity != 0
}
