// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/policy"
	"sibyl/state"
)

func TestCapacityLeft(t *testing.T) {
	for _, tc := range []struct{ actual, rt, irq, want int64 }{
		{1024, 0, 0, 1024},
		{1024, 100, 0, 924},
		{1024, 0, 100, 924},
		{1024, 100, 100, 833}, // 924*924/1024
		{512, 100, 100, 331},  // 412*412/512
		{1024, 1024, 0, 1},
		{1024, 0, 1024, 1},
		{1024, 1023, 1000, 1},
	} {
		y := newSystem(t, plain, policy.Rules{})
		y.CPUs[0].CapActual, y.CPUs[0].RTUtil, y.CPUs[0].IRQUtil = tc.actual, tc.rt, tc.irq
		if got := y.capacityLeft(0); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}

// TestGroupCapacity: who sees a changed capacity, and when.
func TestGroupCapacity(t *testing.T) {
	y := newSystem(t, bigSMT, policy.Rules{})
	smt, mc := y.H.Base[4], y.H.Base[4].Parent
	y.CPUs[4].RTUtil = 100
	if y.UpdateGroupCapacity(mc, 4, 10); y.CPUs[4].CapNow != 1024 {
		t.Error("a pass above the base renewed the CPU's capacity")
	}
	y.UpdateGroupCapacity(smt, 4, 10)
	base := y.Groups[smt.Groups[0].ID]
	if y.CPUs[4].CapNow != 924 || base.Capacity != 924 || base.NextUpdate != 11 {
		t.Errorf("base: CPU %d, group %+v", y.CPUs[4].CapNow, base)
	}
	if got := y.Groups[mc.Groups[0].ID].Capacity; got != 2048 {
		t.Errorf("the core's capacity %d changed with its thread's", got)
	}
	y.UpdateGroupCapacity(mc, 4, 10)
	want := state.GroupState{Capacity: 1948, MinCapacity: 924, MaxCapacity: 1024, NextUpdate: 12}
	if got := y.Groups[mc.Groups[0].ID]; got != want {
		t.Errorf("core: %+v, want %+v", got, want)
	}
	// Newly idle passes renew it when it is due only.
	y.CPUs[4].RTUtil = 200
	if y.Pass(smt, 4, NewlyIdle, 0, 10); y.CPUs[4].CapNow != 924 {
		t.Error("a newly idle pass renewed the capacity before it was due")
	}
	if y.Pass(smt, 4, NewlyIdle, 0, 11); y.CPUs[4].CapNow != 824 {
		t.Error("a newly idle pass did not renew the capacity when it was due")
	}
	y.CPUs[4].RTUtil = 300
	if y.Pass(smt, 4, CPUIdle, 0, 11); y.CPUs[4].CapNow != 724 {
		t.Error("an idle pass did not renew the capacity")
	}
}

// TestGroupCapacityOverlap: above a NUMA domain capacities are summed by CPU.
func TestGroupCapacityOverlap(t *testing.T) {
	y := newSystem(t, numa, policy.Rules{})
	d := *y.level(t, 0, "NUMA")
	child := d
	d.Child = &child
	y.CPUs[1].CapNow = 24
	y.UpdateGroupCapacity(&d, 0, 0)
	g := y.Groups[d.Groups[0].ID]
	if g.Capacity != 3*1024+24 || g.MinCapacity != 24 || g.MaxCapacity != 1024 {
		t.Errorf("%+v", g)
	}
}

func TestUpdateMisfit(t *testing.T) {
	for _, tc := range []struct {
		name  string
		shape shape
		cpu   int
		util  int64
		hload int64
		mask  []int
		want  int64
	}{
		{"does not fit", littles, 0, 410, 900, nil, 900},
		{"fits", littles, 0, 409, 900, nil, 0},
		{"no load", littles, 0, 410, 0, nil, 1},
		{"on a largest CPU", littles, 2, 1024, 900, nil, 0},
		{"pinned", littles, 0, 1024, 900, []int{0}, 0},
		{"no larger one allowed", littles, 0, 1024, 900, []int{0, 1}, 0},
		{"equal capacities", plain, 0, 1024, 900, nil, 0},
	} {
		y := newSystem(t, tc.shape, policy.Rules{})
		p := y.put(tc.cpu, 1, tc.util)
		p.HLoad = tc.hload
		if tc.mask != nil {
			y.SetAllowed(p, mask(y, tc.mask...))
		}
		if y.UpdateMisfit(tc.cpu, p.ID); y.CPUs[tc.cpu].MisfitLoad != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, y.CPUs[tc.cpu].MisfitLoad, tc.want)
		}
		y.CPUs[0].MisfitLoad = 5
		if y.UpdateMisfit(0, state.None); tc.shape.capacity != nil && y.CPUs[0].MisfitLoad != 0 {
			t.Errorf("%s: stays when idle", tc.name)
		}
	}
}
