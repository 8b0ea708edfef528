// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

// TestInterval: milliseconds to jiffies round up; a busy CPU waits 16 times as
// long less a jiffy; between one jiffy and a tenth of a second per CPU.
func TestInterval(t *testing.T) {
	for _, tc := range []struct {
		hz, ms     int
		idle, busy int64
	}{
		{250, 1, 1, 3},     // 16 ms: 4 jiffies, less 1
		{250, 2, 1, 7},     // SMT2's own
		{250, 5, 2, 19},    // 5 ms are 1.25 jiffies
		{250, 8, 2, 31},    // 128 ms
		{250, 64, 16, 200}, // above HZ*8/10
		{250, 4000, 200, 200},
		{1000, 8, 8, 127},
		{100, 8, 1, 12}, // 12.8 jiffies, rounded up, less 1
		{250, 0, 1, 1},
	} {
		y := newSystem(t, smt2, policy.Rules{})
		s := state.New(y.H, tc.hz)
		b := New(s, policy.Rules{})
		d := y.H.Base[0]
		s.Domains[d.ID].BalanceInterval = tc.ms
		if i, busy := b.Interval(d, false), b.Interval(d, true); i != tc.idle || busy != tc.busy {
			t.Errorf("HZ %d, %d ms: idle %d, busy %d; want %d, %d", tc.hz, tc.ms, i, busy, tc.idle, tc.busy)
		}
	}
}

// TestDomainWalk is sched_balance_domains without passes: what is due, and
// next_balance.
func TestDomainWalk(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	smt, mc := y.H.Base[0], y.H.Base[0].Parent
	walk := func(busy bool, jiffies int64) (due []string) {
		y.BeginDomains(0)
		for d := y.H.Base[0]; d != nil; d = d.Parent {
			if y.Due(d, busy, jiffies) {
				due = append(due, d.Name)
			}
			y.DomainDone(d, busy, jiffies)
		}
		y.FinishDomains(0, jiffies)
		return due
	}
	if due := walk(false, 100); len(due) != 2 || y.Domains[smt.ID].LastBalance != 100 || y.Domains[mc.ID].LastBalance != 100 {
		t.Errorf("first walk: %v", due)
	}
	if y.CPUs[0].NextBalance != 101 {
		t.Errorf("next balance %d, want SMT's", y.CPUs[0].NextBalance)
	}
	if due := walk(false, 101); len(due) != 1 || due[0] != "SMT" || y.Domains[mc.ID].LastBalance != 100 {
		t.Errorf("one jiffy later: %v", due)
	}
	if due := walk(true, 107); len(due) != 0 || y.CPUs[0].NextBalance != 108 {
		t.Errorf("busy: %v, next %d", due, y.CPUs[0].NextBalance)
	}
	// A CPU with SCHED_IDLE tasks only counts as not busy.
	y.put(0, 1, 1)
	y.CPUs[0].NrIdle = 1
	y.Sync(0)
	if due := walk(true, 107); len(due) != 2 {
		t.Errorf("SCHED_IDLE only: %v", due)
	}
}

// TestNewidleCostDecay: once a second, all levels below the end of the walk,
// and the CPU's bound follows.
func TestNewidleCostDecay(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	smt, mc := y.H.Base[0], y.H.Base[0].Parent
	st := func(d *domain.Domain) *state.DomainState { return &y.Domains[d.ID] }
	st(smt).MaxNewidleCost, st(mc).MaxNewidleCost = 400_000, 450_000
	y.CPUs[0].MaxIdleCost = 990_000
	finish := func(j int64) {
		y.BeginDomains(0)
		for d := y.H.Base[0]; d != nil; d = d.Parent {
			y.Due(d, false, j)
			y.DomainDone(d, false, j)
		}
		y.FinishDomains(0, j)
	}
	finish(250)
	if st(smt).MaxNewidleCost != 400_000 || y.CPUs[0].MaxIdleCost != 990_000 {
		t.Error("decayed within a second")
	}
	finish(251)
	if got := st(smt).MaxNewidleCost; got != 400_000*253/256 {
		t.Errorf("after a second: %d", got)
	}
	if want := st(smt).MaxNewidleCost + st(mc).MaxNewidleCost; y.CPUs[0].MaxIdleCost != want {
		t.Errorf("max_idle_balance_cost %d, want the sum %d", y.CPUs[0].MaxIdleCost, want)
	}
	st(smt).MaxNewidleCost, st(mc).MaxNewidleCost = 0, 0
	finish(600)
	if y.CPUs[0].MaxIdleCost != state.MigrationCost {
		t.Errorf("max_idle_balance_cost %d below the migration cost", y.CPUs[0].MaxIdleCost)
	}
}

// TestNewidleCostDecayAbove: a walk that another CPU's balance ended at the SMT
// level goes on above only while costs are due to decay.
func TestNewidleCostDecayAbove(t *testing.T) {
	sh := shape{nodes: 2, cores: 2, threads: 2}
	for _, tc := range []struct {
		name     string
		due      [3]bool
		decayed  [3]bool
		maxCosts int64
	}{
		{"all due", [3]bool{true, true, true}, [3]bool{true, true, true}, 3 * 494_140},
		{"not the second", [3]bool{true, false, true}, [3]bool{true, false, false}, 0},
		{"not the third", [3]bool{true, true, false}, [3]bool{true, true, false}, 0},
		{"not the first", [3]bool{false, true, true}, [3]bool{false, true, true}, 500_000 + 2*494_140},
	} {
		y := newSystem(t, sh, policy.Rules{})
		y.CPUs[0].MaxIdleCost = 0
		i := 0
		for d := y.H.Base[0]; d != nil; d = d.Parent {
			st := &y.Domains[d.ID]
			st.MaxNewidleCost = 500_000
			if !tc.due[i] {
				st.NewidleDecay = 1000
			}
			i++
		}
		if i != 3 {
			t.Fatalf("%d levels", i)
		}
		y.BeginDomains(0)
		y.Due(y.H.Base[0], false, 1000)
		y.DomainDone(y.H.Base[0], false, 1000)
		y.FinishDomains(0, 1000)
		i = 0
		for d := y.H.Base[0]; d != nil; d = d.Parent {
			if got := y.Domains[d.ID].MaxNewidleCost != 500_000; got != tc.decayed[i] {
				t.Errorf("%s: level %d decayed %t", tc.name, i, got)
			}
			i++
		}
		if got := y.CPUs[0].MaxIdleCost; got != tc.maxCosts {
			t.Errorf("%s: max_idle_balance_cost %d, want %d", tc.name, got, tc.maxCosts)
		}
	}
}
