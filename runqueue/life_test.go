// SPDX-License-Identifier: Apache-2.0

package runqueue

import (
	"testing"

	"pgregory.net/rapid"

	"sibyl/policy"
)

func task(id int32, nice int) *Entity {
	return &Entity{ID: id, Weight: NiceWeight(nice), Slice: slice}
}

// TestDelayedDequeue follows a sleeper that owes time.
func TestDelayedDequeue(t *testing.T) {
	setup := func() (*Queue, *Entity, *Entity) {
		q := new(Queue)
		q.Init(&policy.Rules{}, tick)
		a, b := task(1, 0), task(2, 0)
		q.Enqueue(a, false)
		q.SetNext(a)
		q.Run(100_000)
		q.Enqueue(b, false)
		q.Run(1_000_000)
		return q, a, b
	}

	// a ran 1 ms since b came, b not at all: a owes half of it.
	q, a, b := setup()
	if !q.Dequeue(a, true) || !a.Delayed || !a.OnRQ || q.Len() != 2 {
		t.Fatalf("a does not stay: %+v", *a)
	}
	if a.VLag != -500_000 {
		t.Errorf("a owes %d", a.VLag)
	}
	if e := q.Pick(); e != b {
		t.Fatalf("%d is picked", e.ID)
	}
	q.PutPrev()
	q.SetNext(b)

	t.Run("paid in full and picked", func(t *testing.T) {
		q, a, b := setup()
		q.Dequeue(a, true)
		q.PutPrev()
		q.SetNext(b)
		q.Run(slice) // b's request is over: a has the earlier deadline
		e := q.Pick()
		if e != a || !e.Delayed {
			t.Fatalf("%v is picked", *e)
		}
		q.Drop(e)
		// a is owed (2.8-1)/2 ms by now, but sleeping earns nothing
		if e.VLag != 0 || e.OnRQ || e.Delayed || q.Len() != 1 {
			t.Errorf("dropped: %+v, %d queued", *e, q.Len())
		}
	})
	t.Run("woken in debt goes on in place", func(t *testing.T) {
		q, a, b := setup()
		q.Dequeue(a, true)
		q.PutPrev()
		q.SetNext(b)
		q.Run(400_000)
		v, deadline := a.VRuntime, a.Deadline
		q.Requeue(a)
		if a.Delayed || a.VRuntime != v || a.Deadline != deadline || a.VLag != -300_000 {
			t.Errorf("%+v", *a)
		}
	})
	t.Run("woken with a claim starts at V", func(t *testing.T) {
		q, a, b := setup()
		q.Dequeue(a, true)
		q.PutPrev()
		q.SetNext(b)
		q.Run(2_000_000)
		q.Requeue(a)
		if a.Delayed || a.VRuntime != b.VRuntime || a.Deadline != a.VRuntime+slice || a.VLag != 0 {
			t.Errorf("%+v, b at %d", *a, b.VRuntime)
		}
	})
	t.Run("others' leaving does not add to the debt", func(t *testing.T) {
		q, a, b := setup()
		c := task(3, 0)
		c.VLag = -3_000_000 // its leaving takes V back
		q.Dequeue(a, true)
		q.Enqueue(c, false)
		debt := a.VLag
		q.Dequeue(c, false)
		b.VRuntime -= 0
		q.PutPrev()
		q.SetNext(b)
		q.DequeueMove(a)
		if a.VLag < debt || a.VLag > 0 {
			t.Errorf("debt of %d became %d", debt, a.VLag)
		}
		if !a.Delayed || !a.RelDeadline {
			t.Errorf("moved: %+v", *a)
		}
	})
	t.Run("not delayed", func(t *testing.T) {
		q, a, _ := setup()
		if q.Dequeue(a, false) || a.Delayed || a.OnRQ || q.Curr() != nil {
			t.Errorf("special state: %+v", *a)
		}
		q, _, b := setup()
		if q.Dequeue(b, true) || b.VLag != 500_000 {
			t.Errorf("eligible: %+v", *b)
		}
		q.Dequeue(q.Curr(), true)
		if q.Len() != 0 || q.Weight() != 0 || q.Pick() != nil {
			t.Errorf("alone: %d queued", q.Len())
		}
	})
}

// TestLagBound: what a sleeper can take along.
func TestLagBound(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules policy.Rules
		nice  int
		other int64 // slice of the other
		want  int64
	}{
		{"own slice and a tick", policy.Rules{}, 0, slice, slice + tick},
		{"the longest queued slice counts", policy.Rules{}, 0, 10_000_000, 14_000_000},
		{"virtual time of a light task", policy.Rules{}, 5, slice, (slice + tick) * 1024 / 335},
		{"row 24: twice the own slice", policy.Rules{SliceLagBound: true}, 0, 10_000_000, 2 * slice},
	} {
		for _, sign := range []int64{1, -1} {
			q := new(Queue)
			q.Init(&tc.rules, tick)
			a, b := task(1, tc.nice), task(2, 0)
			b.Slice = tc.other
			q.Enqueue(a, false)
			q.Enqueue(b, false)
			runs := b
			if sign < 0 {
				runs = a
			}
			q.SetNext(runs)
			q.Run(500_000_000)
			q.Dequeue(a, false)
			if a.VLag != sign*tc.want {
				t.Errorf("%s: a lag of %d, not %d", tc.name, a.VLag, sign*tc.want)
			}
		}
	}
}

// TestProtection: how long a picked entity keeps the CPU.
func TestProtection(t *testing.T) {
	own := policy.Rules{ProtectOwnTime: true}
	for _, tc := range []struct {
		name  string
		rules policy.Rules
		c     *Entity
		other []*Entity
		want  int64
	}{
		{"alone", policy.Rules{}, ent(1, 1000, 3500, 3000), nil, 3500},
		{"equal slices", policy.Rules{}, ent(1, 1000, 3500, 3000), []*Entity{ent(2, 1200, 4000, 3000)}, 3500},
		{"longer slices", policy.Rules{}, ent(1, 1000, 3500, 3000), []*Entity{ent(2, 1200, 4000, 9000)}, 3500},
		{"a shorter slice: while eligible", policy.Rules{}, ent(1, 1000, 3500, 3000), []*Entity{ent(2, 1200, 4000, 3000), ent(3, 1401, 4000, 500)}, 1301},
		{"a shorter slice, eligible past the deadline", policy.Rules{}, ent(1, 1000, 3500, 3000), []*Entity{ent(2, 9000, 9500, 500)}, 3500},
		{"the mean of the others is negative", policy.Rules{}, ent(1, -5000, 3500, 3000), []*Entity{ent(2, -2, 4000, 3000), ent(3, -1, 4000, 500)}, -1},
		{"up to 7.2 a slice that short", own, ent(1, 1000, 3500, 3000), []*Entity{ent(2, 1200, 4000, 3000), ent(3, 1401, 4000, 500)}, 1500},
		{"up to 7.2, the deadline is nearer", own, ent(1, 3400, 3500, 3000), []*Entity{ent(3, 3401, 4000, 500)}, 3500},
		{"6.12", policy.Rules{ProtectToDeadline: true}, ent(1, 1000, 3500, 3000), []*Entity{ent(3, 1401, 4000, 500)}, 3500},
	} {
		q := on(&tc.rules, nil, 0, append(tc.other, tc.c)...)
		q.SetNext(tc.c)
		if tc.c.VProt != tc.want {
			t.Errorf("%s: protected up to %d, not %d", tc.name, tc.c.VProt, tc.want)
		}
		if tc.want < tc.c.Deadline && !tc.rules.ProtectOwnTime {
			tc.c.VRuntime = tc.want
			if q.Eligible(tc.c) {
				t.Errorf("%s: still eligible there", tc.name)
			}
			if tc.c.VRuntime--; !q.Eligible(tc.c) {
				t.Errorf("%s: not eligible just before", tc.name)
			}
		}
	}
}

// TestReschedule: when the running entity makes way by itself.
func TestReschedule(t *testing.T) {
	for _, tc := range []struct {
		name      string
		rules     policy.Rules
		vprot     int64
		exec      int64
		other     *Entity
		run, tick bool
	}{
		{"alone", policy.Rules{}, 0, 5000, nil, false, false},
		{"protected", policy.Rules{}, 3000, 1999, ent(2, 9000, 9500, 3000), false, false},
		{"deadline", policy.Rules{}, 3000, 2000, ent(2, 9000, 9500, 3000), true, true},
		{"protection over", policy.Rules{}, 2000, 1000, ent(2, 9000, 9500, 3000), true, true},
		{"protection over, eligible (6.12)", policy.Rules{ProtectToDeadline: true}, 2000, 1000, ent(2, 9000, 9500, 3000), false, false},
		{"protection over, not eligible (6.12)", policy.Rules{ProtectToDeadline: true}, 2000, 1000, ent(2, 500, 9500, 3000), true, true},
		{"deadline (6.12)", policy.Rules{ProtectToDeadline: true}, 3000, 2000, ent(2, 9000, 9500, 3000), true, false},
	} {
		c := ent(1, 1000, 3000, 3000)
		q := on(&tc.rules, c, tc.vprot)
		if tc.other != nil {
			q.insert(tc.other)
		}
		if got := q.Run(tc.exec); got != tc.run {
			t.Errorf("%s: Run says %t", tc.name, got)
		}
		if got := q.TickResched(); got != tc.tick {
			t.Errorf("%s: TickResched says %t", tc.name, got)
		}
	}
	var q Queue
	q.Init(&policy.Rules{}, tick)
	if q.Run(100) || q.TickResched() || q.SliceLeft() != 0 {
		t.Error("an idle CPU has something to do")
	}
}

// TestSliceLeft is the wall time to the deadline, rounded up.
func TestSliceLeft(t *testing.T) {
	for _, tc := range []struct{ weight, left, want int64 }{
		{1024, 2000, 2000}, {512, 2000, 1000}, {88761, 1, 87}, {3, 1000, 3}, {3, 1, 1}, {1024, 0, 0}, {1024, -5, 0},
	} {
		c := ent(1, 1000, 1000+tc.left, 3000)
		c.Weight = tc.weight
		if got := on(&policy.Rules{}, c, 0).SliceLeft(); got != tc.want {
			t.Errorf("weight %d, %d to go: %d ns, not %d", tc.weight, tc.left, got, tc.want)
		}
	}
}

// TestWeights: the table's anchors, and its step of 1.25.
func TestWeights(t *testing.T) {
	for nice, want := range map[int]int64{-20: 88761, 0: 1024, 5: 335, 19: 15, -99: 88761, 99: 15} {
		if got := NiceWeight(nice); got != want {
			t.Errorf("nice %d weighs %d, not %d", nice, got, want)
		}
	}
	for nice := -20; nice < 19; nice++ {
		a, b := NiceWeight(nice), NiceWeight(nice+1)
		if r := 100 * a / b; r < 119 || r > 133 {
			t.Errorf("nice %d to %d is a factor of %d/100", nice, nice+1, r)
		}
	}
}

// TestBaseSlice has the vectors of mechanisms 10.8.
func TestBaseSlice(t *testing.T) {
	for n, want := range map[int]int64{0: 700_000, 1: 700_000, 2: 1_400_000, 3: 1_400_000, 4: 2_100_000, 7: 2_100_000, 8: 2_800_000, 176: 2_800_000} {
		if got := BaseSlice(n); got != want {
			t.Errorf("%d CPUs: %d ns, not %d", n, got, want)
		}
	}
}

// TestFairness: tasks that always want to run get time in proportion to their
// weights. At no time is one further from its share than the bound of lag, the
// longest request. If the clock is looked at in ticks only, each may overrun by
// one, at the cost of all others.
func TestFairness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := policy.Rules{ProtectToDeadline: rapid.Bool().Draw(t, "6.12"), ProtectOwnTime: rapid.Bool().Draw(t, "7.2")}
		var q Queue
		q.Init(&rules, tick)
		n := rapid.IntRange(2, 5).Draw(t, "tasks")
		tasks, got := make([]*Entity, n), make([]int64, n)
		total, longest := int64(0), int64(0)
		for i := range tasks {
			tasks[i] = task(int32(i), rapid.IntRange(-20, 19).Draw(t, "nice"))
			if rapid.Bool().Draw(t, "own slice") {
				tasks[i].Slice = rapid.Int64Range(100_000, 100_000_000).Draw(t, "slice")
			}
			total += tasks[i].Weight
			longest = max(longest, tasks[i].Slice)
			q.Enqueue(tasks[i], true)
		}
		hrtick := rapid.Bool().Draw(t, "HRTICK")
		bound := longest + 10_000
		if !hrtick {
			bound += int64(n) * tick
		}
		now := int64(0)
		for now < 2_000_000_000 {
			if e := q.Pick(); e != q.Curr() {
				q.PutPrev()
				q.SetNext(e)
			}
			run := tick - now%tick
			if hrtick {
				run = min(run, max(q.SliceLeft(), 1))
			}
			got[q.Curr().ID] += run
			now += run
			q.Run(run)
			for i, e := range tasks {
				want := now / total * e.Weight // rounded, far below the bound
				if d := got[i] - want; d > bound || d < -bound {
					t.Fatalf("at %d ns task %d of weight %d in %d has had %d ns, its share is %d", now, i, e.Weight, total, got[i], want)
				}
			}
		}
	})
}

// TestSchedIdle: a SCHED_IDLE task beside a normal one gets 3/1027 of the CPU.
func TestSchedIdle(t *testing.T) {
	var q Queue
	q.Init(&policy.Rules{}, tick)
	a, b := task(1, 0), task(2, 0)
	as("idle", b)
	q.Enqueue(b, false)
	q.SetNext(b)
	q.Run(1_000_000)
	q.Enqueue(a, false)
	if !q.WakeupPreempt(a, false) {
		t.Error("a SCHED_IDLE task keeps the CPU")
	}
	if e := q.Pick(); e != a {
		t.Errorf("%d is picked", e.ID)
	}
	var got [3]int64
	for range 100_000 {
		e := q.Pick()
		if e != q.Curr() {
			q.PutPrev()
			q.SetNext(e)
		}
		q.Run(tick)
		got[e.ID] += tick
	}
	if share := got[2] * 1027 / (got[1] + got[2]); share < 2 || share > 4 {
		t.Errorf("the SCHED_IDLE task got %d of 1027 parts", share)
	}
}

// TestLeaveAndJoin: whoever leaves and comes back finds everybody's lag as it
// was: lags of all sum to nothing, and the leaver's is kept.
func TestLeaveAndJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		q.Init(&policy.Rules{}, tick)
		n := rapid.IntRange(2, 6).Draw(t, "tasks")
		tasks := make([]*Entity, n)
		for i := range tasks {
			tasks[i] = task(int32(i), rapid.IntRange(-10, 10).Draw(t, "nice"))
			tasks[i].VLag = rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "lag")
			q.Enqueue(tasks[i], false)
		}
		lags := func() (out []int64) {
			sum, v := int64(0), q.AvgVRuntime()
			for _, e := range tasks {
				out = append(out, v-e.VRuntime)
				sum += e.Weight * (v - e.VRuntime)
			}
			if sum > 0 || sum <= -q.Weight() { // V is rounded down
				t.Fatalf("weighted lags sum to %d", sum)
			}
			return out
		}
		before := lags()
		e := rapid.SampledFrom(tasks).Draw(t, "leaver")
		bound := vdelta(slice+tick, e.Weight)
		if l := before[e.ID]; l > bound || l < -bound {
			return // some of it is lost
		}
		q.Dequeue(e, false)
		others := q.Weight()
		q.Enqueue(e, false)
		for i, l := range lags() {
			// e is placed in whole ns, and moves the mean by its weight
			slack := 3 + 2*e.Weight/others
			if d := l - before[i]; d < -slack || d > slack {
				t.Fatalf("lag of %d was %d, is %d", i, before[i], l)
			}
		}
	})
}
