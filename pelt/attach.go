// SPDX-License-Identifier: Apache-2.0

package pelt

// Attach is attach_entity_load_avg: the queue's averages take the task e in.
// e moves to the queue's clock and place in the period, and its sums are laid
// out anew there so that its averages stay what they are. Both must be up to
// date.
func (a *Avg) Attach(e *Avg) {
	div, weight := a.divider(), e.weight()
	e.LastUpdate, e.PeriodContrib = a.LastUpdate, a.PeriodContrib
	e.UtilSum = uint64(e.UtilAvg) * div
	e.RunnableSum = uint64(e.RunnableAvg) * div
	e.LoadSum = 1
	if load := uint64(e.LoadAvg) * div; weight < load {
		e.LoadSum = load / weight
	}
	a.LoadAvg += e.LoadAvg
	a.LoadSum += weight * e.LoadSum
	a.UtilAvg += e.UtilAvg
	a.UtilSum += e.UtilSum
	a.RunnableAvg += e.RunnableAvg
	a.RunnableSum += e.RunnableSum
}

// Detach is detach_entity_load_avg: it takes the task e's part out of the
// queue's averages. Queue and task are rounded apart from each other, so
// nothing goes below zero, and no sum below what its average stands for.
// For a sleeper that was removed from another CPU (remove_entity_load_avg) the
// kernel rebuilds the sums from the averages, which differs by less than one in
// an average.
func (a *Avg) Detach(e *Avg) {
	a.LoadAvg = max(0, a.LoadAvg-e.LoadAvg)
	a.UtilAvg = max(0, a.UtilAvg-e.UtilAvg)
	a.RunnableAvg = max(0, a.RunnableAvg-e.RunnableAvg)
	a.LoadSum = less(a.LoadSum, e.weight()*e.LoadSum, a.LoadAvg)
	a.UtilSum = less(a.UtilSum, e.UtilSum, a.UtilAvg)
	a.RunnableSum = less(a.RunnableSum, e.RunnableSum, a.RunnableAvg)
}

// less subtracts part from sum, but not below what the average avg stands for
// at the start of a period.
func less(sum, part uint64, avg int64) uint64 {
	if part > sum {
		sum = part
	}
	return max(sum-part, uint64(avg)*minDivider)
}

// InitTask is init_entity_runnable_average: a new task counts as one that was
// always runnable until it has a history, but has no utilisation yet. weight
// is its load weight.
func InitTask(weight int64) Avg {
	return Avg{LoadAvg: weight, LoadSum: minDivider, Weight: weight}
}

// PostInit is post_init_entity_util_avg, after the new task e was placed on
// the queue q and before it is attached: its utilisation is the queue's per
// unit of load, but at most half of what is spare of capMax, the CPU's
// capacity. It stays 0 if nothing is spare.
func PostInit(e, q *Avg, weight, capMax int64) {
	if spare := (capMax - q.UtilAvg) / 2; spare > 0 {
		e.UtilAvg = spare
		if q.UtilAvg != 0 {
			e.UtilAvg = min(spare, q.UtilAvg*weight/(q.LoadAvg+1))
		}
	}
	e.RunnableAvg = e.UtilAvg
}
