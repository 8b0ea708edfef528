// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/domain"
	"sibyl/policy"
)

// TestWorthBalancing goes through mechanisms 7.5 in order. The local group is a
// core of two CPUs, so is the busiest one unless said otherwise.
func TestWorthBalancing(t *testing.T) {
	for _, tc := range []struct {
		name           string
		idle           Idle
		local, busiest groupStats
		prefer         bool
		busiestFlags   domain.Flags
		domainAvg      int64 // of the CPUs' load
		want           bool
	}{
		{"misfit", NotIdle, groupStats{typ: Overloaded}, groupStats{typ: MisfitTask}, false, 0, 0, true},
		{"asym_packing", NotIdle, groupStats{typ: Overloaded}, groupStats{typ: AsymPacking}, false, 0, 0, true},
		{"imbalanced", NotIdle, groupStats{typ: Overloaded}, groupStats{typ: Imbalanced}, false, 0, 0, true},
		{"local is of a higher type", CPUIdle, groupStats{typ: FullyBusy}, groupStats{hNr: 9}, false, 0, 0, false},
		{"both overloaded, busiest more", NotIdle, groupStats{typ: Overloaded, avgLoad: 1000}, groupStats{typ: Overloaded, avgLoad: 1171}, false, 0, 1001, true},
		{"both overloaded, within the margin", NotIdle, groupStats{typ: Overloaded, avgLoad: 1000}, groupStats{typ: Overloaded, avgLoad: 1170}, false, 0, 1001, false},
		{"both overloaded, local at the average", NotIdle, groupStats{typ: Overloaded, avgLoad: 1000}, groupStats{typ: Overloaded, avgLoad: 2000}, false, 0, 1000, false},
		{"both overloaded, local more", NotIdle, groupStats{typ: Overloaded, avgLoad: 1000}, groupStats{typ: Overloaded, avgLoad: 1000}, false, 0, 2000, false},
		{"busiest overloaded, dst busy", NotIdle, groupStats{typ: FullyBusy}, groupStats{typ: Overloaded}, false, 0, 0, true},
		{"dst busy", NotIdle, groupStats{}, groupStats{hNr: 2, nr: 2}, true, 0, 0, false},
		{"siblings: two more", CPUIdle, groupStats{idle: 2}, groupStats{hNr: 2, nr: 2}, true, 0, 0, true},
		{"siblings: one more, idle differs by one", CPUIdle, groupStats{idle: 1, nr: 1}, groupStats{hNr: 2, nr: 2}, true, 0, 0, false},
		{"siblings: two more, local full", CPUIdle, groupStats{typ: FullyBusy, idle: 1}, groupStats{typ: FullyBusy, hNr: 2, nr: 2}, true, 0, 0, false},
		{"idle differs by two", CPUIdle, groupStats{idle: 2}, groupStats{hNr: 2, nr: 2}, false, 0, 0, true},
		{"idle differs by two, but one task", CPUIdle, groupStats{idle: 3}, groupStats{hNr: 1, nr: 1, idle: 1}, false, 0, 0, false},
		{"idle differs by one", NewlyIdle, groupStats{idle: 2}, groupStats{hNr: 2, nr: 2, idle: 1}, false, 0, 0, false},
		{"single CPU with two tasks", CPUIdle, groupStats{idle: 1}, groupStats{hNr: 2, nr: 2, weight: 1}, false, 0, 0, true},
		{"single CPU with one task", CPUIdle, groupStats{idle: 1}, groupStats{hNr: 1, nr: 1, weight: 1}, false, 0, 0, false},
		{"smt_balance between SMT and plain", CPUIdle, groupStats{idle: 1}, groupStats{typ: SMTBalance, hNr: 2, nr: 2}, false, domain.ShareCPUCapacity, 0, true},
		{"smt_balance between alike", CPUIdle, groupStats{idle: 1}, groupStats{typ: SMTBalance, hNr: 2, nr: 2}, false, 0, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, smt2, policy.Rules{})
			d := y.level(t, 0, "MC")
			y.env.d, y.env.dst, y.env.idle = d, 0, tc.idle
			y.env.cpus.And(d.Span, y.H.Active)
			for c := range y.CPUs {
				y.CPUs[c].Avg.LoadAvg = tc.domainAvg
			}
			local, busiest := *d.Groups[0], *d.Groups[1]
			local.Flags, busiest.Flags = 0, tc.busiestFlags
			if tc.busiest.weight == 0 {
				tc.busiest.weight = 2
			}
			y.sds = domainStats{local: &local, busiest: &busiest, localStats: tc.local, busiestStats: tc.busiest, preferSibling: tc.prefer}
			if got := y.worthBalancing(); got != tc.want {
				t.Errorf("worth balancing %t, want %t", got, tc.want)
			}
		})
	}
}

func TestSiblingImbalance(t *testing.T) {
	for _, tc := range []struct {
		name   string
		idle   Idle
		cl, cb int
		nl, nb int64
		want   int64
	}{
		{"dst busy", NotIdle, 1, 1, 0, 5, 0},
		{"busiest empty", CPUIdle, 1, 1, 0, 0, 0},
		{"equal cores", CPUIdle, 1, 1, 1, 4, 3},
		{"equal cores, fewer", CPUIdle, 1, 1, 4, 1, 0},
		{"one core against two, 0 to 2 tasks", CPUIdle, 1, 2, 0, 2, 2},       // (2*2+3)/3
		{"one against three, 0 to 2", CPUIdle, 1, 3, 0, 2, 2},                // (2*2+4)/4 = 2
		{"one against six, 0 to 2: the empty group", CPUIdle, 1, 6, 0, 2, 2}, // (4+7)/7 = 1
		{"one against six, 0 to 1", CPUIdle, 1, 6, 0, 1, 1},
		{"three against one, 1 to 2", CPUIdle, 3, 1, 1, 2, 3}, // (2*5+4)/4
		{"two against one, 3 to 1", CPUIdle, 2, 1, 3, 1, 1},   // floored at 0: 3/3
	} {
		y := newSystem(t, smt2, policy.Rules{})
		y.env.idle = tc.idle
		y.sds = domainStats{
			local: &domain.Group{Cores: tc.cl}, busiest: &domain.Group{Cores: tc.cb},
			localStats: groupStats{nr: tc.nl}, busiestStats: groupStats{nr: tc.nb},
		}
		if got := y.siblingImbalance(); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestAmount is calculate_imbalance.
func TestAmount(t *testing.T) {
	for _, tc := range []struct {
		name           string
		level          string
		shape          shape
		idle           Idle
		local, busiest groupStats
		prefer         bool
		load           []int64 // of the CPUs
		migration      Migration
		want           int64
	}{
		{"misfit on unequal capacities", "MC", littles, CPUIdle, groupStats{}, groupStats{typ: MisfitTask, misfit: 700}, false, nil, MigrateMisfit, 1},
		{"misfit by reduced capacity", "MC", plain, CPUIdle, groupStats{}, groupStats{typ: MisfitTask, misfit: 700}, false, nil, MigrateLoad, 700},
		{"asym_packing", "MC", plain, CPUIdle, groupStats{}, groupStats{typ: AsymPacking, hNr: 3}, false, nil, MigrateTask, 3},
		{"smt_balance", "MC", plain, CPUIdle, groupStats{}, groupStats{typ: SMTBalance, hNr: 3}, false, nil, MigrateTask, 1},
		{"imbalanced", "MC", plain, CPUIdle, groupStats{typ: Overloaded}, groupStats{typ: Imbalanced, hNr: 3}, false, nil, MigrateTask, 1},
		{"spare, busiest overloaded, no common LLC", "NUMA", numa, CPUIdle, groupStats{capacity: 4096, util: 1000, summed: true}, groupStats{typ: Overloaded}, false, nil, MigrateUtil, 3096},
		{"the same, utilised", "NUMA", numa, CPUIdle, groupStats{capacity: 4096, util: 5000, summed: true}, groupStats{typ: Overloaded}, false, nil, MigrateTask, 1},
		{"the same, dst busy", "NUMA", numa, NotIdle, groupStats{capacity: 4096, util: 5000, summed: true}, groupStats{typ: Overloaded}, false, nil, MigrateUtil, 0},
		{"single CPUs: half the difference", "MC", plain, CPUIdle, groupStats{}, groupStats{weight: 1, nr: 5}, false, nil, MigrateTask, 2},
		{"prefer_sibling: half the difference", "MC", plain, CPUIdle, groupStats{nr: 1}, groupStats{weight: 4, nr: 5}, true, nil, MigrateTask, 2},
		{"prefer_sibling with busy dst", "MC", plain, NotIdle, groupStats{nr: 1}, groupStats{weight: 4, nr: 5}, true, nil, MigrateTask, 0},
		{"idle CPUs: half the difference", "MC", plain, CPUIdle, groupStats{idle: 4}, groupStats{weight: 4, idle: 1}, false, nil, MigrateTask, 1},
		{"the unsigned difference", "MC", plain, CPUIdle, groupStats{idle: 1}, groupStats{weight: 4, idle: 2, typ: Overloaded}, false, nil, MigrateTask, (1<<32 - 1) >> 1},
		{"NUMA: a small difference may stay", "NUMA", numa, CPUIdle, groupStats{idle: 4}, groupStats{weight: 4, idle: 2}, false, nil, MigrateTask, 0},
		{"NUMA: a larger one may not", "NUMA", numa, CPUIdle, groupStats{idle: 4}, groupStats{weight: 4, idle: 1}, false, nil, MigrateTask, 1},
		{"NUMA: the node has tasks", "NUMA", numa, CPUIdle, groupStats{idle: 3, nr: 1}, groupStats{weight: 4, idle: 1}, false, nil, MigrateTask, 1},
		// Loads on four CPUs of 1024: average 600.
		{"load: the busiest one's excess", "MC", plain, NotIdle, groupStats{typ: FullyBusy, load: 100, capacity: 1024, summed: true}, groupStats{typ: Overloaded, avgLoad: 900, capacity: 1024}, false, []int64{100, 900, 700, 700}, MigrateLoad, 300},
		{"load: local's room", "MC", plain, NotIdle, groupStats{typ: FullyBusy, load: 500, capacity: 1024, summed: true}, groupStats{typ: Overloaded, avgLoad: 900, capacity: 1024}, false, []int64{500, 900, 500, 500}, MigrateLoad, 100},
		{"load: local above the average", "MC", plain, NotIdle, groupStats{typ: FullyBusy, load: 600, capacity: 1024, summed: true}, groupStats{typ: Overloaded, avgLoad: 900, capacity: 1024}, false, []int64{600, 900, 400, 500}, MigrateLoad, 0},
		{"load: local above the busiest", "MC", plain, NotIdle, groupStats{typ: FullyBusy, load: 901, capacity: 1024, summed: true}, groupStats{typ: Overloaded, avgLoad: 900, capacity: 1024}, false, []int64{901, 900, 4000, 4000}, MigrateLoad, 0},
		{"load: busiest below the average: unsigned", "MC", plain, NotIdle, groupStats{typ: FullyBusy, load: 100, capacity: 1024, summed: true}, groupStats{typ: Overloaded, avgLoad: 500, capacity: 1024}, false, []int64{100, 500, 900, 900}, MigrateLoad, 500},
		{"load: both overloaded", "MC", plain, NotIdle, groupStats{typ: Overloaded, avgLoad: 400, capacity: 1024}, groupStats{typ: Overloaded, avgLoad: 900, capacity: 512}, false, []int64{400, 900, 550, 550}, MigrateLoad, 150},
		{"fully busy both: nothing", "MC", plain, CPUIdle, groupStats{typ: FullyBusy, load: 10, capacity: 1024, summed: true}, groupStats{typ: FullyBusy, capacity: 1024}, false, []int64{10, 900, 900, 900}, MigrateLoad, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, tc.shape, policy.Rules{})
			d := *y.level(t, 0, tc.level)
			if tc.level == "NUMA" {
				d.ImbNUMANr = 1
			}
			y.env.d, y.env.dst, y.env.idle = &d, 0, tc.idle
			y.env.cpus.And(d.Span, y.H.Active)
			for c, l := range tc.load {
				y.CPUs[c].Avg.LoadAvg = l
			}
			y.sds = domainStats{local: d.Groups[0], busiest: d.Groups[1], localStats: tc.local, busiestStats: tc.busiest, preferSibling: tc.prefer}
			y.setImbalance()
			if y.env.migration != tc.migration || y.env.imbalance != tc.want {
				t.Errorf("%s %d, want %s %d", y.env.migration, y.env.imbalance, tc.migration, tc.want)
			}
		})
	}
}
