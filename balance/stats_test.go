// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"pgregory.net/rapid"

	"sibyl/domain"
	"sibyl/policy"
)

// refGroup is update_sg_lb_stats CPU by CPU, every sum taken.
func refGroup(b *Balancer, g *domain.Group, local bool) groupStats {
	s, e := b.s, &b.env
	st := groupStats{capacity: s.Groups[g.ID].Capacity, weight: int64(g.Weight)}
	for c := range g.Span.All() {
		if !e.cpus.Has(c) {
			continue
		}
		q := &s.CPUs[c]
		st.load += q.Avg.LoadAvg
		st.util += min(q.CapMax, max(q.Avg.UtilAvg, q.UtilEst))
		st.runnable += q.Avg.RunnableAvg
		st.hNr += int64(q.NrRunnable)
		st.nr += int64(q.NrRunning)
		if q.NrRunning == 0 && s.Idle.Has(c) {
			st.idle++
			continue
		}
		if local {
			continue
		}
		if e.d.Flags&domain.AsymCPUCapacity != 0 {
			if s.CPUs[e.dst].CapNow*1024 > s.Groups[g.ID].MaxCapacity*1078 {
				st.misfit = max(st.misfit, q.MisfitLoad)
			}
		} else if e.idle != NotIdle && q.NrRunnable == 1 && q.CapNow*int64(e.d.ImbalancePct) < q.CapMax*100 {
			st.misfit = max(st.misfit, q.Avg.LoadAvg)
		}
	}
	if !local && e.idle != NotIdle && st.hNr > 0 {
		single := g.Flags&domain.ShareCPUCapacity == 0 || st.weight-st.idle == 1
		st.asymPacking = single && b.asymMove(e.d, e.dst, g.AsymPreferCPU)
		st.smtBalance = g.Flags&domain.ShareCPUCapacity != 0 && st.hNr > 1
	}
	st.typ = classify(&st, s.Groups[g.ID].Imbalance, int64(e.d.ImbalancePct))
	if st.typ == Overloaded {
		st.avgLoad = st.load * 1024 / st.capacity
	}
	return st
}

// drawSystem is a machine in a random condition, with tasks that may be pinned,
// delayed, hot or of any lag.
func drawSystem(t *testing.T, rt *rapid.T, r policy.Rules) *system {
	names := []string{"smt2", "plain", "power7", "itmt", "numa", "smt4", "littles", "bigsmt"}
	sh := shapes[rapid.SampledFrom(names).Draw(rt, "shape")]
	if sh.threads > 1 && rapid.Bool().Draw(rt, "on") {
		sh = sh.on()
	}
	y := newSystem(t, sh, r)
	n := len(y.CPUs)
	for c := range n {
		q := &y.CPUs[c]
		q.RTUtil = rapid.SampledFrom([]int64{0, 0, 0, 200}).Draw(rt, "rt")
		for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3, 5}).Draw(rt, "tasks") {
			task := y.AddTask("t", nil, -1)
			task.Avg.UtilAvg = rapid.Int64Range(0, 1024).Draw(rt, "util")
			task.Avg.RunnableAvg = task.Avg.UtilAvg + rapid.Int64Range(0, 200).Draw(rt, "waits")
			task.Avg.LoadAvg = rapid.Int64Range(0, 1024).Draw(rt, "load")
			task.HLoad = task.Avg.LoadAvg
			task.SE.VRuntime = rapid.Int64Range(-3, 3).Draw(rt, "vruntime")
			task.LastRan = rapid.SampledFrom([]int64{-1 << 40, 0}).Draw(rt, "ran")
			if rapid.IntRange(0, 2).Draw(rt, "pinned") == 0 {
				y.SetAllowed(task, mask(y, c, rapid.IntRange(0, n-1).Draw(rt, "other")))
			}
			if q.NrRunning > 0 && rapid.IntRange(0, 4).Draw(rt, "delayed") == 0 {
				task.SE.Delayed = true
			}
			y.queue(task, c)
		}
		// Blocked load, and a util_est that has not decayed.
		q.Avg.UtilAvg += rapid.Int64Range(0, 50).Draw(rt, "blocked")
		q.UtilEst = rapid.Int64Range(0, 1100).Draw(rt, "est")
		if q.NrRunning > 0 && y.H.AsymActive {
			y.UpdateMisfit(c, q.Curr)
		}
	}
	y.settle()
	for i := range y.Groups {
		y.Groups[i].Imbalance = rapid.IntRange(0, 7).Draw(rt, "imbalance") == 0
	}
	for i := range y.Domains {
		y.Domains[i].NrBalanceFailed = rapid.SampledFrom([]int{0, 0, 1, 4}).Draw(rt, "failed")
	}
	return y
}

func drawIdle(rt *rapid.T, y *system, dst int) Idle {
	if !y.Idle.Has(dst) {
		return NotIdle
	}
	return rapid.SampledFrom([]Idle{CPUIdle, NewlyIdle}).Draw(rt, "idle")
}

// TestGroupStatsMatchReference holds that leaving out idle CPUs and averages
// that nothing depends on changes no type, count, load or misfit.
func TestGroupStatsMatchReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		y := drawSystem(t, rt, policy.Rules{})
		dst := rapid.IntRange(0, len(y.CPUs)-1).Draw(rt, "dst")
		for d := y.H.Base[dst]; d != nil; d = d.Parent {
			y.env.d, y.env.dst, y.env.idle = d, dst, drawIdle(rt, y, dst)
			y.env.cpus.And(d.Span, y.H.Active)
			if rapid.Bool().Draw(rt, "drop") {
				y.env.cpus.Clear(rapid.IntRange(0, len(y.CPUs)-1).Draw(rt, "dropped"))
			}
			y.resetStats()
			for _, g := range d.Groups {
				local := g.Span.Has(dst)
				var got groupStats
				y.sumGroup(&got, g, local, false)
				want := refGroup(y.Balancer, g, local)
				if !got.summed {
					want.load, want.util, want.runnable = 0, 0, 0
				}
				want.summed = got.summed
				if got != want {
					rt.Fatalf("%s group %s for %d:\n got %+v\nwant %+v", d.Name, g.Span, dst, got, want)
				}
			}
		}
	})
}

// TestOverloadedAndIdleScan: what a pass over the root publishes.
func TestOverloadedAndIdleScan(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	mc := y.level(t, 2, "MC")
	y.put(1, 1, 1000)
	y.RDOverloaded = true
	y.Shared[mc.Shared].NrIdleScan = 77
	y.Pass(mc, 2, NewlyIdle, 0, 0)
	if y.Shared[mc.Shared].NrIdleScan != 77 {
		t.Error("a newly idle pass wrote nr_idle_scan")
	}
	if y.RDOverloaded {
		t.Error("overloaded with one task a CPU")
	}
	y.CPUs[0].Avg.UtilAvg = 1024
	for c := range 4 {
		y.CPUs[4+c].Avg.UtilAvg = 518
	}
	y.Pass(mc, 2, CPUIdle, 0, 0)
	if got, want := y.Shared[mc.Shared].NrIdleScan, idleScan(1000+1024+4*518, 8, 117); got != want {
		t.Errorf("nr_idle_scan %d, want %d: blocked utilisation counts", got, want)
	}
	y.put(1, 1, 0)
	y.RDOverloaded = false
	y.Pass(mc.Child, 2, CPUIdle, 0, 0)
	if y.RDOverloaded {
		t.Error("a pass below the root wrote overloaded")
	}
	y.Pass(mc, 3, CPUIdle, 0, 0)
	if y.RDOverloaded {
		t.Error("a pass of the wrong CPU looked at the groups")
	}
	y.Pass(mc, 2, CPUIdle, 0, 0)
	if !y.RDOverloaded {
		t.Error("two tasks on a CPU: not overloaded")
	}
}

// TestMisfitOverload: a misfit is work for the root domain, whether or not dst
// helps, but a task that fits is not.
func TestMisfitOverload(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rules  policy.Rules
		dst    int
		misfit int64
		over   bool
		typ    GroupType
	}{
		{"fits", policy.Rules{}, 2, 0, false, HasSpare},
		{"misfit, larger dst", policy.Rules{}, 2, 5, true, MisfitTask},
		{"misfit, equal dst", policy.Rules{}, 0, 5, true, HasSpare},
		{"misfit, equal dst, row 16", policy.Rules{MisfitLoadAnyDst: true}, 0, 5, true, MisfitTask},
	} {
		y := newSystem(t, littles, tc.rules)
		y.put(1, 1, 1)
		y.CPUs[1].MisfitLoad = tc.misfit
		d := y.level(t, tc.dst, "MC")
		y.Pass(d, tc.dst, NewlyIdle, 0, 0)
		if y.RDOverloaded != tc.over {
			t.Errorf("%s: overloaded %t", tc.name, y.RDOverloaded)
		}
		for _, g := range d.Groups {
			if g.Span.Has(1) {
				var st groupStats
				if y.sumGroup(&st, g, false, false); st.typ != tc.typ {
					t.Errorf("%s: type %s", tc.name, st.typ)
				}
			}
		}
	}
}

// TestIdleScan has the vectors of mechanisms 2.6 and 10.8.
func TestIdleScan(t *testing.T) {
	for _, tc := range []struct{ util, weight, pct, want int64 }{
		{0, 8, 117, 8},
		{4096, 8, 117, 5},
		{6963, 8, 117, 0},
		{176 * 512, 176, 117, 115},
		{1 << 30, 176, 117, 0},
		{0, 1, 110, 1},
	} {
		if got := idleScan(tc.util, tc.weight, tc.pct); got != int(tc.want) {
			t.Errorf("util %d of %d CPUs: %d, want %d", tc.util, tc.weight, got, tc.want)
		}
	}
}

func TestIdleScanSlot(t *testing.T) {
	for _, tc := range []struct {
		name  string
		shape shape
		rules policy.Rules
		level string
		idle  Idle
		want  bool
	}{
		{"LLC", smt2, policy.Rules{}, "MC", CPUIdle, true},
		{"busy pass", smt2, policy.Rules{}, "MC", NotIdle, true},
		{"newidle", smt2, policy.Rules{}, "MC", NewlyIdle, false},
		{"no SIS_UTIL", smt2, policy.Rules{NoSISUtil: true}, "MC", CPUIdle, false},
		{"SMT has no shared object", smt2, policy.Rules{}, "SMT", CPUIdle, false},
		{"row 5: as wide as the LLC", smt2, policy.Rules{IdleScanLLCPassOnly: true}, "MC", CPUIdle, true},
		{"row 5: wider", numa, policy.Rules{IdleScanLLCPassOnly: true}, "NUMA", CPUIdle, false},
	} {
		y := newSystem(t, tc.shape, tc.rules)
		y.env.d, y.env.dst, y.env.idle = y.level(t, 0, tc.level), 0, tc.idle
		if got := y.idleScanSlot() >= 0; got != tc.want {
			t.Errorf("%s: written %t", tc.name, got)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, tc := range []struct {
		name   string
		st     groupStats
		pinned bool
		want   GroupType
	}{
		{"empty", groupStats{}, false, HasSpare},
		{"one of two", groupStats{nr: 1, util: 2048, runnable: 9999}, false, HasSpare},
		{"two, utilised to 85 per cent", groupStats{nr: 2, util: 1750}, false, HasSpare},
		{"two, utilised beyond", groupStats{nr: 2, util: 1751}, false, FullyBusy},
		{"two, waiting", groupStats{nr: 2, runnable: 2397}, false, FullyBusy},
		{"three, some capacity left", groupStats{nr: 3, util: 1750}, false, HasSpare},
		{"three, none left", groupStats{nr: 3, util: 1751}, false, Overloaded},
		{"three, waiting", groupStats{nr: 3, runnable: 2397}, false, Overloaded},
		{"three, at the edge of waiting", groupStats{nr: 3, runnable: 2396}, false, HasSpare},
		{"pinned", groupStats{nr: 1, asymPacking: true}, true, Imbalanced},
		{"pinned and overloaded", groupStats{nr: 3, util: 2048}, true, Overloaded},
		{"asym before smt", groupStats{nr: 2, asymPacking: true, smtBalance: true}, false, AsymPacking},
		{"smt before misfit", groupStats{nr: 2, smtBalance: true, misfit: 1}, false, SMTBalance},
		{"misfit before fully busy", groupStats{nr: 2, util: 2048, misfit: 1}, false, MisfitTask},
		{"two, utilised to the edge", groupStats{nr: 2, util: 1000, capacity: 1170}, false, FullyBusy},
		{"three, utilised to the edge", groupStats{nr: 3, util: 1000, capacity: 1170}, false, FullyBusy},
	} {
		tc.st.weight = 2
		if tc.st.capacity == 0 {
			tc.st.capacity = 2048
		}
		if got := classify(&tc.st, tc.pinned, 117); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
