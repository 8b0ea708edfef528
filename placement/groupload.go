// SPDX-License-Identifier: Apache-2.0

package placement

// GroupLoad is what the two tests of a group's fullness read. The slow path and
// load balance gather their statistics differently and ask the same questions.
type GroupLoad struct {
	Running, Weight          int64 // tasks and CPUs
	Capacity, Util, Runnable int64 // on the 1024 scale, summed over the CPUs
}

// Overloaded is group_is_overloaded: more tasks than CPUs, and next to no
// capacity left. pct is the domain's imbalance_pct.
func (g GroupLoad) Overloaded(pct int64) bool {
	if g.Running <= g.Weight {
		return false
	}
	return g.Capacity*100 < g.Util*pct || g.Capacity*pct < g.Runnable*100
}

// HasCapacity is group_has_capacity. Utilisation decides only if every CPU could
// have a task; the mean of waiting comes first.
func (g GroupLoad) HasCapacity(pct int64) bool {
	if g.Running < g.Weight {
		return true
	}
	if g.Capacity*pct < g.Runnable*100 {
		return false
	}
	return g.Capacity*100 > g.Util*pct
}
