// SPDX-License-Identifier: Apache-2.0

package runqueue

import (
	"testing"

	"sibyl/policy"
)

// ent is a nice 0 entity in small numbers: vruntime, deadline, slice.
func ent(id int32, v, deadline, slice int64) *Entity {
	return &Entity{ID: id, Weight: NiceZero, VRuntime: v, Deadline: deadline, Slice: slice, OnRQ: true}
}

// on returns a queue with the current entity c, protected up to vprot, and the
// others queued.
func on(r *policy.Rules, c *Entity, vprot int64, others ...*Entity) *Queue {
	q := new(Queue)
	q.Init(r, tick)
	if c != nil {
		c.VProt = vprot
		q.curr = c
	}
	for _, e := range others {
		q.insert(e)
	}
	return q
}

// as turns e into a task of another policy.
func as(kind string, e *Entity) *Entity {
	switch kind {
	case "idle":
		e.Idle, e.Weight = true, SchedIdleWeight
	case "batch":
		e.Batch = true
	case "delayed":
		e.Delayed = true
	case "":
	default:
		panic(kind)
	}
	return e
}

// TestWakeupPreempt has a row for each rule of mechanisms 9.3 and its forms of
// row 26. The current entity c has slice 3000 and deadline 3000; x, with
// vruntime 4000 and slice 500, keeps c and p eligible unless a row says that
// it does not, and is what protection is shortened to.
func TestWakeupPreempt(t *testing.T) {
	r73, r72, r612 := policy.Rules{}, policy.Rules{ProtectOwnTime: true, PreemptByPick: true}, policy.Rules{ProtectToDeadline: true, OldPreempt: true, SliceLagBound: true}
	far := func() *Entity { return ent(9, 4000, 9000, 500) }
	for _, tc := range []struct {
		name  string
		rules policy.Rules
		c     *Entity
		vprot int64
		p, x  *Entity
		fork  bool
		want  bool
		// protection of c afterwards, the buddy
		after int64
		buddy bool
	}{
		{"idle c, normal p", r73, as("idle", ent(1, 1000, 3000, 3000)), 3000, ent(2, 1500, 5000, 3000), far(), false, true, 1000, false},
		{"idle c, forked p", r73, as("idle", ent(1, 1000, 3000, 3000)), 3000, ent(2, 1500, 5000, 3000), far(), true, true, 1000, false},
		{"idle c, batch p", r73, as("idle", ent(1, 1000, 3000, 3000)), 3000, as("batch", ent(2, 1500, 5000, 3000)), far(), false, true, 1000, false},
		{"idle c (6.12): preempted, but may be picked again", r612, as("idle", ent(1, 1000, 3000, 3000)), 3000, ent(2, 1500, 5000, 3000), far(), false, true, 3000, false},

		{"normal c, idle p", r73, ent(1, 1000, 3000, 3000), 3000, as("idle", ent(2, 900, 2000, 3000)), far(), false, false, 1500, false},
		{"idle c, idle p", r73, as("idle", ent(1, 1000, 3000, 3000)), 1_000_000, as("idle", ent(2, 900, 2000, 3000)), far(), false, false, 1000 + 500*1024/3, false},
		{"batch p, unprotected c", r73, ent(1, 1000, 3000, 3000), 1000, as("batch", ent(2, 900, 2000, 3000)), far(), false, false, 1000, false},
		{"batch p, ineligible c: counted from V", r73, ent(1, 1000, 3000, 3000), 3000, as("batch", ent(2, 100, 2000, 3000)), ent(9, 400, 9000, 500), false, false, 500 + 500, false},
		{"batch p (7.2) leaves the protection", r72, ent(1, 1000, 3000, 3000), 3000, as("batch", ent(2, 100, 2000, 3000)), ent(9, 400, 9000, 500), false, false, 3000, false},
		{"delayed p", r73, ent(1, 1000, 3000, 3000), 1000, as("delayed", ent(2, 900, 2000, 3000)), far(), false, false, 1000, false},
		{"delayed p with a short slice", r73, ent(1, 1000, 3000, 3000), 3000, as("delayed", ent(2, 900, 2000, 400)), far(), false, false, 1400, false},
		{"delayed p (6.12) is like others", r612, ent(1, 1000, 3000, 3000), 1000, as("delayed", ent(2, 900, 2000, 3000)), far(), false, true, 1000, false},

		{"short p, picked", r73, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 600), far(), false, true, 1000, true},
		{"short p, merely eligible", r73, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 600), far(), false, true, 1000, true},
		{"short p, merely eligible (7.2)", r72, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 600), far(), false, false, 1500, false},
		{"short p, picked (7.2)", r72, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 600), far(), false, true, 1000, false},
		{"short p, earlier deadline (6.12)", r612, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 600), far(), false, true, 1000, false},
		{"short p, later deadline (6.12)", r612, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 600), far(), false, false, 3000, false},
		{"short p, earlier deadline, another earlier still (6.12): protection is gone all the same", r612, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 600), ent(9, 950, 1000, 500), false, false, 1000, false},
		{"short p, not eligible", r73, ent(1, 1000, 3000, 3000), 3000, ent(2, 1500, 2000, 600), ent(9, 1000, 9000, 500), false, false, 1500, false},
		{"short p, forked", r73, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 600), far(), true, true, 1000, true},
		{"slice as long as that of c is not short", r73, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 3000), far(), false, false, 1500, false},

		{"forked p that would be picked", r73, ent(1, 1000, 3000, 3000), 1000, ent(2, 900, 2000, 3000), far(), true, false, 1000, false},
		{"forked p (6.12) is like others", r612, ent(1, 1000, 3000, 3000), 1000, ent(2, 900, 2000, 3000), far(), true, true, 1000, false},
		{"earlier deadline, protected c", r73, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 3000), far(), false, false, 1500, false},
		{"earlier deadline, protected c (7.2)", r72, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 3000), far(), false, false, 1500, false},
		{"earlier deadline, protected c (6.12)", r612, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 3000), far(), false, false, 3000, false},
		{"earlier deadline, protection over", r73, ent(1, 1000, 3000, 3000), 1000, ent(2, 900, 2000, 3000), far(), false, true, 1000, false},
		{"later deadline, protection over", r73, ent(1, 1000, 3000, 3000), 900, ent(2, 900, 3500, 3000), far(), false, false, 900, false},
		{"same deadline: the lower number", r73, ent(1, 1000, 3000, 3000), 900, ent(2, 900, 3000, 3000), far(), false, false, 900, false},
		{"protected but ineligible c", r73, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 3000), ent(9, 950, 9000, 500), false, true, 1000, false},
		{"protected but ineligible c (7.2)", r72, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 3000), ent(9, 950, 9000, 500), false, true, 3000, false},
		{"protected but ineligible c (6.12)", r612, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 3000), ent(9, 950, 9000, 500), false, true, 3000, false},
		{"idle c, normal p (7.2)", r72, as("idle", ent(1, 1000, 3000, 3000)), 3000, ent(2, 1500, 5000, 3000), far(), false, true, 1000, false},
		{"forked p (7.2) leaves the protection", r72, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 2000, 3000), far(), true, false, 3000, false},
		{"another one is picked instead of p", r73, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 3000), ent(9, 500, 1000, 500), false, false, 800 + 500, false},
		{"another one is picked instead of p (7.2)", r72, ent(1, 1000, 3000, 3000), 3000, ent(2, 900, 3500, 3000), ent(9, 500, 1000, 500), false, false, 1500, false},
	} {
		q := on(&tc.rules, tc.c, tc.vprot, tc.p, tc.x)
		if got := q.WakeupPreempt(tc.p, tc.fork); got != tc.want {
			t.Errorf("%s: preempts: %t", tc.name, got)
		}
		if tc.c.VProt != tc.after {
			t.Errorf("%s: c is protected up to %d, not %d", tc.name, tc.c.VProt, tc.after)
		}
		if (q.next == tc.p) != tc.buddy {
			t.Errorf("%s: buddy %v", tc.name, q.next)
		}
		if tc.buddy && q.Pick() != tc.p {
			t.Errorf("%s: the buddy is not what runs next", tc.name)
		}
	}
}

// TestWakeupPreemptNobody: an idle CPU takes whatever comes; nobody preempts
// himself.
func TestWakeupPreemptNobody(t *testing.T) {
	p := ent(2, 0, 3000, 3000)
	if !on(&policy.Rules{}, nil, 0, p).WakeupPreempt(p, true) {
		t.Error("an idle CPU goes on idling")
	}
	if on(&policy.Rules{}, p, 0).WakeupPreempt(p, false) {
		t.Error("p preempts p")
	}
}

// TestShortBuddy: of two short wakees the one with the shorter slice, of equals
// the later, runs first, though another has the earlier deadline.
func TestShortBuddy(t *testing.T) {
	for _, tc := range []struct {
		first, second int64 // slices
		want          int32
	}{{600, 500, 3}, {500, 600, 2}, {500, 500, 3}} {
		a, b := ent(2, 900, 3500, tc.first), ent(3, 900, 3600, tc.second)
		q := on(&policy.Rules{}, ent(1, 1000, 3000, 3000), 3000, ent(9, 4000, 9000, 3000), a)
		if !q.WakeupPreempt(a, false) {
			t.Fatal("a does not preempt")
		}
		q.insert(b)
		if !q.WakeupPreempt(b, false) {
			t.Fatal("b does not preempt")
		}
		e := q.Pick()
		if e.ID != tc.want {
			t.Errorf("slices %d, then %d: %d is picked", tc.first, tc.second, e.ID)
		}
		q.PutPrev()
		q.SetNext(e)
		if q.next != nil {
			t.Error("the buddy was picked and still is one")
		}
	}
	// a buddy that sleeps is none
	p := ent(2, 900, 3500, 600)
	q := on(&policy.Rules{}, ent(1, 1000, 3000, 3000), 3000, ent(9, 4000, 9000, 500), p)
	q.WakeupPreempt(p, false)
	q.Dequeue(p, true)
	if q.next != nil || q.Pick() != q.curr {
		t.Error("a sleeper is picked")
	}
}

// TestPreemptDrops: the pick of a wakeup drops the delayed sleepers that it
// meets, and only those.
func TestPreemptDrops(t *testing.T) {
	r := policy.Rules{}
	c, p := ent(1, 1000, 3000, 3000), ent(2, 900, 2500, 3000)
	s := as("delayed", ent(3, 800, 1000, 3000))
	q := on(&r, c, 1000, p, s, ent(9, 4000, 9000, 3000))
	if got := q.PreemptDrops(p, false); got != s {
		t.Fatalf("drops %v", got)
	}
	q.Drop(s)
	if got := q.PreemptDrops(p, false); got != nil {
		t.Fatalf("drops %v", got)
	}
	if !q.WakeupPreempt(p, false) {
		t.Error("with the sleeper gone, p is the one to pick")
	}
	for name, prepare := range map[string]func(q *Queue, r *policy.Rules){
		"protected":             func(q *Queue, _ *policy.Rules) { q.curr.VProt = 3000 },
		"refused without pick":  func(q *Queue, _ *policy.Rules) { q.ents[1].Batch = true },
		"6.12 looks at p alone": func(_ *Queue, r *policy.Rules) { r.OldPreempt = true },
	} {
		r := policy.Rules{}
		p := ent(2, 900, 2500, 3000)
		q := on(&r, ent(1, 1000, 3000, 3000), 1000, p, as("delayed", ent(3, 800, 1000, 3000)), ent(9, 4000, 9000, 3000))
		prepare(q, &r)
		if got := q.PreemptDrops(p, false); got != nil {
			t.Errorf("%s: drops %v", name, got)
		}
	}
}
