// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

func TestNewidleAllowed(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(y *system)
		want bool
	}{
		{"overloaded somewhere", func(y *system) {}, true},
		{"nowhere overloaded", func(y *system) { y.RDOverloaded = false }, false},
		{"wakeup pending", func(y *system) { y.CPUs[0].TTWUPending = true }, false},
		{"idle as long as the pass takes", func(y *system) { y.CPUs[0].AvgIdle = 1000 }, true},
		{"idle shorter", func(y *system) { y.CPUs[0].AvgIdle = 999 }, false},
	} {
		y := newSystem(t, smt2, policy.Rules{})
		y.RDOverloaded = true
		y.Domains[y.H.Base[0].ID].MaxNewidleCost = 1000
		y.CPUs[0].MisfitLoad = 7
		tc.set(y)
		if got := y.NewidleAllowed(0); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
		if y.CPUs[0].MisfitLoad != 0 {
			t.Errorf("%s: misfit stays", tc.name)
		}
	}
	y := newSystem(t, smt2, policy.Rules{})
	y.CPUs[0].NextBalance = 50
	y.Domains[y.H.Base[0].ID].LastBalance = 10
	if y.NewidleAllowed(0); y.CPUs[0].NextBalance != 11 {
		t.Errorf("next balance %d, want the idle interval's", y.CPUs[0].NextBalance)
	}
}

func TestNewidleDomain(t *testing.T) {
	for _, tc := range []struct {
		name       string
		rules      policy.Rules
		ratio      int
		cost       int64
		spent      int64
		draw       uint32
		run, stop  bool
		call, succ int // relative
	}{
		{"half: draw at the weight", policy.Rules{}, 512, 0, 0, 513, true, false, 0, 0},
		{"half: draw above it counts as a failure", policy.Rules{}, 512, 0, 0, 514, false, false, 1, 0},
		{"never successful: draws 0 and 1 run", policy.Rules{}, 0, 0, 0, 1, true, false, 0, 0},
		{"never successful", policy.Rules{}, 0, 0, 0, 2, false, false, 1, 0},
		{"always", policy.Rules{}, 1024, 0, 0, 1023, true, false, 0, 0},
		{"no gate", policy.Rules{NoNewidleRandom: true}, 0, 0, 0, 1023, true, false, 0, 0},
		{"too dear", policy.Rules{}, 1024, 600_001, 400_000, 0, false, true, 0, 0},
		{"just cheap enough", policy.Rules{}, 1024, 600_000, 400_000, 0, true, false, 0, 0},
	} {
		y := newSystem(t, smt2, tc.rules)
		d := y.H.Base[0]
		st := &y.Domains[d.ID]
		st.NewidleRatio, st.MaxNewidleCost = tc.ratio, tc.cost
		call, succ := st.NewidleCall, st.NewidleSuccess
		run, stop := y.NewidleDomain(d, tc.spent, tc.draw, 0)
		if run != tc.run || stop != tc.stop || st.NewidleCall-call != tc.call || st.NewidleSuccess-succ != tc.succ {
			t.Errorf("%s: run %t stop %t, calls +%d", tc.name, run, stop, st.NewidleCall-call)
		}
	}
	y := newSystem(t, smt2, policy.Rules{})
	d := *y.H.Base[0]
	d.Flags &^= domain.BalanceNewidle
	if run, stop := y.NewidleDomain(&d, 0, 0, 0); run || stop {
		t.Error("a domain without SD_BALANCE_NEWIDLE is balanced")
	}
}

// TestNewidleStats is update_newidle_stats: a success of a gated pass stands
// for the skipped ones; after 1024 calls the ratio is renewed, with one unit
// for each 2^22 ns under NI_RATE.
func TestNewidleStats(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	d := y.H.Base[0]
	st := &y.Domains[d.ID]
	st.NewidleRatio = 99
	y.NewidleDone(d, true, 10, 0)
	if st.NewidleSuccess != 256+10 || st.NewidleCall != 513 {
		t.Errorf("weighted success: %+v", *st)
	}
	st.NewidleRatio = 1024
	y.NewidleDone(d, true, 10, 0)
	if st.NewidleSuccess != 256+11 {
		t.Errorf("ungated success: %+v", *st)
	}
	for _, tc := range []struct {
		rules policy.Rules
		now   int64
		want  int
	}{
		{policy.Rules{}, 5<<22 - 1, 104},
		{policy.Rules{}, 5 << 22, 105},
		{policy.Rules{}, 5000 << 22, 1024},
		{policy.Rules{NoNewidleRate: true}, 5000 << 22, 100},
	} {
		y := newSystem(t, smt2, tc.rules)
		st := &y.Domains[d.ID]
		*st = state.DomainState{NewidleCall: 1023, NewidleSuccess: 100, NewidleRatio: 1024}
		y.NewidleDone(d, false, 1, tc.now)
		if st.NewidleRatio != tc.want || st.NewidleCall != 512 || st.NewidleSuccess != 50 || st.NewidleStamp != tc.now {
			t.Errorf("at %d: %+v, want ratio %d", tc.now, *st, tc.want)
		}
	}
}

func TestNewidleCost(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	d := y.H.Base[0]
	st := &y.Domains[d.ID]
	for _, tc := range []struct{ cost, want int64 }{{1000, 1000}, {900, 1000}, {2_000_000, 500_200}} {
		if y.NewidleDone(d, false, tc.cost, 0); st.MaxNewidleCost != tc.want {
			t.Errorf("cost %d: maximum %d, want %d", tc.cost, st.MaxNewidleCost, tc.want)
		}
	}
	if y.NewidleSpent(0, 700_000); y.CPUs[0].MaxIdleCost != 700_000 {
		t.Error("the walk's cost is not the CPU's maximum")
	}
}

func TestAvgIdle(t *testing.T) {
	for _, tc := range []struct{ avg, idle, want int64 }{
		{800, 1600, 900},
		{800, 793, 800}, // the difference is cut towards zero
		{800, 0, 700},
		{1_000_000, 1 << 40, 1_000_000},
	} {
		y := newSystem(t, plain, policy.Rules{})
		y.CPUs[0].AvgIdle = tc.avg
		if y.AvgIdle(0, tc.idle); y.CPUs[0].AvgIdle != tc.want {
			t.Errorf("avg %d, idle %d: %d, want %d", tc.avg, tc.idle, y.CPUs[0].AvgIdle, tc.want)
		}
	}
}
