// SPDX-License-Identifier: Apache-2.0

package pelt

// Clock is rq->clock_pelt: it runs at the speed of the work that the CPU can
// do, so that utilisation does not depend on capacity and frequency, and is
// set to the wall (task) clock while the CPU idles. So a task that leaves idle
// time gets the same utilisation on every CPU, and one that leaves none still
// tends to 1024, only more slowly. The zero value reads 0.
type Clock struct {
	raw  int64 // clock_pelt, ns
	lost int64 // lost_idle_time, ns
}

// Advance lets delta ns of wall time pass on a busy CPU of capacity capMax
// (arch_scale_cpu_capacity) and relative frequency freq, both 1024 at full
// speed (update_rq_clock_pelt).
func (c *Clock) Advance(delta, capMax, freq int64) {
	if capMax != 1024 {
		delta = delta * capMax >> 10
	}
	if freq != 1024 {
		delta = delta * freq >> 10
	}
	c.raw += delta
}

// Sync sets the clock to now, the wall clock, at idle entry and while idle
// (update_idle_rq_clock_pelt). full is for idle entry only and says that the
// queue is Saturated: then what the clock lags behind is not idle time but
// work that did not fit, and is written off. While the CPU idles on, full must
// be false, or idle time would be written off too.
func (c *Clock) Sync(now int64, full bool) {
	if full {
		c.lost += now - c.raw
	}
	c.raw = now
}

// Now returns the clock in ns (rq_clock_pelt).
func (c *Clock) Now() int64 { return c.raw - c.lost }

// Saturated tells whether the queue's utilisation is at its maximum: it has
// never been idle for as long as the average remembers.
func (a *Avg) Saturated() bool { return a.UtilSum >= minDivider<<scaleShift-Max }
