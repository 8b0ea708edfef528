// SPDX-License-Identifier: Apache-2.0

package pelt

import (
	"math"
	"math/bits"
)

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
	// scaleShift is SCHED_CAPACITY_SHIFT: runnable and util sums are in
	// 1/1024 of a CPU.
	scaleShift = 10
	// minDivider is PELT_MIN_DIVIDER: the divider of averages at a period's
	// very start.
	minDivider = Max - period
	niceZero   = 1024
)

// divider is get_pelt_divider: the largest sum at this point of a period.
func (a *Avg) divider() uint64 { return minDivider + uint64(a.PeriodContrib) }

// decay is decay_load: v times y^n. It rounds down, also for n = 0. After 63
// half-lives nothing is left.
func decay(v, n uint64) uint64 {
	hi, lo := bits.Mul64(v>>(n/halfLife), uint64(yPowers[n%halfLife]))
	return hi<<32 | lo>>32
}

// segments is __accumulate_pelt_segments: the contribution of a signal of one
// that was on over n > 0 ends of periods, d1 units before the first and d3
// after the last:
//
//	d1*y^n + 1024*(y^(n-1) + ... + y) + d3
//
// The middle term comes from 1024 * (1 + y + ...) = Max.
func segments(n, d1, d3 uint64) uint64 {
	return decay(d1, n) + Max - decay(Max, n) - period + d3
}

// accumulate is ___update_load_sum: it brings the sums up to now. load,
// runnable and running are what the signals were worth since the last update;
// without load there is no runnable and no running. It returns whether a period
// ended, so that the averages are due.
func (a *Avg) accumulate(now int64, load, runnable, running uint64) bool {
	delta := now - a.LastUpdate
	if delta < 1<<clockShift {
		if delta < 0 { // the clock of another CPU
			a.LastUpdate = now
		}
		return false
	}
	units := uint64(delta) >> clockShift
	a.LastUpdate += int64(units << clockShift)
	if load == 0 {
		runnable, running = 0, 0
	}
	total := uint64(a.PeriodContrib) + units
	if total >= period {
		units = a.roll(total, load != 0)
	} else {
		a.PeriodContrib = uint32(total)
	}
	a.LoadSum += load * units
	a.RunnableSum += runnable * units << scaleShift
	a.UtilSum += running * units << scaleShift
	return total >= period
}

// roll lets the sums decay by the periods that end when total units have gone
// since the present one began, and begins the last. It returns what a signal
// of one, if it was on, contributed.
func (a *Avg) roll(total uint64, on bool) (units uint64) {
	n, rest := total/period, total%period
	a.LoadSum = decay(a.LoadSum, n)
	a.RunnableSum = decay(a.RunnableSum, n)
	a.UtilSum = decay(a.UtilSum, n)
	if on {
		units = segments(n, period-uint64(a.PeriodContrib), rest)
	}
	a.PeriodContrib = uint32(rest)
	return units
}

// average is ___update_load_avg: the averages of the present sums. load is the
// weight that LoadSum is to be multiplied with.
func (a *Avg) average(load uint64) {
	at := a.PeriodContrib
	a.LoadAvg = int64(quotient(load*a.LoadSum, at))
	a.RunnableAvg = int64(quotient(a.RunnableSum, at))
	a.UtilAvg = int64(quotient(a.UtilSum, at))
}

// reciprocals[p] is 2^64/(minDivider+p), rounded up. The division of the
// averages is the dearest part of an update; three multiplications take a
// quarter of its time.
var reciprocals = func() (r [period]uint64) {
	for p := range r {
		r[p] = math.MaxUint64/(minDivider+uint64(p)) + 1
	}
	return r
}()

// quotient is v divided by the divider at unit at of a period, rounded down.
// A reciprocal is less than 1 too large, so for v below 2^48 the product is
// less than 2^-16 too large, and no quotient is that close below an integer.
func quotient(v uint64, at uint32) uint64 {
	if v>>48 != 0 || at >= period {
		return v / (minDivider + uint64(at))
	}
	q, _ := bits.Mul64(v, reciprocals[at])
	return q
}
