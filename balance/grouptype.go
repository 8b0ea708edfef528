// SPDX-License-Identifier: Apache-2.0

package balance

import "sibyl/placement"

// GroupType is enum group_type: how busy a group is, ascending by how urgently
// it needs to give tasks away.
type GroupType uint8

// The group types. The kernel's llc_balance, between imbalanced and
// overloaded, is left out.
const (
	HasSpare GroupType = iota
	FullyBusy
	MisfitTask
	SMTBalance
	AsymPacking
	Imbalanced
	Overloaded
)

// String returns the kernel's name without its prefix group_.
func (t GroupType) String() string {
	return [...]string{"has_spare", "fully_busy", "misfit_task", "smt_balance", "asym_packing", "imbalanced", "overloaded"}[t]
}

// classify is group_classify: the first type that matches. pinned is the
// group's imbalance flag, pct the domain's imbalance_pct.
func classify(st *groupStats, pinned bool, pct int64) GroupType {
	switch {
	case st.fullness().Overloaded(pct):
		return Overloaded
	case pinned:
		return Imbalanced
	case st.asymPacking:
		return AsymPacking
	case st.smtBalance:
		return SMTBalance
	case st.misfit != 0:
		return MisfitTask
	case !st.fullness().HasCapacity(pct):
		return FullyBusy
	}
	return HasSpare
}

// fullness is what group_is_overloaded and group_has_capacity read.
func (st *groupStats) fullness() placement.GroupLoad {
	return placement.GroupLoad{
		Running: st.nr, Weight: st.weight, Capacity: st.capacity, Util: st.util, Runnable: st.runnable,
	}
}
