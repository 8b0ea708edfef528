// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"pgregory.net/rapid"

	"sibyl/policy"
	"sibyl/state"
)

// drawRules are the switches that passes consult.
func drawRules(rt *rapid.T) policy.Rules {
	b := func(name string) bool { return rapid.IntRange(0, 3).Draw(rt, name) == 0 }
	return policy.Rules{
		IdleScanLLCPassOnly: b("row5"), MisfitPullAnyCore: b("row14"), MinCapacityTestLast: b("row15"),
		MisfitLoadAnyDst: b("row16"), LoneTaskNeedsCapacity: b("row17"), CountsDelayed: b("row18"),
		PullsIneligible: b("row21"), ActiveAnyCurrent: b("row22"),
	}
}

// TestPassProperties: whatever the condition, a plan takes waiting tasks of one
// source that may run where they are sent, and never empties the source of a
// newly idle or idle CPU's pass.
func TestPassProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		y := drawSystem(t, rt, drawRules(rt))
		dst := rapid.IntRange(0, len(y.CPUs)-1).Draw(rt, "dst")
		for d := y.H.Base[dst]; d != nil; d = d.Parent {
			idle := drawIdle(rt, y, dst)
			before := y.Domains[d.ID]
			p := y.Pass(d, dst, idle, 1_000_000, 100)
			if len(p.Tasks) > 0 && p.Src < 0 {
				rt.Fatal("tasks from nowhere")
			}
			if (p.Src < 0 || !p.Continue) && (len(p.Tasks) > 0 || p.Active) {
				rt.Fatalf("balanced, yet %+v", *p)
			}
			if p.Active && len(p.Tasks) > 0 {
				rt.Fatal("active balance although tasks were moved")
			}
			seen := map[state.TaskID]bool{}
			for _, m := range p.Tasks {
				task := y.Tasks[m.Task]
				switch {
				case task.CPU != p.Src || !task.Queued:
					rt.Fatalf("task %d is not on the source", m.Task)
				case y.CPUs[p.Src].Curr == m.Task:
					rt.Fatalf("task %d runs", m.Task)
				case !task.Allowed.Has(m.Dst):
					rt.Fatalf("task %d may not run on %d", m.Task, m.Dst)
				case !d.Groups[0].Span.Has(m.Dst) || d.Groups[0].Span.Has(p.Src):
					rt.Fatalf("task %d goes from %d to %d, not into the local group", m.Task, p.Src, m.Dst)
				case seen[m.Task]:
					rt.Fatalf("task %d twice", m.Task)
				case idle == NewlyIdle && m.Dst != dst:
					rt.Fatalf("a newly idle pass sends a task to %d", m.Dst)
				}
				seen[m.Task] = true
			}
			if idle == NewlyIdle && len(p.Tasks) > 1 {
				rt.Fatal("a newly idle pass takes more than one")
			}
			if n := len(p.Tasks); n > 0 && idle != NotIdle && int(y.CPUs[p.Src].NrRunning) == n {
				rt.Fatal("the source is emptied")
			}
			after := y.Domains[d.ID]
			switch failed := after.NrBalanceFailed; {
			case len(p.Tasks) > 0 || p.Src < 0:
				if failed != 0 {
					rt.Fatalf("failures %d after success or balance", failed)
				}
			case failed != before.NrBalanceFailed && (failed != before.NrBalanceFailed+1 || idle == NewlyIdle):
				rt.Fatalf("failures %d -> %d", before.NrBalanceFailed, failed)
			}
			// The MRU lists still hold the same tasks.
			for c := range y.CPUs {
				n := 0
				for id := y.MRUFirst(c); id != state.None; id = y.MRUAfter(id) {
					n++
				}
				if n != int(y.CPUs[c].NrQueued) {
					rt.Fatalf("CPU %d: %d tasks listed, %d queued", c, n, y.CPUs[c].NrQueued)
				}
			}
			y.move(p)
			if p.Active {
				id := y.ActiveTask(p.Src, dst, 1_000_000)
				if id != state.None && (!y.Tasks[id].Allowed.Has(dst) || y.Tasks[id].CPU != p.Src) {
					rt.Fatalf("the stopper moves task %d", id)
				}
			}
			if !p.Continue {
				break
			}
		}
	})
}

// TestSettles: on a machine of equal CPUs whose tasks may run anywhere, walks
// of all CPUs end in a condition that further walks leave alone, with at most
// one task a core where there are cores enough. That is the spreading that
// prefer_sibling asks for, and nothing moves when balanced.
func TestSettles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sh := rapid.SampledFrom([]shape{smt2, plain, smt4}).Draw(rt, "shape")
		y := newSystem(t, sh, policy.Rules{})
		n := rapid.IntRange(1, sh.cores).Draw(rt, "tasks")
		for range n {
			y.put(rapid.IntRange(0, len(y.CPUs)-1).Draw(rt, "cpu"), 1, 100)
		}
		quiet := 0
		for round := range 200 {
			moved := y.allPasses(int64(round) * 100)
			if quiet++; moved {
				quiet = 0
			}
			if quiet > 8 {
				break
			}
		}
		if quiet <= 8 {
			rt.Fatalf("still moving: %s", y.runText())
		}
		cores := map[int]int{}
		for c := range y.CPUs {
			cores[y.H.Core[c]] += int(y.CPUs[c].NrRunning)
		}
		for core, k := range cores {
			if k > 1 {
				rt.Fatalf("core %d has %d tasks of %d: %s", core, k, n, y.runText())
			}
		}
	})
}

// allPasses runs every CPU's walk once and does what the plans say.
func (y *system) allPasses(jiffies int64) bool {
	moved := false
	for c := range y.CPUs {
		for d := y.H.Base[c]; d != nil; d = d.Parent {
			idle := CPUIdle
			if !y.Idle.Has(c) {
				idle = NotIdle
			}
			p := y.Pass(d, c, idle, 1_000_000, jiffies)
			more := p.Continue
			moved = moved || len(p.Tasks) > 0
			y.move(p)
			if p.Active {
				if id := y.ActiveTask(p.Src, c, 1_000_000); id != state.None {
					task := y.Tasks[id]
					y.take(task)
					y.queue(task, c)
					moved = true
				}
			}
			if !more {
				break
			}
		}
	}
	return moved
}
