// SPDX-License-Identifier: Apache-2.0

package coremode

import (
	"testing"

	"pgregory.net/rapid"

	"sibyl/machine"
)

func olympus(t interface{ Fatal(...any) }) *Params {
	p, ok := NewParams(machine.CoreMode{FreqKHz: 2_880_000, Qualify: 10240, In: []int64{796, 625}, Out: 923})
	if !ok {
		t.Fatal("olympus has modes")
	}
	return &p
}

func TestParamsRoundToNanoseconds(t *testing.T) {
	p := olympus(t)
	if p.Qualify != 3556 || p.Out != 320 || p.In[0] != 276 || p.In[1] != 217 {
		t.Errorf("got qualify %d out %d in %v, want 3556, 320, [276 217]", p.Qualify, p.Out, p.In)
	}
	if _, ok := NewParams(machine.CoreMode{FreqKHz: 1}); ok {
		t.Error("a core without qualification interval has no modes")
	}
}

// TestExcursion walks one wakeup of the sibling through every mode with the
// counters of hardware.md 1.1.
func TestExcursion(t *testing.T) {
	p := olympus(t)
	var c Core
	c.Wake(p, 1, 0) // the long runner on PE1
	if c.Mode != ST || c.Next != Never {
		t.Fatalf("one thread: %v, next %d", c.Mode, c.Next)
	}
	c.Wake(p, 0, 1000) // an interrupt on PE0
	if c.Mode != In || c.Next != 1276 {
		t.Fatalf("sibling woke: %v, next %d", c.Mode, c.Next)
	}
	c.Timer(p, 1276)
	if c.Mode != SMT || c.Next != Never {
		t.Fatalf("both active: %v, next %d", c.Mode, c.Next)
	}
	c.Sleep(p, 0, 4000)
	if c.Mode != SMT || c.Next != 4000+3556 {
		t.Fatalf("sibling in WFI: %v, next %d", c.Mode, c.Next)
	}
	c.Timer(p, 7556)
	if c.Mode != Out || c.Next != 7876 {
		t.Fatalf("qualified: %v, next %d", c.Mode, c.Next)
	}
	if !c.Timer(p, 7876) || c.Mode != ST {
		t.Fatalf("round trip not completed: %v", c.Mode)
	}
	want := Counters{STToSMT: 1, SMTToST: 1, STToSMTCycles: 2 * 796, SMTToSTCycles: 923, SMTTime: 7556 - 1276}
	if c.Counts != want {
		t.Errorf("counters %+v, want %+v", c.Counts, want)
	}
}

func TestShortBurstEndsInsideTheSwitch(t *testing.T) {
	p := olympus(t)
	var c Core
	c.Wake(p, 0, 0)
	c.Wake(p, 1, 100)
	c.Sleep(p, 1, 150) // asleep before the switch is complete
	c.Timer(p, c.Next)
	if c.Mode != SMT || c.Next != 150+p.Qualify {
		t.Errorf("%v next %d, want SMT until %d", c.Mode, c.Next, 150+p.Qualify)
	}
}

func TestWakeDuringQualificationRestartsIt(t *testing.T) {
	p := olympus(t)
	var c Core
	c.Wake(p, 0, 0)
	c.Wake(p, 1, 100)
	c.Timer(p, c.Next)
	c.Sleep(p, 1, 2000)
	c.Wake(p, 1, 5000)
	if c.Mode != SMT || c.Next != Never || c.Counts.Aborted != 0 {
		t.Fatalf("%v next %d aborted %d", c.Mode, c.Next, c.Counts.Aborted)
	}
	c.Sleep(p, 1, 5100)
	if c.Next != 5100+p.Qualify {
		t.Errorf("next %d, want the whole interval again", c.Next)
	}
}

func TestWakeDuringOutAborts(t *testing.T) {
	p := olympus(t)
	var c Core
	c.Wake(p, 0, 0)
	c.Wake(p, 1, 100)
	c.Timer(p, c.Next)
	c.Sleep(p, 1, 1000)
	out := c.Next
	c.Timer(p, out)
	if !c.Wake(p, 1, out+100) || c.Mode != SMT {
		t.Fatalf("mode %v after a wake in Out, want SMT", c.Mode)
	}
	if c.Counts.Aborted != 1 || c.Counts.SMTToSTCycles != 288 || c.Counts.SMTToST != 0 {
		t.Errorf("counters %+v, want one abort of 288 cycles", c.Counts)
	}
}

func TestBothIdleDropsToSTUncounted(t *testing.T) {
	p := olympus(t)
	var c Core
	c.Wake(p, 0, 0)
	c.Wake(p, 1, 100)
	c.Timer(p, c.Next)
	c.Sleep(p, 0, 900)
	c.Sleep(p, 1, 1000)
	if c.Mode != ST || c.Next != Never || c.Counts.SMTToST != 0 {
		t.Errorf("%v next %d smt->st %d", c.Mode, c.Next, c.Counts.SMTToST)
	}
	if c.Wake(p, 1, 1100) || c.Mode != ST {
		t.Error("one thread alone wakes into ST")
	}
}

// TestConservation drives a core with random sleeps and wakes: transitions
// there and back differ by at most one plus the drops to idle, and an abort
// needs a wake in Out (hardware.md 5).
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := olympus(t)
		var c Core
		now, drops, wakesInOut := int64(0), int64(0), int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			now += rapid.Int64Range(1, 5000).Draw(t, "gap")
			for c.init && c.Next <= now {
				c.Timer(p, c.Next)
			}
			pe := rapid.IntRange(0, 1).Draw(t, "pe")
			if c.Active(pe) {
				if c.Sleep(p, pe, now) {
					drops++
				}
			} else {
				if c.Mode == Out {
					wakesInOut++
				}
				c.Wake(p, pe, now)
			}
		}
		d := c.Counts.STToSMT - c.Counts.SMTToST
		if d < 0 || d > 1+drops {
			t.Fatalf("there %d, back %d, drops %d", c.Counts.STToSMT, c.Counts.SMTToST, drops)
		}
		if c.Counts.Aborted != wakesInOut {
			t.Fatalf("aborts %d, wakes in Out %d", c.Counts.Aborted, wakesInOut)
		}
	})
}
