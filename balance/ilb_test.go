// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sibyl/policy"
)

type visit struct {
	CPU           int
	Refresh, Walk bool
}

// serve runs the ILB's loop; after each CPU it calls then.
func (y *system) serve(then func(c int)) []visit {
	var got []visit
	for {
		c, refresh, walk := y.NextILB()
		if c < 0 {
			y.EndILB()
			return got
		}
		got = append(got, visit{c, refresh, walk})
		if then != nil {
			then(c)
		}
	}
}

func TestILBOrder(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	y.tickless()
	y.put(3, 1, 1) // busy, its bit is stale
	y.CPUs[6].NextBalance = 8
	y.CPUs[4].NextBalance = 7 // due now
	y.CPUs[2].NohzFlags = BalanceKick | NextKick
	if f := y.BeginILB(2, 7); f != BalanceKick|NextKick {
		t.Fatalf("flags %s", flagText(f))
	}
	if y.CPUs[2].NohzFlags != 0 || y.Nohz.NeedsUpdate {
		t.Error("the kick's flags and hints were not taken")
	}
	got := y.serve(func(c int) { y.CPUs[c].NextBalance = 20 })
	want := []visit{{4, false, true}, {5, false, true}, {7, false, true}, {0, false, true}, {1, false, true}, {2, false, true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if y.Nohz.NextBalance != 8 {
		t.Errorf("next balance %d, want that of CPU 6", y.Nohz.NextBalance)
	}
	if !y.Nohz.HasBlocked || y.Nohz.NextBlocked != 0 {
		t.Error("a kick without STATS touched blocked load")
	}
}

func TestILBStats(t *testing.T) {
	y := newSystem(t, plain, policy.Rules{})
	y.tickless()
	y.CPUs[1].BlockedStamp = 7 // in this jiffy already
	y.CPUs[2].HasBlockedLoad = false
	y.CPUs[3].Avg.UtilAvg = 5
	y.CPUs[0].NohzFlags = StatsKick
	y.BeginILB(0, 7)
	if y.Nohz.HasBlocked {
		t.Error("has_blocked stays set while it is looked for")
	}
	got := y.serve(nil)
	if d := cmp.Diff([]visit{{3, true, false}, {0, true, false}}, got); d != "" {
		t.Error(d)
	}
	if y.CPUs[0].HasBlockedLoad || !y.CPUs[3].HasBlockedLoad || !y.Nohz.HasBlocked {
		t.Error("blocked load was not judged by the averages")
	}
	if y.Nohz.NextBlocked != 7+8 {
		t.Errorf("next blocked %d, want 32 ms later", y.Nohz.NextBlocked)
	}
}

// TestILBAbort: the CPU got work; the rest is left to the next kick.
func TestILBAbort(t *testing.T) {
	y := newSystem(t, plain, policy.Rules{})
	y.tickless()
	y.CPUs[0].NohzFlags = StatsKick | NextKick | BalanceKick
	y.BeginILB(0, 7)
	got := y.serve(func(int) { y.put(0, 1, 1) })
	if d := cmp.Diff([]visit{{1, true, true}}, got); d != "" {
		t.Error(d)
	}
	n := y.Nohz
	if !n.HasBlocked || !n.NeedsUpdate || n.NextBlocked != 0 || n.NextBalance != 0 {
		t.Errorf("the hints were not put back: %+v", n)
	}
	// A CPU that was busy already takes nothing.
	y.CPUs[0].NohzFlags = BalanceKick
	if y.BeginILB(0, 8) != 0 || y.CPUs[0].NohzFlags != 0 {
		t.Error("a busy CPU serves a kick")
	}
}

// TestNewILB: the refresh that a newly idle CPU does itself.
func TestNewILB(t *testing.T) {
	y := newSystem(t, plain, policy.Rules{})
	y.tickless()
	y.Nohz.NextBlocked = 7
	for _, tc := range []struct {
		name    string
		avgIdle int64
		jiffies int64
		blocked bool
		want    bool
	}{
		{"due", 500_000, 7, true, true},
		{"not due", 500_000, 6, true, false},
		{"short idle", 499_999, 7, true, false},
		{"nothing blocked", 500_000, 7, false, false},
	} {
		y.CPUs[1].NohzFlags = 0
		y.CPUs[1].AvgIdle, y.Nohz.HasBlocked = tc.avgIdle, tc.blocked
		y.NewidleFailed(1, 0, tc.jiffies)
		if got := y.CPUs[1].NohzFlags == NewILBKick; got != tc.want {
			t.Errorf("%s: flag %t", tc.name, got)
		}
	}
	y.CPUs[1].NohzFlags = NewILBKick
	if !y.BeginNewILB(1, 7) {
		t.Fatal("nothing to do")
	}
	got := y.serve(nil)
	if d := cmp.Diff([]visit{{2, true, false}, {3, true, false}, {0, true, false}, {1, true, false}}, got); d != "" {
		t.Error(d)
	}
	// With an interrupt pending that one does the work.
	y.CPUs[1].NohzFlags = NewILBKick | StatsKick
	if y.BeginNewILB(1, 7) || y.CPUs[1].NohzFlags != StatsKick {
		t.Error("NEWILB was served beside a pending kick")
	}
}
