// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"

	"sibyl/policy"
	"sibyl/state"
)

// The arithmetic vectors of mechanisms 10.8.
func TestFitsMargin(t *testing.T) {
	for _, tt := range []struct {
		u, capacity int64
		want        bool
	}{{819, 1024, true}, {820, 1024, false}, {0, 1, true}, {1, 1, false}, {409, 512, true}, {410, 512, false}} {
		if got := FitsMargin(tt.u, tt.capacity); got != tt.want {
			t.Errorf("FitsMargin(%d, %d) = %v", tt.u, tt.capacity, got)
		}
	}
}

func TestCapGreater(t *testing.T) {
	if !CapGreater(1024, 972) || CapGreater(1024, 973) || CapGreater(1024, 1024) {
		t.Error("CapGreater: want 1024 above 972, not above 973")
	}
}

func TestWakeWide(t *testing.T) {
	for _, tt := range []struct {
		a, b uint32
		want bool
	}{{7, 100, false}, {8, 63, false}, {8, 64, true}, {64, 8, true}, {0, 0, false}, {1 << 31, 1 << 31, false}, {8, 1 << 31, true}} {
		if got := wakeWide(tt.a, tt.b, 8); got != tt.want {
			t.Errorf("wakeWide(%d, %d, 8) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// mechanisms 3.1: what each clamp does on a half-size CPU (0) and a full-size
// one (4) of the big.LITTLE machine.
func TestUtilFits(t *testing.T) {
	y := newSystem(t, bigSmall.hierarchy(t), policy.Rules{})
	const small, big = 0, 4
	y.CPUs[big].CapNow, y.CPUs[big].CapActual = 900, 950
	for _, tt := range []struct {
		name          string
		uclamp        bool
		u, umin, umax int64
		cpu, want     int
	}{
		{"below the margin", false, 409, 0, 1024, small, 1},
		{"at the margin", false, 410, 0, 1024, small, 0},
		{"clamps are not read before any is used", false, 10, 1024, 1024, small, 0 + 1},
		{"a cap at the CPU's size makes it fit", true, 900, 0, 512, small, 1},
		{"a cap above it does not", true, 900, 0, 513, small, 0},
		{"the default cap on the biggest CPU is no cap", true, 1000, 0, 1024, big, 0},
		{"a cap below it is", true, 1000, 0, 1023, big, 1},
		{"floor above the actual capacity", true, 100, 600, 1024, small, -1},
		{"floor at the actual capacity", true, 100, 512, 1024, small, 1},
		{"floor below the utilisation is no floor", true, 400, 400, 1024, small, 1},
		{"floor is read against CapActual, not CapNow", true, 100, 940, 1024, big, 1},
		{"floor above CapActual", true, 100, 951, 1024, big, -1},
		{"the cap bounds the floor", true, 100, 900, 512, small, 1},
		{"no fit is 0 even with a missed floor", true, 450, 600, 1024, small, 0},
	} {
		y.UclampUsed = tt.uclamp
		if got := UtilFits(y.State, tt.u, tt.umin, tt.umax, tt.cpu); got != tt.want {
			t.Errorf("%s: UtilFits = %d, want %d", tt.name, got, tt.want)
		}
	}
}

// mechanisms 0.2 and 0.3 row 1.
func TestChoose(t *testing.T) {
	y := newSystem(t, guest.hierarchy(t), policy.Rules{})
	y.busy(1)
	y.idlePolicy(2)
	y.preempted(3)
	y.pending(4)
	y.idlePolicy(5) // an RT task beside it
	y.CPUs[5].NrRunning = 2
	y.Sync(5)
	want := []bool{true, false, true, false, false, false, true, true}
	y.begin(y.wakeup(0, 0, 0))
	for c, w := range want {
		if got := y.choose(c); got != w {
			t.Errorf("choose(%d) = %v for a normal task", c, got)
		}
	}
	y.p.Policy = state.IdlePolicy
	if y.choose(2) {
		t.Error("a SCHED_IDLE task takes a SCHED_IDLE run queue")
	}
	y.Rules.IdlePolicyAnyTask = true
	if !y.choose(2) {
		t.Error("up to 7.0 a SCHED_IDLE task takes a SCHED_IDLE run queue")
	}
}

// mechanisms 3.2: RestIdle is weak and ignores the CPU itself; the key is
// global; plain capacity drops the gate.
func TestAsymFits(t *testing.T) {
	y := newSystem(t, bigSmall.hierarchy(t), policy.Rules{})
	if !y.H.AsymActive {
		t.Fatal("machine is not asymmetric")
	}
	y.busy(5)
	y.idlePolicy(6)
	y.preempted(3)
	y.begin(y.wakeup(0, 0, 0))
	y.fit.util = 300
	for _, tt := range []struct {
		cpu         int
		gate, plain bool
	}{{0, true, true}, {4, false, true}, {5, true, true}, {6, true, true}, {7, false, true}, {2, true, true}} {
		y.Rules.AsymCapacity = policy.AsymSMT
		if got := y.asymFits(tt.cpu); got != tt.gate {
			t.Errorf("asymFits(%d) = %v", tt.cpu, got)
		}
		y.Rules.AsymCapacity = policy.AsymPlain
		if got := y.asymFits(tt.cpu); got != tt.plain {
			t.Errorf("asymFits(%d) = %v up to 7.1", tt.cpu, got)
		}
	}
	y.Rules.AsymCapacity = policy.AsymSMT
	y.fit.util = 500
	if y.asymFits(0) {
		t.Error("500 fits a CPU of 512")
	}
}

// mechanisms 2.3.
func TestNoteWakee(t *testing.T) {
	y := newSystem(t, guest.hierarchy(t), policy.Rules{})
	note := func(r Request) { y.begin(r); y.noteWakee() }
	r := y.wakeup(0, 0, 0)
	y.w.WakeeDecay = r.Now
	note(r)
	note(r)
	if y.w.WakeeFlips != 1 || y.w.LastWakee != y.p.ID {
		t.Errorf("after two wakeups of p: flips %d, last wakee %d", y.w.WakeeFlips, y.w.LastWakee)
	}
	r.Task = y.hog.ID
	note(r)
	if y.w.WakeeFlips != 2 {
		t.Errorf("another wakee: flips %d, want 2", y.w.WakeeFlips)
	}
	// Exactly HZ jiffies later nothing is halved; one more jiffy halves
	// once, however long the gap.
	y.w.WakeeFlips = 100
	r.Now += 1_000_000_000
	note(r)
	if y.w.WakeeFlips != 100 {
		t.Errorf("one second: flips %d, want 100", y.w.WakeeFlips)
	}
	r.Now += y.TickNS
	note(r)
	if y.w.WakeeFlips != 50 || y.w.WakeeDecay != r.Now {
		t.Errorf("one second and a jiffy: flips %d, want 50", y.w.WakeeFlips)
	}
	r.Now += 3_600_000_000_000
	note(r)
	if y.w.WakeeFlips != 25 {
		t.Errorf("an hour: flips %d, want 25", y.w.WakeeFlips)
	}
	// The idle task of a CPU has its own bookkeeping.
	r.Waker, r.Here = state.None, 3
	note(r)
	if y.CPUs[3].IdleWakeeFlips != 1 || y.CPUs[3].IdleLastWakee != y.hog.ID || y.CPUs[2].IdleWakeeFlips != 0 || y.w.WakeeFlips != 25 {
		t.Error("a wakeup from an interrupt on an idle CPU is not its idle task's")
	}
}

func TestNames(t *testing.T) {
	if got := (TTWU | Sync).String(); got != "WF_TTWU|WF_SYNC" {
		t.Errorf("flags 0x18 are %q", got)
	}
	if got := Flags(1).String(); got != "0x1" {
		t.Errorf("flag 1 is %q", got)
	}
	for r := Rule(1); r < nrRules; r++ {
		back, ok := ParseRule(r.String())
		if !ok || back != r {
			t.Errorf("rule %d: name %q is read as %d, %v", r, r, back, ok)
		}
	}
	if _, ok := ParseRule(""); ok || Rule(0).String() != "rule(0)" {
		t.Error("rule 0 has a name")
	}
}
