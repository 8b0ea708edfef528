// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"

	"pgregory.net/rapid"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

// reference is a slow second writing of the scans, one CPU after the other as
// mechanisms 2.6 and 3.3 word them. The bitmap versions must agree with it in
// any state.
type reference struct {
	s      *state.State
	r      policy.Rules
	t      *state.Task
	target int
}

func (f *reference) avail(c int) bool {
	cpu := &f.s.CPUs[c]
	return cpu.Curr == state.None && cpu.NrRunning == 0 && !cpu.TTWUPending && !cpu.Preempted
}

func (f *reference) policyRQ(c int) bool {
	cpu := &f.s.CPUs[c]
	return cpu.NrRunning > 0 && cpu.NrRunning == cpu.NrIdle && (f.r.IdlePolicyAnyTask || f.t.Policy != state.IdlePolicy)
}

func (f *reference) choose(c int) bool { return f.avail(c) || f.policyRQ(c) }

func (f *reference) restIdle(c int) bool {
	for s := range f.s.H.NrCPUs {
		cpu := &f.s.CPUs[s]
		if s != c && f.s.H.Siblings[c].Has(s) && (cpu.Curr != state.None || cpu.NrRunning > 0 || cpu.TTWUPending) {
			return false
		}
	}
	return true
}

// order is for_each_cpu_wrap over all CPU numbers.
func (f *reference) order(start int) []int {
	n := f.s.H.NrCPUs
	var cs []int
	for i := range n {
		c := start + i
		if start >= n {
			c = i
		}
		cs = append(cs, c%n)
	}
	return cs
}

func (f *reference) shared(d *domain.Domain) (limit int, limited bool) {
	if f.r.NoSISUtil || d.Shared < 0 {
		return 0, false
	}
	return f.s.Shared[d.Shared].NrIdleScan, true
}

// idleCPU is selectIdleCpu of 2.6; clear tells whether the hint is cleared.
func (f *reference) idleCPU(d *domain.Domain, hic bool) (cpu int, clear bool) {
	limit, limited := f.shared(d)
	budget := limit + 1
	if limited && budget == 1 {
		return -1, false
	}
	m := map[int]bool{}
	for c := range f.s.H.NrCPUs {
		if d.Span.Has(c) && f.t.Allowed.Has(c) {
			m[c] = true
		}
	}
	if len(m) == 0 && !f.r.NoEmptyMaskExit {
		return -1, false
	}
	thread := -1
	probe := func(c int) int {
		idle := true
		for s := range f.s.H.NrCPUs {
			if !f.s.H.Siblings[c].Has(s) {
				continue
			}
			if !f.avail(s) {
				idle = false
				if thread >= 0 {
					break
				}
				if f.policyRQ(s) && m[s] {
					thread = s
					break
				}
				continue
			}
			if thread < 0 && m[s] {
				thread = s
			}
		}
		if idle {
			return c
		}
		for s := range f.s.H.NrCPUs {
			if f.s.H.Siblings[c].Has(s) {
				delete(m, s)
			}
		}
		return -1
	}
	scan := func(in cpumask.Mask) (int, bool) {
		for _, c := range f.order(f.target + 1) {
			if !m[c] || in != nil && !in.Has(c) {
				continue
			}
			if hic {
				if k := probe(c); k >= 0 {
					return k, true
				}
				continue
			}
			if budget--; limited && budget <= 0 {
				return -1, true
			}
			if f.choose(c) {
				return c, true
			}
		}
		return -1, false
	}
	if f.s.H.ClusterActive && d.Groups[0].Flags&domain.Cluster != 0 {
		g := d.Groups[0].Span
		if c, done := scan(g); done {
			return c, false
		}
		for c := range g.All() {
			delete(m, c)
		}
	}
	if c, done := scan(nil); done {
		return c, false
	}
	return thread, hic
}

// capacity is select_idle_capacity of 3.3.
func (f *reference) capacity(d *domain.Domain, hic bool) (cpu int, clear bool) {
	limit, limited := f.shared(d)
	budget := limit + 1
	plain := f.r.AsymCapacity == policy.AsymPlain
	if !plain && limited && budget == 1 {
		return -1, false
	}
	hic = hic && !plain
	best, rank, bestCap := -1, 0, int64(0)
	for _, c := range f.order(f.target) {
		if !d.Span.Has(c) || !f.t.Allowed.Has(c) {
			continue
		}
		prefer := !hic || f.restIdle(c)
		capacity := f.s.CPUs[c].CapNow
		if !hic && !plain && limited {
			if budget--; budget <= 0 {
				return best, false
			}
		}
		if !f.choose(c) {
			continue
		}
		fit := UtilFits(f.s, TaskUtil(f.t), f.t.UclampMin, f.t.UclampMax, c)
		if fit > 0 && prefer {
			return c, false
		}
		if fit < 0 {
			capacity = f.s.CPUs[c].CapActual
		}
		if fit > 0 {
			fit = -2
		}
		if prefer && !plain {
			fit -= 3
		}
		if fit < rank || fit == rank && capacity > bestCap {
			best, rank, bestCap = c, fit, capacity
		}
	}
	return best, hic && rank > -3
}

var shapes = map[string]shape{
	"guest":       guest,
	"split":       {cores: 5, threads: 2, split: true},
	"smt4":        {cores: 3, threads: 4},
	"smt4 two":    {nodes: 2, cores: 2, threads: 4, split: true},
	"clusters":    kunpeng,
	"cluster smt": {clusters: 3, cores: 2, threads: 2},
	"asym":        bigSmall,
	"asym split":  {cores: 6, threads: 2, split: true, capacity: func(c int) int { return 1024 - 60*c }},
	"asym flat":   {cores: 6, capacity: func(c int) int { return 400 + 104*c }},
	"wide":        {cores: 35, threads: 2, split: true},
	"asym wide":   {cores: 35, threads: 2, split: true, capacity: spread},
}

// draw puts the system into a random state, with a random task.
func draw(t *rapid.T, y *system) {
	n := y.H.NrCPUs
	mostly := rapid.SampledFrom([]int{0, 1, 2, 2, 2}).Draw(t, "load")
	for c := range n {
		k := rapid.IntRange(0, 9).Draw(t, "cpu")
		switch {
		case k == 0:
			y.idlePolicy(c)
		case k == 1:
			y.preempted(c)
		case k == 2:
			y.pending(c)
		case k < 3+3*mostly:
			y.busy(c)
		default:
			y.idle(c)
		}
		cpu := &y.CPUs[c]
		cpu.CapActual = cpu.CapMax - int64(rapid.SampledFrom([]int{0, 0, 50, 200}).Draw(t, "pressure"))
		cpu.CapNow = max(1, cpu.CapActual-int64(rapid.SampledFrom([]int{0, 0, 1, 300}).Draw(t, "irq")))
	}
	for i := range y.Shared {
		y.Shared[i].NrIdleScan = rapid.SampledFrom([]int{0, 1, 2, 3, n / 2, n - 1, n, 512}).Draw(t, "scan")
		y.Shared[i].HasIdleCores = rapid.Bool().Draw(t, "hint")
	}
	mask := cpumask.New(n)
	dense := rapid.IntRange(0, 3).Draw(t, "dense")
	for c := range n {
		if dense == 0 || rapid.IntRange(0, 3).Draw(t, "allowed") < dense {
			mask.Set(c)
		}
	}
	y.SetAllowed(y.p, mask)
	y.p.Policy = rapid.SampledFrom([]state.SchedPolicy{state.Normal, state.Normal, state.IdlePolicy}).Draw(t, "policy")
	y.p.Avg.UtilAvg = int64(rapid.IntRange(0, 1024).Draw(t, "util"))
	y.UclampUsed = rapid.Bool().Draw(t, "uclamp")
	y.p.UclampMin = int64(rapid.SampledFrom([]int{0, 0, 500, 1000}).Draw(t, "umin"))
	y.p.UclampMax = int64(rapid.SampledFrom([]int{1024, 1024, 600}).Draw(t, "umax"))
	y.p.RecentUsed = rapid.IntRange(0, n-1).Draw(t, "recent")
	y.Rules = policy.Rules{
		IdlePolicyAnyTask: rapid.Bool().Draw(t, "row1"),
		NoEmptyMaskExit:   rapid.Bool().Draw(t, "row6"),
		NoSISUtil:         rapid.IntRange(0, 4).Draw(t, "sis_util") == 0,
		AsymCapacity:      rapid.SampledFrom([]policy.AsymCapacity{policy.AsymSMT, policy.AsymSMT, policy.AsymPlain}).Draw(t, "asym"),
	}
}

// TestScansMatchReference holds the bitmap scans to the slow ones.
func TestScansMatchReference(t *testing.T) {
	for name, sh := range shapes {
		t.Run(name, func(t *testing.T) {
			h := sh.hierarchy(t)
			y := newSystem(t, h, policy.Rules{})
			rapid.Check(t, func(t *rapid.T) {
				draw(t, y)
				target := rapid.IntRange(0, h.NrCPUs-1).Draw(t, "target")
				if rapid.Bool().Draw(t, "record") {
					y.Path = &Path{}
				} else {
					y.Path = nil
				}
				y.begin(y.wakeup(target, target, 0))
				f := &reference{s: y.State, r: y.Rules, t: y.p, target: target}
				hint := y.HasIdleCores(target, false)
				if d := h.LLC[target]; d != nil {
					hic := hint && h.SMTActive
					want, clear := f.idleCPU(d, hic)
					if got := y.selectIdleCPU(d, hic, target); got != want {
						t.Fatalf("selectIdleCPU = %d, want %d", got, want)
					}
					if got := hint && !y.HasIdleCores(target, false); got != (clear && hint) {
						t.Fatalf("selectIdleCPU cleared the hint: %v, want %v", got, clear)
					}
				}
				y.hint(target, hint)
				if d := h.AsymCapacity[target]; d != nil {
					hint := y.HasIdleCores(target, false)
					want, clear := f.capacity(d, hint && h.SMTActive)
					if got := y.selectIdleCapacity(d, target); got != want {
						t.Fatalf("selectIdleCapacity = %d, want %d", got, want)
					}
					if got := hint && !y.HasIdleCores(target, false); got != clear {
						t.Fatalf("selectIdleCapacity cleared the hint: %v, want %v", got, clear)
					}
				}
			})
		})
	}
}
