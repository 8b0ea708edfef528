// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/policy"
)

func TestFindSource(t *testing.T) {
	for _, tc := range []struct {
		name      string
		shape     shape
		rules     policy.Rules
		level     string
		dst       int
		group     int // a CPU of the group
		set       func(y *system)
		migration Migration
		imbalance int64
		want      int
	}{
		{"task: most tasks", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(4, 1, 9); y.put(5, 3, 9); y.put(6, 2, 9) }, MigrateTask, 1, 5},
		{"task: the first of equals", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(5, 2, 9); y.put(6, 2, 9) }, MigrateTask, 1, 5},
		{"task: delayed sleepers do not count", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(5, 1, 9); delayed(y, 5); delayed(y, 5); y.put(6, 2, 9) }, MigrateTask, 1, 6},
		{"task: row 18, they do", smt4, policy.Rules{CountsDelayed: true}, "MC", 0, 4, func(y *system) { y.put(5, 1, 9); delayed(y, 5); delayed(y, 5); y.put(6, 2, 9) }, MigrateTask, 1, 5},
		{"task: none", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) {}, MigrateTask, 1, -1},
		{"util: most, with two tasks", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(4, 1, 900); y.put(5, 2, 100); y.put(6, 2, 200) }, MigrateUtil, 1, 6},
		{"util: waiting counts", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(5, 2, 100); y.put(6, 2, 200); y.CPUs[5].Avg.RunnableAvg = 500 }, MigrateUtil, 1, 5},
		{"load: by capacity", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(4, 2, 1); y.put(5, 2, 1); y.CPUs[5].CapNow = 900 }, MigrateLoad, 1, 5},
		{"load: a lone task larger than the imbalance", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(4, 1, 1) }, MigrateLoad, 1023, -1},
		{"load: a lone task as large", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(4, 1, 1) }, MigrateLoad, 1024, 4},
		{"load: a lone task on reduced capacity", smt4, policy.Rules{}, "MC", 0, 4, func(y *system) { y.put(4, 1, 1); y.CPUs[4].CapNow = 800 }, MigrateLoad, 1, 4},
		{"misfit: largest", littles, policy.Rules{}, "MC", 2, 1, func(y *system) { y.put(1, 1, 1); y.CPUs[1].MisfitLoad = 5 }, MigrateMisfit, 1, 1},
		{"misfit: none", littles, policy.Rules{}, "MC", 2, 1, func(y *system) { y.put(1, 1, 1) }, MigrateMisfit, 1, -1},
		{"a lone task stays on an equal CPU", littles, policy.Rules{}, "MC", 0, 1, func(y *system) { y.put(1, 1, 1) }, MigrateTask, 1, -1},
		{"a lone task may go to a larger CPU", littles, policy.Rules{}, "MC", 2, 1, func(y *system) { y.put(1, 1, 1) }, MigrateTask, 1, 1},
		{"two tasks may go anywhere", littles, policy.Rules{}, "MC", 0, 2, func(y *system) { y.put(2, 2, 1) }, MigrateTask, 1, 2},
		{"a lone task on a shared core may leave for an equal one", bigSMT, policy.Rules{}, "MC", 0, 2, func(y *system) { y.put(2, 1, 1); y.put(3, 1, 1) }, MigrateTask, 1, 2},
		{"a lone task on an unshared core may not", bigSMT, policy.Rules{}, "MC", 0, 2, func(y *system) { y.put(2, 1, 1) }, MigrateTask, 1, -1},
		{"row 17: it may not", bigSMT, policy.Rules{LoneTaskNeedsCapacity: true}, "MC", 0, 2, func(y *system) { y.put(2, 1, 1); y.put(3, 1, 1) }, MigrateTask, 1, -1},
		{"a lone task on the preferred sibling stays", power7, policy.Rules{}, "SMT", 1, 0, func(y *system) { y.put(0, 1, 1) }, MigrateTask, 1, -1},
		{"a lone task on the other sibling may go", power7, policy.Rules{}, "SMT", 0, 1, func(y *system) { y.put(1, 1, 1) }, MigrateTask, 1, 1},
		{"a lone task on a preferred, idle core stays", itmt, policy.Rules{}, "MC", 6, 0, func(y *system) { y.put(0, 1, 1) }, MigrateTask, 1, -1},
		{"a lone task on a preferred, shared core may go", itmt, policy.Rules{}, "MC", 6, 0, func(y *system) { y.put(0, 1, 1); y.put(1, 1, 1) }, MigrateTask, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, tc.shape, tc.rules)
			tc.set(y)
			d := y.level(t, tc.dst, tc.level)
			y.env.d, y.env.dst, y.env.idle = d, tc.dst, CPUIdle
			y.env.migration, y.env.imbalance = tc.migration, tc.imbalance
			y.env.cpus.And(d.Span, y.H.Active)
			for _, g := range d.Groups {
				if g.Span.Has(tc.group) {
					if got := y.findSource(g); got != tc.want {
						t.Errorf("source %d, want %d", got, tc.want)
					}
					if tc.want >= 0 {
						y.env.cpus.Clear(tc.want)
						if y.findSource(g) == tc.want {
							t.Error("a CPU that was ruled out is found again")
						}
					}
				}
			}
		})
	}
}

// TestLoneTaskInCluster: a lone task may go between clusters' equal CPUs.
func TestLoneTaskInCluster(t *testing.T) {
	sh := shape{clusters: 2, cores: 2, capacity: func(core int) int { return []int{512, 1024, 1024, 512}[core] }}
	y := newSystem(t, sh, policy.Rules{})
	if !y.H.ClusterActive {
		t.Fatal("no clusters")
	}
	y.put(1, 1, 1)
	d := y.level(t, 2, "MC")
	y.env.d, y.env.dst = d, 2
	if y.keepsLoneTask(1) {
		t.Error("an equal CPU of another cluster may not take the task")
	}
	y.env.dst = 3
	if !y.keepsLoneTask(1) {
		t.Error("a smaller CPU may take the task")
	}
}
