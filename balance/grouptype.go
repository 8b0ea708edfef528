// SPDX-License-Identifier: Apache-2.0

package balance

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
	case isOverloaded(st, pct):
		return Overloaded
	case pinned:
		return Imbalanced
	case st.asymPacking:
		return AsymPacking
	case st.smtBalance:
		return SMTBalance
	case st.misfit != 0:
		return MisfitTask
	case !hasCapacity(st, pct):
		return FullyBusy
	}
	return HasSpare
}

// isOverloaded is group_is_overloaded: more tasks than CPUs, and next to no
// capacity left.
func isOverloaded(st *groupStats, pct int64) bool {
	if st.nr <= st.weight {
		return false
	}
	return st.capacity*100 < st.util*pct || st.capacity*pct < st.runnable*100
}

// hasCapacity is group_has_capacity. Utilisation decides only if every CPU
// could have a task; the mean of waiting comes first.
func hasCapacity(st *groupStats, pct int64) bool {
	if st.nr < st.weight {
		return true
	}
	if st.capacity*pct < st.runnable*100 {
		return false
	}
	return st.capacity*100 > st.util*pct
}
