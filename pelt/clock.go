// SPDX-License-Identifier: Apache-2.0

package pelt

// Clock is rq->clock_pelt: it runs at the speed of the work that the CPU can
// do, so that averages do not depend on capacity and frequency, and catches up
// with the wall clock when the CPU idles. The zero value reads 0.
type Clock struct {
	raw  int64 // clock_pelt, ns
	lost int64 // lost_idle_time, ns
}

// Advance lets delta ns of wall time pass on a busy CPU of the given capacity
// and relative frequency (1024 is full).
func (c *Clock) Advance(delta, capMax, freq int64) {
	if capMax == 1024 && freq == 1024 {
		c.raw += delta
		return
	}
	c.raw += (delta * capMax >> 10) * freq >> 10
}

// Sync sets the clock to now, the wall clock, at idle entry and while idle.
// full says that the CPU's utilisation was at its maximum: then the gap is not
// idle time but work that did not fit, and is written off.
func (c *Clock) Sync(now int64, full bool) {
	if full {
		c.lost += now - c.raw
	}
	c.raw = now
}

// Now returns the clock in ns.
func (c *Clock) Now() int64 { return c.raw - c.lost }

// Saturated tells whether a queue's utilisation is at its maximum
// (update_idle_rq_clock_pelt): such a CPU was never idle while it mattered.
func (a *Avg) Saturated() bool { return a.UtilSum >= minDivider<<10-Max }
