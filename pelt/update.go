// SPDX-License-Identifier: Apache-2.0

package pelt

import "math/bits"

const (
	// Max is LOAD_AVG_MAX: the sum of a signal that was always on.
	Max = 47742
	// period is one PELT period in units of 1024 ns.
	period = 1024
	// halfLife is the number of periods after which a contribution counts
	// half (y^32 = 1/2).
	halfLife = 32
	// clockShift turns ns into PELT's time units.
	clockShift = 10
	// minDivider is the divider of averages at a period's very start.
	minDivider = Max - period
)

// divider is get_pelt_divider: the largest sum at this point of a period.
func (a *Avg) divider() uint64 { return minDivider + uint64(a.PeriodContrib) }

// decay is decay_load: v times y^n.
func decay(v uint64, n uint64) uint64 {
	if n > halfLife*63 {
		return 0
	}
	if n >= halfLife {
		v >>= n / halfLife
		n %= halfLife
	}
	hi, lo := bits.Mul64(v, uint64(yPowers[n]))
	return hi<<32 | lo>>32
}

// segments is __accumulate_pelt_segments: the contribution of a signal of one
// that was on for n period borders, d1 before the first and d3 after the last.
func segments(n uint64, d1, d3 uint32) uint64 {
	c1 := decay(uint64(d1), n)
	c2 := Max - decay(Max, n) - period
	return c1 + c2 + uint64(d3)
}

// accumulate brings the sums up to now. load, runnable and running scale what
// is added. It returns whether a period ended, so that averages change.
func (a *Avg) accumulate(now int64, load, runnable uint64, running bool) bool {
	delta := now - a.LastUpdate
	if delta < 0 { // the clock of another CPU
		a.LastUpdate = now
		return false
	}
	d := uint64(delta) >> clockShift
	if d == 0 {
		return false
	}
	a.LastUpdate += int64(d << clockShift)
	if load == 0 {
		runnable, running = 0, false
	}
	contrib := d
	total := d + uint64(a.PeriodContrib)
	periods := total / period
	if periods != 0 {
		a.LoadSum = decay(a.LoadSum, periods)
		a.RunnableSum = decay(a.RunnableSum, periods)
		a.UtilSum = decay(a.UtilSum, periods)
		rest := uint32(total % period)
		if load != 0 {
			contrib = segments(periods, period-a.PeriodContrib, rest)
		}
		a.PeriodContrib = rest
	} else {
		a.PeriodContrib = uint32(total)
	}
	if load != 0 {
		a.LoadSum += load * contrib
	}
	if runnable != 0 {
		a.RunnableSum += runnable * contrib << 10
	}
	if running {
		a.UtilSum += contrib << 10
	}
	return periods != 0
}

// average recomputes the averages; load is the weight of LoadSum.
func (a *Avg) average(load uint64) {
	div := a.divider()
	a.LoadAvg = int64(load * a.LoadSum / div)
	a.RunnableAvg = int64(a.RunnableSum / div)
	a.UtilAvg = int64(a.UtilSum / div)
}

// UpdateEntity is __update_load_avg_se: a task that is, or is not, queued and
// running since the last update. now is on the run queue's clock, weight the
// load weight. It returns whether the averages were recomputed.
func (a *Avg) UpdateEntity(now, weight int64, queued, running bool) bool {
	var on uint64
	if queued {
		on = 1
	}
	if !a.accumulate(now, on, on, running) {
		return false
	}
	a.average(uint64(weight))
	return true
}

// UpdateBlocked is __update_load_avg_blocked_se: a task that slept. The weight
// is the one that LoadAvg was computed with.
func (a *Avg) UpdateBlocked(now int64) bool {
	weight := int64(0)
	if a.LoadSum != 0 {
		weight = (a.LoadAvg*int64(a.divider()) + int64(a.LoadSum) - 1) / int64(a.LoadSum)
	}
	return a.UpdateEntity(now, weight, false, false)
}

// UpdateQueue is __update_load_avg_cfs_rq: weight is the queue's load weight,
// whose tasks' LoadSum it holds.
func (a *Avg) UpdateQueue(now, weight int64, hNrRunnable int, running bool) bool {
	if !a.accumulate(now, uint64(max(0, weight)), uint64(max(0, hNrRunnable)), running) {
		return false
	}
	a.average(1)
	return true
}

// Attach is attach_entity_load_avg: the queue's averages take the task in. The
// task's sums are laid out anew on the queue's place in its period.
func (a *Avg) Attach(e *Avg) {
	div := a.divider()
	weight := uint64(0)
	if e.LoadSum != 0 {
		weight = (uint64(e.LoadAvg)*e.divider() + e.LoadSum - 1) / e.LoadSum
	}
	e.LastUpdate = a.LastUpdate
	e.PeriodContrib = a.PeriodContrib
	e.UtilSum = uint64(e.UtilAvg) * div
	e.RunnableSum = uint64(e.RunnableAvg) * div
	e.LoadSum = uint64(e.LoadAvg) * div
	if weight > 0 && weight < e.LoadSum {
		e.LoadSum /= weight
	} else {
		e.LoadSum = min(e.LoadSum, 1)
	}
	a.LoadAvg += e.LoadAvg
	a.LoadSum += weight * e.LoadSum
	a.UtilAvg += e.UtilAvg
	a.UtilSum += e.UtilSum
	a.RunnableAvg += e.RunnableAvg
	a.RunnableSum += e.RunnableSum
}

// Detach takes a task's averages out of the queue's (detach_entity_load_avg);
// what rounding would make negative is floored.
func (a *Avg) Detach(e *Avg) {
	a.LoadAvg = max(0, a.LoadAvg-e.LoadAvg)
	a.UtilAvg = max(0, a.UtilAvg-e.UtilAvg)
	a.RunnableAvg = max(0, a.RunnableAvg-e.RunnableAvg)
	a.LoadSum = floor(a.LoadSum, uint64(e.LoadAvg)*a.divider(), a.LoadAvg)
	a.UtilSum = floor(a.UtilSum, e.UtilSum, a.UtilAvg)
	a.RunnableSum = floor(a.RunnableSum, e.RunnableSum, a.RunnableAvg)
}

// floor subtracts part from sum, but not below what the average stands for.
func floor(sum, part uint64, avg int64) uint64 {
	if part > sum {
		sum = 0
	} else {
		sum -= part
	}
	return max(sum, uint64(avg)*minDivider)
}

// InitTask is init_entity_runnable_average: full load, no utilisation.
func InitTask(weight int64) Avg { return Avg{LoadAvg: weight, LoadSum: minDivider} }

// PostInit is post_init_entity_util_avg, after a new task was placed: its
// utilisation is a share of its queue's, at most half of what is spare.
func PostInit(e, q *Avg, weight, capMax int64) {
	spare := (capMax - q.UtilAvg) / 2
	if spare > 0 {
		if q.UtilAvg != 0 {
			e.UtilAvg = min(q.UtilAvg*weight/(q.LoadAvg+1), spare)
		} else {
			e.UtilAvg = spare
		}
	}
	e.RunnableAvg = e.UtilAvg
}

// UtilEst is the estimate after an activation ends (util_est_update,
// mechanisms 9.5). keepAbove leaves a falling estimate alone when the
// utilisation is above the CPU's capacity (0.3 row 28).
func UtilEst(est, util, runnable, capMax int64, keepAbove bool) int64 {
	switch {
	case util >= est:
		return util
	case est-util < 10, keepAbove && util > capMax, util+10 < runnable:
		return est
	}
	return (4*est - (est - util)) >> 2
}
