// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math"
	"testing"

	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

// mechanisms 4.2: the type of a group, first match.
func TestClassify(t *testing.T) {
	const pct = 117
	for _, tt := range []struct {
		name      string
		st        groupStats
		imbalance bool
		want      groupType
	}{
		{"as many tasks as CPUs is never overloaded", groupStats{running: 4, weight: 4, capacity: 4096, util: 4096, runnable: 9999}, false, fullyBusy},
		{"one more, and util above capacity/pct", groupStats{running: 5, weight: 4, capacity: 4096, util: 3501}, false, overloaded},
		{"one more, util at the edge", groupStats{running: 5, weight: 4, capacity: 4096, util: 3500}, false, hasSpare},
		{"one more, and runnable above capacity*pct", groupStats{running: 5, weight: 4, capacity: 4096, runnable: 4793}, false, overloaded},
		{"one more, runnable at the edge", groupStats{running: 5, weight: 4, capacity: 4096, runnable: 4792}, false, hasSpare},
		{"imbalanced before misfit", groupStats{running: 1, weight: 4, misfit: true}, true, imbalanced},
		{"misfit before spare", groupStats{running: 1, weight: 4, misfit: true}, false, misfitTask},
		{"fewer tasks than CPUs has capacity", groupStats{running: 3, weight: 4, capacity: 4096, util: 4096, runnable: 9999}, false, hasSpare},
	} {
		if got := classify(&tt.st, pct, tt.imbalance); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// mechanisms 4.2: when a remote group replaces the best one so far.
func TestIdler(t *testing.T) {
	h := shape{nodes: 3, cores: 2, capacity: func(c int) int { return 512 + 256*(c/2) }}.hierarchy(t)
	p := New(state.New(h, 250), policy.Rules{})
	top := h.Base[0]
	for top.Parent != nil {
		top = top.Parent
	}
	small, mid, big := top.Groups[0], top.Groups[1], top.Groups[2]
	none := groupStats{typ: overloaded, avgLoad: math.MaxInt64}
	for _, tt := range []struct {
		name     string
		st, best groupStats
		g, bestG *domain.Group
		want     bool
	}{
		{"anything replaces nothing", groupStats{typ: imbalanced}, none, small, nil, true},
		{"overloaded replaces nothing", groupStats{typ: overloaded, avgLoad: 5000}, none, small, nil, true},
		{"lower type", groupStats{typ: fullyBusy, avgLoad: 9}, groupStats{typ: misfitTask}, small, big, true},
		{"higher type", groupStats{typ: misfitTask}, groupStats{typ: fullyBusy}, big, small, false},
		{"lower load", groupStats{typ: fullyBusy, avgLoad: 9}, groupStats{typ: fullyBusy, avgLoad: 10}, small, mid, true},
		{"equal load", groupStats{typ: overloaded, avgLoad: 10}, groupStats{typ: overloaded, avgLoad: 10}, small, mid, false},
		{"imbalanced never", groupStats{typ: imbalanced}, groupStats{typ: imbalanced, avgLoad: 10}, small, mid, false},
		{"larger capacity", groupStats{typ: misfitTask}, groupStats{typ: misfitTask}, big, mid, true},
		{"equal capacity", groupStats{typ: misfitTask}, groupStats{typ: misfitTask}, mid, mid, false},
		{"more idle CPUs", groupStats{idle: 3, util: 9}, groupStats{idle: 2, util: 1}, small, mid, true},
		{"fewer idle CPUs", groupStats{idle: 1}, groupStats{idle: 2, util: 9}, small, mid, false},
		{"as many, less util", groupStats{idle: 2, util: 1}, groupStats{idle: 2, util: 2}, small, mid, true},
		{"as many, equal util", groupStats{idle: 2, util: 2}, groupStats{idle: 2, util: 2}, small, mid, false},
	} {
		if got := p.idler(&tt.st, tt.g, &tt.best, tt.bestG); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// mechanisms 4.2: the local group against the best remote one.
func TestStaysLocal(t *testing.T) {
	h := shape{nodes: 2, cores: 8, capacity: func(c int) int { return 512 * (1 + c/8) }}.hierarchy(t)
	y := newSystem(t, h, policy.Rules{})
	y.begin(y.wakeup(0, 0, 0))
	mc, numa := *h.Base[0], *h.Base[0].Parent
	if numa.Flags&domain.NUMA == 0 || mc.Flags&domain.NUMA != 0 {
		t.Fatal("unexpected domains")
	}
	mc.ImbalancePct, numa.ImbalancePct, numa.ImbNUMANr = 117, 117, 3
	small, big := numa.Groups[0], numa.Groups[1]
	busy := func(load int64) groupStats { return groupStats{typ: fullyBusy, avgLoad: load} }
	spare := func(idle, running int64) groupStats { return groupStats{idle: idle, running: running} }
	for _, tt := range []struct {
		name   string
		d      *domain.Domain
		l, r   groupStats
		allow  []int
		lg, rg *domain.Group
		want   bool
	}{
		{name: "better type stays", d: &mc, l: spare(0, 9), r: busy(0), want: true},
		{name: "worse type goes", d: &mc, l: busy(0), r: spare(0, 9), want: false},
		{name: "numa: remote + 174 reaches local", d: &numa, l: busy(2174), r: busy(2000), want: true},
		{name: "numa: clearly smaller", d: &numa, l: busy(2400), r: busy(2000), want: false},
		{name: "remote reaches local + 174", d: &mc, l: busy(1000), r: busy(1174), want: true},
		{name: "within the percentage", d: &mc, l: busy(1170), r: busy(1000), want: true},
		{name: "above the percentage", d: &mc, l: busy(1171), r: busy(1000), want: false},
		{name: "misfit: local as large", d: &mc, l: groupStats{typ: misfitTask}, r: groupStats{typ: misfitTask}, lg: big, rg: small, want: true},
		{name: "misfit: remote larger", d: &mc, l: groupStats{typ: misfitTask}, r: groupStats{typ: misfitTask}, lg: small, rg: big, want: false},
		{name: "imbalanced stays", d: &mc, l: groupStats{typ: imbalanced}, r: groupStats{typ: imbalanced}, want: true},
		{name: "as many idle", d: &mc, l: spare(4, 0), r: spare(4, 0), want: true},
		{name: "fewer idle", d: &mc, l: spare(3, 0), r: spare(4, 0), want: false},
		{name: "numa: tolerated", d: &numa, l: spare(6, 2), r: spare(8, 0), want: true},
		{name: "numa: one task too many", d: &numa, l: spare(6, 3), r: spare(8, 0), want: false},
		{name: "numa: three idle CPUs more", d: &numa, l: spare(5, 2), r: spare(8, 0), want: false},
		{name: "numa: the mask lowers what is allowed", d: &numa, l: spare(6, 2), r: spare(8, 0), allow: []int{0, 1, 9}, want: false},
	} {
		if tt.lg == nil {
			tt.lg, tt.rg = small, big
		}
		if tt.allow == nil {
			tt.allow = seq(0, 16)
		}
		y.allow(y.p, tt.allow...)
		if got, why := y.staysLocal(tt.d, tt.lg, tt.rg, &tt.l, &tt.r); got != tt.want {
			t.Errorf("%s: stays %v (%s)", tt.name, got, why)
		}
	}
}

// mechanisms 4.2 and 0.3 row 9: the sums leave out the task itself and, except
// in older editions, CPUs outside its mask.
func TestSumGroup(t *testing.T) {
	h := shape{nodes: 2, cores: 4}.hierarchy(t)
	y := newSystem(t, h, policy.Rules{})
	d := h.Base[0]
	for d.Parent != nil {
		d = d.Parent
	}
	y.busy(0, 1, 2)
	y.pending(3)
	y.CPUs[1].UtilEst = 2000 // above the capacity: capped
	p := y.p
	p.CPU, p.Queued, p.HLoad, p.UtilEst = 0, true, 1000, 300
	p.Avg.LastUpdate, p.Avg.UtilAvg, p.Avg.RunnableAvg = 1024, 200, 400
	y.CPUs[0].Curr, y.CPUs[0].UtilEst = p.ID, 500
	y.begin(Request{Task: p.ID, Flags: Exec, Waker: p.ID})
	var st groupStats
	y.sumGroup(&st, d, d.Groups[0])
	want := groupStats{
		load: 24 + 1024 + 1024, util: 824 + 1024 + 1024, runnable: 624 + 1024 + 1024,
		running: 2, idle: 1, capacity: 4096, weight: 4, typ: hasSpare,
	}
	if st != want {
		t.Errorf("got %+v, want %+v", st, want)
	}
	// A new task has no contribution to take out.
	p.Avg.LastUpdate, p.Queued = 0, false
	y.sumGroup(&st, d, d.Groups[0])
	if st.load != 3*1024 || st.util != 3*1024 || st.running != 3 {
		t.Errorf("new task: %+v", st)
	}
	y.allow(p, 2, 3, 5)
	y.sumGroup(&st, d, d.Groups[0])
	if st.load != 1024 || st.running != 1 || st.weight != 4 {
		t.Errorf("masked: %+v", st)
	}
	y.Rules.SlowPathIgnoresMask = true
	y.sumGroup(&st, d, d.Groups[0])
	if st.load != 3*1024 || st.running != 3 {
		t.Errorf("row 9: %+v", st)
	}
}

// 0.3 row 4: up to 7.1 the hint is the LLC's on asymmetric systems too, and the
// two objects never alias.
func TestHintHolder(t *testing.T) {
	h := shape{nodes: 1, llcs: 2, cores: 2, threads: 2, capacity: func(c int) int { return 512 * (1 + c/2) }}.hierarchy(t)
	y := newSystem(t, h, policy.Rules{})
	if h.BalanceShared[0] == h.LLCShared[0] || h.AsymCapacity[0] == nil {
		t.Skip("the asymmetric domain is the LLC")
	}
	y.busy(0, 1, 2, 4, 6)
	y.p.Avg.UtilAvg = 300
	for _, llc := range []bool{false, true} {
		y.Rules.LLCHintOnAsym = llc
		y.SetIdleCores(0, false, true)
		y.SetIdleCores(0, true, true)
		y.Select(y.wakeup(0, 0, 0))
		if got := y.HasIdleCores(0, llc); got {
			t.Errorf("llc %v: the hint that was read is not cleared", llc)
		}
		if got := y.HasIdleCores(0, !llc); !got {
			t.Errorf("llc %v: the other hint is cleared", llc)
		}
	}
}
