// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/policy"
)

// TestKickConditions goes through mechanisms 6.2 in order: each row is the tick
// of CPU 0 at jiffy 10 of a machine whose idle CPUs have stopped their ticks.
func TestKickConditions(t *testing.T) {
	const both = StatsKick | BalanceKick
	for _, tc := range []struct {
		name  string
		shape shape
		rules policy.Rules
		set   func(y *system)
		want  uint8 // 0: no kick
	}{
		{"1: an idle CPU does not kick", smt2, policy.Rules{}, func(y *system) { y.take(y.Tasks[0]); y.Nohz.NeedsUpdate = true }, 0},
		{"one task alone", smt2, policy.Rules{}, func(y *system) {}, 0},
		{"2: blocked load is due", smt2, policy.Rules{}, func(y *system) { y.Nohz.HasBlocked = true; y.Nohz.NextBlocked = 9 }, StatsKick},
		{"2: blocked load is due after its time, not at it", smt2, policy.Rules{}, func(y *system) { y.Nohz.HasBlocked = true; y.Nohz.NextBlocked = 10 }, 0},
		{"2: no blocked load", smt2, policy.Rules{}, func(y *system) { y.Nohz.NextBlocked = 0 }, 0},
		{"3: balance is not due", smt2, policy.Rules{}, func(y *system) { y.put(0, 1, 1); y.Nohz.NextBalance = 11 }, 0},
		{"3: balance is due at its time", smt2, policy.Rules{}, func(y *system) { y.put(0, 1, 1); y.Nohz.NextBalance = 10 }, both},
		{"3: not due, but blocked load is", smt2, policy.Rules{}, func(y *system) {
			y.put(0, 1, 1)
			y.Nohz.NextBalance, y.Nohz.HasBlocked, y.Nohz.NextBlocked = 11, true, 9
		}, StatsKick},
		{"3: not due, but an update is needed", smt2, policy.Rules{}, func(y *system) { y.Nohz.NextBalance, y.Nohz.NeedsUpdate = 11, true }, NextKick},
		{"4: nobody is tickless", smt2, policy.Rules{}, func(y *system) {
			y.put(0, 1, 1)
			y.Nohz.NeedsUpdate = true
			for c := range y.CPUs {
				y.ExitNohz(c)
			}
		}, 0},
		{"5: two tasks", smt2, policy.Rules{}, func(y *system) { y.put(0, 1, 1) }, both},
		{"5: a delayed sleeper counts", smt2, policy.Rules{}, func(y *system) { delayed(y, 0) }, both},
		{"6: reduced capacity", smt2, policy.Rules{}, func(y *system) { y.CPUs[0].RTUtil = 100; y.settle() }, both},
		{"6: hardly reduced capacity", smt2, policy.Rules{}, func(y *system) { y.CPUs[0].RTUtil = 93; y.settle() }, 0},
		{"6: reduced, but the task is a delayed sleeper", smt2, policy.Rules{}, func(y *system) {
			y.CPUs[0].RTUtil, y.CPUs[0].NrRunnable = 100, 0
			y.settle()
		}, 0},
		{"6: the same up to 6.12", smt2, policy.Rules{KickCountsDelayed: true}, func(y *system) {
			y.CPUs[0].RTUtil, y.CPUs[0].NrRunnable = 100, 0
			y.settle()
		}, both},
		{"7a: a better core is idle", itmt, policy.Rules{}, func(y *system) { y.take(y.Tasks[0]); y.put(0, 1, 1) }, 0},
		{"7a: the sibling is preferred", smt2.on(), policy.Rules{}, nil, 0},
		{"7b: misfit", littles, policy.Rules{}, func(y *system) { y.CPUs[0].MisfitLoad = 1 }, both},
		{"7b: no misfit, and busy CPUs do not matter", littles, policy.Rules{}, func(y *system) { busyTick(y, 1) }, 0},
		{"7c: a second busy CPU", smt2, policy.Rules{}, func(y *system) { busyTick(y, 5) }, both},
		{"8: an update is added", smt2, policy.Rules{}, func(y *system) { busyTick(y, 5); y.Nohz.NeedsUpdate = true }, both | NextKick},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, tc.shape, tc.rules)
			y.put(0, 1, 1)
			y.tickless()
			y.Nohz.HasBlocked, y.Nohz.NeedsUpdate = false, false
			y.ExitNohz(0)
			if tc.set != nil {
				tc.set(y)
			}
			target, flags := y.Kick(0, 10)
			if flags != tc.want || (target >= 0) != (tc.want != 0) {
				t.Errorf("Kick = %d, %q; want %q", target, flagText(flags), flagText(tc.want))
			}
			if target >= 0 && y.CPUs[target].NohzFlags != flags {
				t.Errorf("target's flags are %q", flagText(y.CPUs[target].NohzFlags))
			}
		})
	}
}

// delayed adds a task that sleeps but is still queued.
func delayed(y *system, c int) {
	task := y.put(c, 1, 1)
	task.SE.Delayed = true
	y.CPUs[c].NrRunnable--
}

// busyTick has a task run on c, whose first busy tick is over.
func busyTick(y *system, c int) {
	y.put(c, 1, 1)
	y.ExitNohz(c)
}

// TestKickPacking is condition 7a, where the CPU that ticks matters.
func TestKickPacking(t *testing.T) {
	for _, tc := range []struct {
		name  string
		shape shape
		cpu   int
		also  []int // other busy CPUs
		want  bool
	}{
		{"low sibling runs, better one idles", smt2.on(), 1, nil, true},
		{"better sibling runs", smt2.on(), 0, nil, false},
		{"better sibling is busy: not tickless", smt2.on(), 1, []int{0}, true}, // by 7c
		{"worse core runs, better core idles", itmt, 6, nil, true},
		{"worse core runs, better core is half idle", itmt, 2, []int{1}, true}, // by 7c
		{"best core runs", itmt, 0, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, tc.shape, policy.Rules{})
			busyTick(y, tc.cpu)
			for _, c := range tc.also {
				busyTick(y, c)
			}
			y.tickless()
			y.Nohz.NextBlocked = 1 << 40
			_, flags := y.Kick(tc.cpu, 10)
			if got := flags&BalanceKick != 0; got != tc.want {
				t.Errorf("kick %t, want %t", got, tc.want)
			}
		})
	}
	// A busy CPU in the idle mask still counts for 7a inside a core.
	y := newSystem(t, smt2.on(), policy.Rules{})
	y.tickless()
	y.put(0, 1, 1)
	y.put(1, 1, 1)
	y.Nohz.NextBlocked = 1 << 40
	if _, flags := y.Kick(1, 10); flags&BalanceKick == 0 {
		t.Error("a stale bit of the idle mask was tested for idleness")
	}
}

// TestKickRate: one full kick a jiffy, and no second interrupt while one is
// pending.
func TestKickRate(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	y.put(0, 2, 1)
	y.put(1, 2, 1)
	y.tickless()
	target, _ := y.Kick(0, 10)
	if target != 2 {
		t.Fatalf("first kick went to %d", target)
	}
	if y.Nohz.NextBalance != 11 {
		t.Errorf("next balance %d, want 11", y.Nohz.NextBalance)
	}
	y.CPUs[2].NohzFlags = 0 // it was served at once
	y.Nohz.NeedsUpdate, y.Nohz.HasBlocked = false, false
	if c, _ := y.Kick(1, 10); c >= 0 {
		t.Error("a second full kick in one jiffy")
	}
	if c, flags := y.Kick(1, 11); c != 2 || flags != StatsKick|BalanceKick {
		t.Errorf("next jiffy's kick: %d %s", c, flagText(flags))
	}
	y.Nohz.NeedsUpdate = true
	if c, _ := y.Kick(0, 12); c >= 0 {
		t.Error("an interrupt although one is pending")
	}
	if got := y.CPUs[2].NohzFlags; got != StatsKick|BalanceKick|NextKick {
		t.Errorf("pending flags %s", flagText(got))
	}
	// NEWILB alone is no pending interrupt.
	y.CPUs[2].NohzFlags = NewILBKick
	if c, _ := y.Kick(0, 13); c != 2 {
		t.Error("no interrupt to a CPU with NEWILB only")
	}
	// A failed search still counts for the rate.
	for c := range 6 {
		y.put(c+2, 1, 1)
	}
	if c, _ := y.Kick(0, 14); c >= 0 || y.Nohz.NextBalance != 15 {
		t.Errorf("kick to %d, next balance %d", c, y.Nohz.NextBalance)
	}
}

// TestNohzMask: entering and leaving tickless idle.
func TestNohzMask(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	slot := y.H.LLCShared[0]
	busy := func() int { return y.Shared[slot].NrBusyCPUs }
	y.EnterNohz(3)
	y.EnterNohz(3)
	if busy() != 7 || !y.Nohz.IdleMask.Equal(mask(y, 3)) || !y.Nohz.NeedsUpdate || !y.Nohz.HasBlocked || !y.CPUs[3].HasBlockedLoad {
		t.Errorf("after entering: busy %d, %+v", busy(), y.Nohz)
	}
	y.Nohz.NeedsUpdate, y.Nohz.HasBlocked = false, false
	y.EnterNohz(3)
	if y.Nohz.NeedsUpdate || !y.Nohz.HasBlocked {
		t.Error("a further idle period with the tick stopped: want blocked load only")
	}
	y.put(3, 1, 1)
	if !y.Nohz.IdleMask.Has(3) {
		t.Error("the wakeup cleared the mask")
	}
	y.Kick(3, 1)
	if busy() != 8 || !y.Nohz.IdleMask.Empty() {
		t.Errorf("after the first busy tick: busy %d, mask %s", busy(), y.Nohz.IdleMask)
	}
	y.ExitNohz(3)
	if busy() != 8 {
		t.Error("left twice")
	}
	sh := smt2
	sh.options.Partition = mask(y, 0, 1, 2, 3)
	y = newSystem(t, sh, policy.Rules{})
	y.EnterNohz(5)
	if !y.Nohz.IdleMask.Empty() || y.Nohz.HasBlocked {
		t.Error("a CPU outside of every domain entered")
	}
	y.Nohz.NeedsUpdate = true
	y.EnterNohz(1)
	y.put(5, 2, 1)
	if c, _ := y.Kick(5, 1); c >= 0 {
		t.Error("a CPU outside of every domain kicks")
	}
}
