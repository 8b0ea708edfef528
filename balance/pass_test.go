// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/policy"
	"sibyl/state"
)

// TestPassBookkeeping: what the exits of sched_balance_rq leave behind. The SMT
// domain of CPU 0 has min_interval 2 and max_interval 4 ms.
func TestPassBookkeeping(t *testing.T) {
	for _, tc := range []struct {
		name     string
		idle     Idle
		set      func(y *system)
		interval int // before
		failed   int // before
		flag     bool
		want     state.DomainState
		wantFlag bool
	}{
		{
			"balanced: doubled", CPUIdle, func(y *system) {}, 2, 3, true,
			state.DomainState{BalanceInterval: 4},
			false,
		},
		{
			"balanced: not beyond the maximum", CPUIdle, func(y *system) {}, 4, 0, false,
			state.DomainState{BalanceInterval: 4},
			false,
		},
		{
			"balanced, newly idle: stays", NewlyIdle, func(y *system) {}, 2, 3, true,
			state.DomainState{BalanceInterval: 2},
			false,
		},
		{
			"nothing to take", CPUIdle, func(y *system) { y.put(0, 1, 1) }, 4, 3, true,
			state.DomainState{BalanceInterval: 4},
			false,
		},
		{
			"pulled: to the minimum", CPUIdle, func(y *system) { y.put(1, 2, 1) }, 4, 3, true,
			state.DomainState{BalanceInterval: 2},
			true,
		},
		{
			"pulled, newly idle", NewlyIdle, func(y *system) { y.put(1, 2, 1) }, 4, 3, true,
			state.DomainState{BalanceInterval: 2},
			true,
		},
		{"one pinned, but the imbalance is used up", CPUIdle, func(y *system) {
			y.put(1, 3, 1)
			y.SetAllowed(y.Tasks[1], mask(y, 1))
		}, 4, 0, false, state.DomainState{BalanceInterval: 2}, false},
		{
			"failed: counted, to the minimum", CPUIdle, stuck, 4, 2, true,
			state.DomainState{BalanceInterval: 2, NrBalanceFailed: 3},
			true,
		},
		{
			"failed, newly idle: not counted", NewlyIdle, stuck, 4, 2, true,
			state.DomainState{BalanceInterval: 2, NrBalanceFailed: 2},
			true,
		},
		{
			"all pinned: doubled beyond the maximum", CPUIdle, pinned, 256, 3, false,
			state.DomainState{BalanceInterval: 512},
			true,
		},
		{
			"all pinned: up to half a second", CPUIdle, pinned, 512, 3, false,
			state.DomainState{BalanceInterval: 512},
			true,
		},
		{
			"all pinned, newly idle", NewlyIdle, pinned, 2, 3, false,
			state.DomainState{BalanceInterval: 2},
			true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, smt2, policy.Rules{})
			tc.set(y)
			d := y.H.Base[0]
			st := &y.Domains[d.ID]
			*st = state.DomainState{BalanceInterval: tc.interval, NrBalanceFailed: tc.failed}
			parent := &y.Groups[d.Parent.Groups[0].ID]
			parent.Imbalance = tc.flag
			y.Pass(d, 0, tc.idle, 0, 0)
			if *st != tc.want {
				t.Errorf("domain %+v, want %+v", *st, tc.want)
			}
			if parent.Imbalance != tc.wantFlag {
				t.Errorf("parent's imbalance flag %t", parent.Imbalance)
			}
		})
	}
}

// stuck: CPU 1 has a second task that sleeps.
func stuck(y *system) {
	y.put(1, 2, 1)
	y.Tasks[1].SE.Delayed = true
}

func pinned(y *system) {
	y.put(1, 2, 1)
	for _, task := range y.Tasks {
		y.SetAllowed(task, mask(y, 1))
	}
}
