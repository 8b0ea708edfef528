// SPDX-License-Identifier: Apache-2.0

package pelt

import "testing"

// TestClock: speed while busy, catching up at idle.
func TestClock(t *testing.T) {
	var c Clock
	at := func(want int64) {
		t.Helper()
		if got := c.Now(); got != want {
			t.Errorf("the clock reads %d, not %d", got, want)
		}
	}
	at(0)
	c.Advance(1000, 1024, 1024)
	at(1000)
	c.Advance(1000, 512, 1024)
	at(1500)
	c.Advance(1000, 512, 256)
	at(1625)
	c.Advance(3, 1023, 1024) // rounds down, at each factor
	at(1627)
	c.Sync(4000, false)
	at(4000)
	c.Advance(1000, 512, 1024)
	c.Sync(5000, true) // 500 ns of work that did not fit
	at(4500)
	c.Sync(6000, false) // idle time after it
	at(5500)
}

// run lets a task be busy for the first part of each stretch of wall time on a
// CPU of the given capacity, with work in ns of a full CPU, and returns the
// task's utilisation after a second.
func run(capacity, work, every int64) int64 {
	var c Clock
	q, e := Avg{}, Avg{Weight: 1024}
	for now := int64(0); now < 1000*ms; now += every {
		busy := min(every, work*1024/capacity)
		c.Advance(busy, capacity, 1024)
		e.UpdateEntity(c.Now(), 1024, true, true)
		q.UpdateQueue(c.Now(), 1024, 1, true)
		if busy < every {
			c.Sync(now+busy, q.Saturated())
			c.Sync(now+every, false)
			e.UpdateBlocked(c.Now())
			q.UpdateQueue(c.Now(), 0, 0, false)
		}
	}
	return e.UtilAvg
}

// TestInvariance: the same work has the same utilisation on a CPU of half the
// capacity while it leaves idle time, and tends to 1024 once it does not.
func TestInvariance(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		capacity, work, every int64
		lo, hi                int64
	}{
		{"a quarter of a full CPU", 1024, 4 * ms, 16 * ms, 220, 260},
		{"the same on half a CPU", 512, 4 * ms, 16 * ms, 220, 260},
		{"nearly all of half a CPU", 512, 7 * ms, 16 * ms, 400, 460},
		{"all of half a CPU", 512, 8 * ms, 16 * ms, 1015, 1024},
	} {
		if got := run(tc.capacity, tc.work, tc.every); got < tc.lo || got > tc.hi {
			t.Errorf("%s: utilisation %d, not in %d to %d", tc.name, got, tc.lo, tc.hi)
		}
	}
}

// TestSaturated: only a queue that was never idle is.
func TestSaturated(t *testing.T) {
	var a Avg
	for now := int64(1); now <= 1000; now++ {
		a.UpdateQueue(now*ms, 1024, 1, true)
	}
	if !a.Saturated() {
		t.Errorf("a sum of %d is not the maximum", a.UtilSum)
	}
	a.UpdateQueue(1002*ms, 0, 0, false)
	if a.Saturated() {
		t.Error("still, after two idle periods")
	}
}
