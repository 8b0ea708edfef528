// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sibyl/policy"
	"sibyl/state"
)

// TestCanMigrate asks for one waiting task of CPU 1, under a pass for the idle
// CPU 0 of the same LLC.
func TestCanMigrate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rules  policy.Rules
		level  string
		set    func(y *system, p *state.Task)
		want   bool
		pinned bool // recorded as pinned
	}{
		{"cold", policy.Rules{}, "MC", nil, true, false},
		{"delayed", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.SE.Delayed = true }, false, false},
		{"delayed, when load moves", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.SE.Delayed = true; y.env.migration = MigrateLoad }, true, false},
		{"delayed, row 21", policy.Rules{PullsIneligible: true}, "MC", func(y *system, p *state.Task) { p.SE.Delayed = true }, true, false},
		{"ineligible, dst idle", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.SE.VRuntime = 10 }, true, false},
		{"ineligible, dst has a task", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.SE.VRuntime = 10; y.put(2, 1, 1) }, false, false},
		{"eligible, dst has a task", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.SE.VRuntime = -10; y.put(2, 1, 1) }, true, false},
		{"ineligible after a failure", policy.Rules{}, "MC", func(y *system, p *state.Task) {
			p.SE.VRuntime = 10
			y.put(2, 1, 1)
			y.Domains[y.env.d.ID].NrBalanceFailed = 1
		}, true, false},
		{"ineligible, row 21", policy.Rules{PullsIneligible: true}, "MC", func(y *system, p *state.Task) { p.SE.VRuntime = 10; y.put(2, 1, 1) }, true, false},
		{"per-CPU kthread", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.Kthread = true; y.SetAllowed(p, mask(y, 1)) }, false, false},
		{"kthread", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.Kthread = true }, true, false},
		{"not in mask", policy.Rules{}, "MC", func(y *system, p *state.Task) { y.SetAllowed(p, mask(y, 1)) }, false, true},
		{"migration disabled", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.MigrationDisabled = true }, false, true},
		{"running", policy.Rules{}, "MC", func(y *system, p *state.Task) { y.CPUs[1].Curr = p.ID }, false, false},
		{"hot", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.LastRan = 500_001 }, false, false},
		{"just cold", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.LastRan = 500_000 }, true, false},
		{"hot, failed once", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.LastRan = 999_999; y.Domains[y.env.d.ID].NrBalanceFailed = 1 }, false, false},
		{"hot, failed often", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.LastRan = 999_999; y.Domains[y.env.d.ID].NrBalanceFailed = 2 }, true, false},
		{"hot SCHED_IDLE", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.LastRan = 999_999; p.Policy = state.IdlePolicy }, true, false},
		{"hot inside a core", policy.Rules{}, "SMT", func(y *system, p *state.Task) { p.LastRan = 999_999 }, true, false},
		{"running, for the stopper", policy.Rules{}, "MC", func(y *system, p *state.Task) { y.CPUs[1].Curr = p.ID; y.env.active = true }, true, false},
		{"hot, for the stopper", policy.Rules{}, "MC", func(y *system, p *state.Task) { p.LastRan = 999_999; y.env.active = true }, true, false},
		{"not in mask, for the stopper", policy.Rules{}, "MC", func(y *system, p *state.Task) { y.SetAllowed(p, mask(y, 1)); y.env.active = true }, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, smt2, tc.rules)
			y.put(1, 1, 1)
			p := y.put(1, 1, 1)
			d := y.level(t, 0, tc.level)
			cpus := y.env.cpus
			cpus.Copy(d.Span)
			y.env = env{d: d, dst: 2, src: 1, idle: CPUIdle, now: 1_000_000, cpus: cpus, migration: MigrateTask, allPinned: true}
			if tc.level == "SMT" {
				y.env.dst = 0
			}
			if tc.set != nil {
				tc.set(y, p)
			}
			if got := y.canMigrate(p); got != tc.want {
				t.Errorf("can migrate: %t", got)
			}
			if y.env.somePinned != tc.pinned {
				t.Errorf("recorded as pinned: %t", y.env.somePinned)
			}
			if tc.want && y.env.allPinned {
				t.Error("a movable task left all pinned")
			}
		})
	}
}

// TestEligibleMatchesQueue: the sum over the MRU list is the queue's own rule,
// also after tasks were detached from it.
func TestEligibleMatchesQueue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		y := newSystem(t, plain, policy.Rules{})
		q := &y.CPUs[1]
		q.RQ.Init(&policy.Rules{}, y.TickNS)
		n := rapid.IntRange(1, 6).Draw(rt, "tasks")
		for range n {
			task := y.put(1, 1, 1)
			task.SE.OnRQ = false
			task.SE.Weight = rapid.SampledFrom([]int64{3, 335, 1024, 3121, 88761}).Draw(rt, "weight")
			task.SE.Slice = 2_800_000
			task.SE.VLag = rapid.Int64Range(-4_000_000, 4_000_000).Draw(rt, "lag")
			q.RQ.Enqueue(&task.SE, false)
		}
		y.env.src = 1
		for left := n; left > 0; left-- {
			for _, task := range y.Tasks {
				if !y.planned(task.ID) {
					if got, want := y.eligible(task), q.RQ.Eligible(&task.SE); got != want {
						rt.Fatalf("task %d of %d left: eligible %t, the queue says %t", task.ID, left, got, want)
					}
				}
			}
			id := y.tail()
			y.plan.Tasks = append(y.plan.Tasks, Move{Task: id})
			q.RQ.DequeueMove(&y.Tasks[id].SE)
		}
	})
}

// TestDstPinned: who may be another destination.
func TestDstPinned(t *testing.T) {
	for _, tc := range []struct {
		name    string
		idle    Idle
		allowed []int
		drop    int // ruled out already; -2: another task's destination is set
		want    int // -1: none
	}{
		{"lowest of the group", CPUIdle, []int{1, 3, 4}, -1, 1},
		{"not one that was tried", CPUIdle, []int{1, 3, 4}, 1, 3},
		{"none in the group", CPUIdle, []int{4, 5}, -1, -1},
		{"newly idle", NewlyIdle, []int{1, 4}, -1, -1},
		{"the first task's stays", CPUIdle, []int{1, 4}, -2, 2},
	} {
		y := newSystem(t, numa, policy.Rules{})
		y.put(4, 1, 1)
		p := y.put(4, 1, 1)
		y.SetAllowed(p, mask(y, tc.allowed...))
		d := y.level(t, 0, "NUMA")
		cpus := y.env.cpus
		cpus.Copy(d.Span)
		if tc.drop >= 0 {
			cpus.Clear(tc.drop)
		}
		y.env = env{d: d, dst: 0, src: 4, idle: tc.idle, cpus: cpus, migration: MigrateTask}
		if tc.drop == -2 {
			y.env.dstPinned, y.env.newDst = true, 2
		}
		y.canMigrate(p)
		got := -1
		if y.env.dstPinned {
			got = y.env.newDst
		}
		if got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestDetach has four waiting tasks on CPU 1; the last in the list is put
// there first.
func TestDetach(t *testing.T) {
	for _, tc := range []struct {
		name      string
		idle      Idle
		migration Migration
		imbalance int64
		set       func(y *system, waiting []*state.Task)
		want      []int // indices into waiting
		left      int64
		order     []int // of the MRU list afterwards, head first; -1 is the current
	}{
		{"by task", CPUIdle, MigrateTask, 2, nil, []int{0, 1}, 0, nil},
		{"newly idle: one", NewlyIdle, MigrateTask, 4, nil, []int{0}, 3, nil},
		{"idle: not the last one", CPUIdle, MigrateTask, 9, func(y *system, w []*state.Task) { y.CPUs[1].Curr = state.None }, []int{0, 1, 2, 3}, 5, nil},
		{"skipped ones go to the head", CPUIdle, MigrateTask, 1, func(y *system, w []*state.Task) { w[0].LastRan, w[1].LastRan = 0, 0 }, []int{2}, 0, []int{1, 0, -1, 3, 2}},
		{"load: what fits", CPUIdle, MigrateLoad, 1500, func(y *system, w []*state.Task) { w[0].HLoad, w[1].HLoad, w[2].HLoad = 2000, 1000, 600 }, []int{1}, 500, nil},
		{"load: a little at least", CPUIdle, MigrateLoad, 3, func(y *system, w []*state.Task) { w[0].HLoad, w[1].HLoad, w[2].HLoad = 0, 1, 1 }, []int{0, 1, 2}, 0, nil},
		{"load: twice the imbalance after a failure", CPUIdle, MigrateLoad, 600, func(y *system, w []*state.Task) { y.Domains[y.env.d.ID].NrBalanceFailed = 1 }, []int{0}, 600 - 1024, nil},
		{"util: what fits", CPUIdle, MigrateUtil, 150, func(y *system, w []*state.Task) {
			w[0].UtilEst, w[1].Avg.UtilAvg, w[2].Avg.UtilAvg, w[3].Avg.UtilAvg = 151, 150, 1, 1
		}, []int{1}, 0, nil},
		{"misfit: only one that does not fit", CPUIdle, MigrateMisfit, 1, func(y *system, w []*state.Task) { w[2].Avg.UtilAvg = 900 }, []int{2}, 0, nil},
		{"nothing to balance", CPUIdle, MigrateTask, 0, nil, nil, 0, nil},
		// Without those that leave, V changes: w[1] gets eligible only
		// because w[0], which is behind, has gone. V of all: -30/5.
		{"eligible among those that are left", NotIdle, MigrateTask, 2, func(y *system, w []*state.Task) {
			w[0].SE.VRuntime, w[1].SE.VRuntime, w[2].SE.VRuntime, w[3].SE.VRuntime = -40, -5, 5, 10
		}, []int{0, 1}, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, plain, policy.Rules{})
			curr := y.put(1, 1, 100)
			var waiting []*state.Task
			for range 4 {
				waiting = append(waiting, y.put(1, 1, 100))
			}
			if tc.idle == NotIdle {
				y.put(0, 1, 1)
			}
			d := y.level(t, 0, "MC")
			cpus := y.env.cpus
			cpus.Copy(d.Span)
			y.env = env{d: d, dst: 0, src: 1, idle: tc.idle, now: 1, cpus: cpus, migration: tc.migration, imbalance: tc.imbalance, loopMax: 5, allPinned: true}
			if tc.set != nil {
				tc.set(y, waiting)
			}
			y.detach()
			var got []int
			for _, m := range y.plan.Tasks {
				for i, w := range waiting {
					if w.ID == m.Task {
						got = append(got, i)
					}
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("detached (-want +got):\n%s", d)
			}
			if y.env.imbalance != tc.left {
				t.Errorf("imbalance left %d, want %d", y.env.imbalance, tc.left)
			}
			if tc.order != nil {
				var order []int
				for id := y.MRUFirst(1); id != state.None; id = y.MRUAfter(id) {
					order = append(order, int(id)-int(curr.ID)-1)
				}
				if d := cmp.Diff(tc.order, order); d != "" {
					t.Errorf("MRU list (-want +got):\n%s", d)
				}
			}
		})
	}
}

// TestDetachBounds: at most 32 looks, and never the whole queue.
func TestDetachBounds(t *testing.T) {
	y := newSystem(t, plain, policy.Rules{})
	y.put(1, 40, 1)
	d := y.level(t, 0, "MC")
	y.put(0, 1, 1)
	y.env = env{d: d, dst: 0, src: 1, idle: NotIdle, cpus: d.Span.Clone(), migration: MigrateTask, imbalance: 99}
	y.detachAll()
	if n := len(y.plan.Tasks); n != 32 {
		t.Errorf("%d tasks of 40, want 32", n)
	}
	y = newSystem(t, plain, policy.Rules{})
	y.put(1, 2, 1)
	y.env = env{d: d, dst: 0, src: 1, idle: CPUIdle, cpus: d.Span.Clone(), migration: MigrateTask, imbalance: 99}
	y.detachAll()
	if n := len(y.plan.Tasks); n != 1 {
		t.Errorf("%d tasks of two, want 1", n)
	}
	y = newSystem(t, plain, policy.Rules{})
	y.put(1, 1, 1)
	y.env = env{d: d, dst: 0, src: 1, idle: CPUIdle, cpus: d.Span.Clone(), imbalance: 99, allPinned: true}
	if y.detach(); y.env.allPinned || len(y.plan.Tasks) != 0 {
		t.Error("a queue of one: pinned, or detached from")
	}
}
