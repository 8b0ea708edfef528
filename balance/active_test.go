// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/policy"
	"sibyl/state"
)

func TestNeedActive(t *testing.T) {
	for _, tc := range []struct {
		name      string
		shape     shape
		level     string
		dst, src  int
		idle      Idle
		migration Migration
		set       func(y *system)
		want      bool
	}{
		{"nothing special", smt2, "MC", 2, 0, CPUIdle, MigrateTask, nil, false},
		{"preferred dst", power7, "SMT", 0, 1, CPUIdle, MigrateTask, nil, true},
		{"preferred dst, newly idle", power7, "SMT", 0, 1, NewlyIdle, MigrateTask, nil, true},
		{"preferred dst, busy", power7, "SMT", 0, 1, NotIdle, MigrateTask, nil, false},
		{"preferred src", power7, "SMT", 1, 0, CPUIdle, MigrateTask, nil, false},
		{"idle core against a shared one of higher priority", itmt, "MC", 6, 0, CPUIdle, MigrateTask, func(y *system) { y.put(1, 1, 1) }, true},
		{"idle core against an unshared one of higher priority", itmt, "MC", 6, 0, CPUIdle, MigrateTask, nil, false},
		{"thread of a busy core", itmt, "MC", 2, 6, CPUIdle, MigrateTask, func(y *system) { y.put(3, 1, 1) }, false},
		{"three failures", smt2, "MC", 2, 0, CPUIdle, MigrateTask, func(y *system) { y.Domains[y.env.d.ID].NrBalanceFailed = 3 }, false},
		{"four failures", smt2, "MC", 2, 0, CPUIdle, MigrateTask, func(y *system) { y.Domains[y.env.d.ID].NrBalanceFailed = 4 }, true},
		{"four failures of load", smt2, "MC", 2, 0, CPUIdle, MigrateLoad, func(y *system) { y.Domains[y.env.d.ID].NrBalanceFailed = 4 }, false},
		{"reduced source", smt2, "MC", 2, 0, CPUIdle, MigrateLoad, func(y *system) { y.CPUs[0].CapNow = 800 }, true},
		{"reduced source, dst no better", smt2, "MC", 2, 0, CPUIdle, MigrateLoad, func(y *system) { y.CPUs[0].CapNow, y.CPUs[2].CapNow = 800, 930 }, false},
		{"reduced source with two tasks", smt2, "MC", 2, 0, CPUIdle, MigrateLoad, func(y *system) { y.CPUs[0].CapNow = 800; y.put(0, 1, 1) }, false},
		{"reduced source, dst busy", smt2, "MC", 2, 0, NotIdle, MigrateLoad, func(y *system) { y.CPUs[0].CapNow = 800 }, false},
		{"misfit", littles, "MC", 2, 0, NotIdle, MigrateMisfit, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, tc.shape, policy.Rules{})
			y.put(tc.src, 1, 1)
			d := y.level(t, tc.dst, tc.level)
			y.env = env{d: d, dst: tc.dst, src: tc.src, idle: tc.idle, cpus: d.Span.Clone(), migration: tc.migration}
			if tc.set != nil {
				tc.set(y)
			}
			if got := y.needActive(); got != tc.want {
				t.Errorf("need active %t", got)
			}
		})
	}
}

// TestActivate: a pass that wants PE1's running task on PE0.
func TestActivate(t *testing.T) {
	for _, tc := range []struct {
		name     string
		rules    policy.Rules
		set      func(y *system, p *state.Task)
		active   bool
		interval int
		failed   int
	}{
		{"plain", policy.Rules{}, func(y *system, p *state.Task) {}, true, 2, 1},
		{"already under way", policy.Rules{}, func(y *system, p *state.Task) { y.CPUs[1].ActiveBalance = true }, false, 2, 1},
		{"pinned", policy.Rules{}, func(y *system, p *state.Task) { y.SetAllowed(p, mask(y, 1)) }, false, 4, 1},
		{"about to sleep", policy.Rules{}, func(y *system, p *state.Task) { p.Queued = false }, false, 4, 1},
		{"about to sleep, row 22", policy.Rules{ActiveAnyCurrent: true}, func(y *system, p *state.Task) { p.Queued = false }, true, 2, 1},
		{"migration disabled", policy.Rules{}, func(y *system, p *state.Task) { p.MigrationDisabled = true }, false, 4, 1},
	} {
		y := newSystem(t, power7, tc.rules)
		p := y.put(1, 1, 1)
		tc.set(y, p)
		d := y.level(t, 0, "SMT")
		plan := y.Pass(d, 0, CPUIdle, 0, 0)
		st := y.Domains[d.ID]
		if plan.Active != tc.active || plan.Src != 1 || st.BalanceInterval != tc.interval || st.NrBalanceFailed != tc.failed {
			t.Errorf("%s: active %t from %d, interval %d, failed %d", tc.name, plan.Active, plan.Src, st.BalanceInterval, st.NrBalanceFailed)
		}
		if tc.active && (!y.CPUs[1].ActiveBalance || y.CPUs[1].PushCPU != 0) {
			t.Errorf("%s: source not marked", tc.name)
		}
	}
}

func TestActiveTask(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(y *system)
		want int
	}{
		{"the running one if it is alone", func(y *system) { y.put(1, 1, 1) }, 0},
		{"from the tail", func(y *system) { y.put(1, 3, 1) }, 1},
		{"hotness ignored", func(y *system) { y.put(1, 2, 1).LastRan = 10 }, 1},
		{"a delayed sleeper may go", func(y *system) { y.put(1, 1, 1); delayed(y, 1) }, 1},
		{"pinned ones are passed over", func(y *system) { y.put(1, 1, 1); y.SetAllowed(y.put(1, 1, 1), mask(y, 1)) }, 0},
		{"all pinned", func(y *system) { y.SetAllowed(y.put(1, 1, 1), mask(y, 1)) }, -1},
		{"it slept meanwhile", func(y *system) { y.take(y.put(1, 1, 1)) }, -1},
		{"called off", func(y *system) { y.put(1, 1, 1); y.CPUs[1].ActiveBalance = false }, -1},
	} {
		y := newSystem(t, plain, policy.Rules{})
		y.CPUs[1].ActiveBalance = true
		tc.set(y)
		d := y.level(t, 0, "MC")
		y.Domains[d.ID].NrBalanceFailed = 5
		order := y.MRUFirst(1)
		got := y.ActiveTask(1, 0, 20)
		if int(got) != tc.want {
			t.Errorf("%s: task %d, want %d", tc.name, got, tc.want)
		}
		if y.CPUs[1].ActiveBalance {
			t.Errorf("%s: still marked", tc.name)
		}
		if (y.Domains[d.ID].NrBalanceFailed == 0) != (tc.want >= 0) {
			t.Errorf("%s: failures %d", tc.name, y.Domains[d.ID].NrBalanceFailed)
		}
		if y.MRUFirst(1) != order {
			t.Errorf("%s: the stopper changed the list", tc.name)
		}
	}
}
