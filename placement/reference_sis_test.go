// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"

	"pgregory.net/rapid"

	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

// wakeup is select_task_rq_fair for WF_TTWU, written line by line after the
// pseudo-code of mechanisms 2.2 to 2.5 and 5.3. It changes the state as the
// rules do.
func (f *reference) wakeup(r Request) int {
	s, h, p := f.s, f.s.H, f.t
	var w *state.Task
	if r.Waker != state.None {
		w = s.Tasks[r.Waker]
	}
	sync := r.Flags&Sync != 0 && (w == nil || !w.Exiting)

	// noteWakee, for a waker that is a task or the idle task.
	here := &s.CPUs[r.Here]
	flips := &here.IdleWakeeFlips
	last, decay := &here.IdleLastWakee, &here.IdleWakeeDecay
	if w != nil {
		flips, last, decay = &w.WakeeFlips, &w.LastWakee, &w.WakeeDecay
	}
	if hz := 1_000_000_000 / s.TickNS; r.Now/s.TickNS-*decay/s.TickNS > hz {
		*flips /= 2
		*decay = r.Now
	}
	if *last != p.ID {
		*last = p.ID
		*flips++
	}
	if r.Flags&CurrentCPU != 0 && p.Allowed.Has(r.Here) {
		return r.Here
	}
	lo, hi, size := min(*flips, p.WakeeFlips), max(*flips, p.WakeeFlips), uint32(h.LLCSize[r.Here])
	wide := lo >= size && hi >= lo*size
	target := r.Prev
	if !wide && p.Allowed.Has(r.Here) {
		for d := h.Base[r.Here]; d != nil; d = d.Parent {
			if d.Flags&domain.WakeAffine != 0 && d.Span.Has(r.Prev) {
				if r.Here != r.Prev {
					target = f.affine(d, r, sync, w)
				}
				break
			}
		}
	}
	return f.sis(r, target, w)
}

func (f *reference) affine(d *domain.Domain, r Request, sync bool, w *state.Task) int {
	s := f.s
	here, prev := &s.CPUs[r.Here], &s.CPUs[r.Prev]
	share := f.s.H.LLCID[r.Here] == f.s.H.LLCID[r.Prev]
	if !f.r.NoWAIdle {
		if f.avail(r.Here) && share {
			if f.avail(r.Prev) {
				return r.Prev
			}
			return r.Here
		}
		if sync && here.NrRunning-(here.NrQueued-here.NrRunnable) == 1 {
			return r.Here
		}
		if f.avail(r.Prev) {
			return r.Prev
		}
	}
	if f.r.NoWAWeight {
		return r.Prev
	}
	bias, num := int64(100), int64(100+(d.ImbalancePct-100)/2)
	if f.r.NoWABias {
		bias, num = 1, 1
	}
	a := here.Avg.LoadAvg
	if sync {
		var current int64
		if w != nil {
			current = w.HLoad
		}
		if current > a {
			return r.Here
		}
		a -= current
	}
	a = (a + f.t.HLoad) * bias * prev.CapNow
	b := (prev.Avg.LoadAvg - f.t.HLoad) * num * here.CapNow
	if sync {
		b++
	}
	if a < b {
		return r.Here
	}
	return r.Prev
}

func (f *reference) fit(c int) bool {
	if !f.s.H.AsymActive {
		return true
	}
	gate := f.r.AsymCapacity != policy.AsymPlain && f.s.H.SMTActive
	return (!gate || f.restIdle(c)) && UtilFits(f.s, TaskUtil(f.t), f.t.UclampMin, f.t.UclampMax, c) > 0
}

func (f *reference) sis(r Request, target int, w *state.Task) int {
	s, h, p, prev := f.s, f.s.H, f.t, r.Prev
	f.target = target
	share := func(a, b int) bool { return a == b || h.LLCID[a] == h.LLCID[b] }
	res := func(a, b int) bool { return !h.ClusterActive || a == b || h.ShareID[a] == h.ShareID[b] }
	if f.choose(target) && f.fit(target) {
		return f.redirect(target)
	}
	keepPrev, keepRecent := -1, -1
	if prev != target && share(prev, target) && f.choose(prev) && f.fit(prev) {
		if res(prev, target) {
			return f.redirect(prev)
		}
		keepPrev = prev
	}
	if w != nil && w.Kthread && w.NrAllowed == 1 && r.InTask && prev == r.Here && s.CPUs[r.Here].NrRunning <= 1 && f.fit(prev) {
		return f.redirect(prev)
	}
	recent := p.RecentUsed
	p.RecentUsed = prev
	if recent != prev && recent != target && share(recent, target) && f.choose(recent) && p.Allowed.Has(recent) && f.fit(recent) {
		if res(recent, target) {
			return f.redirect(recent)
		}
		keepRecent = recent
	}
	hint := s.HasIdleCores(target, f.r.LLCHintOnAsym)
	if h.AsymActive && h.AsymCapacity[target] != nil {
		c, clear := f.capacity(h.AsymCapacity[target], hint && h.SMTActive)
		if clear {
			s.SetIdleCores(target, f.r.LLCHintOnAsym, false)
		}
		if c < 0 {
			return target
		}
		return f.redirect(c)
	}
	d := h.LLC[target]
	if d == nil {
		return target
	}
	hic := h.SMTActive && hint
	if h.SMTActive && !hic && share(prev, target) {
		for c := range h.NrCPUs {
			if h.Siblings[prev].Has(c) && c != prev && p.Allowed.Has(c) && d.Span.Has(c) && f.choose(c) {
				return f.redirect(c)
			}
		}
	}
	c, clear := f.idleCPU(d, hic)
	if clear {
		s.SetIdleCores(target, f.r.LLCHintOnAsym, false)
	}
	for _, c := range []int{c, keepPrev, keepRecent} {
		if c >= 0 {
			return f.redirect(c)
		}
	}
	return target
}

func (f *reference) redirect(c int) int {
	h := f.s.H
	d := h.Base[c]
	if !f.r.SMTRedirect || !h.SMTActive || d == nil || d.Flags&domain.ShareCPUCapacity == 0 || d.Flags&domain.AsymPacking == 0 {
		return c
	}
	best := c
	for s := range h.NrCPUs {
		if d.Span.Has(s) && f.t.Allowed.Has(s) && s != best && f.choose(s) && h.Priority[s] > h.Priority[best] &&
			(!f.r.RevalidateFitness || f.fit(s)) {
			best = s
		}
	}
	return best
}

// TestWakeupMatchesReference holds the whole wakeup path, with its side
// effects, to the slow writing of it.
func TestWakeupMatchesReference(t *testing.T) {
	for name, sh := range shapes {
		for _, sh := range []shape{sh, sh.on()} {
			t.Run(name, func(t *testing.T) {
				y := newSystem(t, sh.hierarchy(t), policy.Rules{})
				n := y.H.NrCPUs
				rapid.Check(t, func(t *rapid.T) {
					draw(t, y)
					y.Rules.SMTRedirect = rapid.Bool().Draw(t, "redirect")
					y.Rules.RevalidateFitness = rapid.Bool().Draw(t, "revalidate")
					y.Rules.LLCHintOnAsym = rapid.Bool().Draw(t, "row4")
					y.Rules.NoWAIdle = rapid.Bool().Draw(t, "wa_idle")
					y.Rules.NoWAWeight = rapid.IntRange(0, 4).Draw(t, "wa_weight") == 0
					y.Rules.NoWABias = rapid.Bool().Draw(t, "wa_bias")
					for c := range y.CPUs {
						cpu := &y.CPUs[c]
						cpu.Avg.LoadAvg = int64(rapid.IntRange(0, 3000).Draw(t, "load"))
						if cpu.NrIdle == 0 && cpu.NrRunning == 1 && rapid.IntRange(0, 3).Draw(t, "more") == 0 {
							cpu.NrRunning, cpu.NrQueued = 2, 2
							cpu.NrRunnable = int32(rapid.IntRange(1, 2).Draw(t, "runnable"))
							y.Sync(c)
						}
					}
					p, w := y.p, y.w
					p.HLoad, w.HLoad = int64(rapid.IntRange(0, 2000).Draw(t, "h")), int64(rapid.IntRange(0, 2000).Draw(t, "hw"))
					p.WakeeFlips = uint32(rapid.IntRange(0, 2*n).Draw(t, "flips"))
					w.WakeeFlips = uint32(rapid.IntRange(0, n*n).Draw(t, "wflips"))
					w.WakeeDecay = int64(rapid.IntRange(8_900, 9_100).Draw(t, "decay")) * 1_000_000
					w.LastWakee = rapid.SampledFrom([]state.TaskID{state.None, p.ID}).Draw(t, "last")
					w.Kthread, w.Exiting = rapid.Bool().Draw(t, "kthread"), rapid.IntRange(0, 9).Draw(t, "exiting") == 0
					y.SetAllowed(w, y.H.Active)
					prev, here := rapid.IntRange(0, n-1).Draw(t, "prev"), rapid.IntRange(0, n-1).Draw(t, "here")
					if rapid.IntRange(0, 2).Draw(t, "local") == 0 {
						here = prev
					}
					if rapid.Bool().Draw(t, "bound") {
						y.allow(w, here)
					}
					p.CPU = prev
					r := y.wakeup(prev, here, 0)
					r.InTask = rapid.IntRange(0, 3).Draw(t, "irq") > 0
					if rapid.Bool().Draw(t, "sync") {
						r.Flags |= Sync
					}
					if rapid.IntRange(0, 9).Draw(t, "current") == 0 {
						r.Flags |= CurrentCPU
					}
					if rapid.IntRange(0, 4).Draw(t, "idle waker") == 0 {
						r.Waker = state.None
					}
					before := y.save()
					f := &reference{s: y.State, r: y.Rules, t: p}
					want := f.wakeup(r)
					effect := effects(y, r)
					y.restore(before)
					y.Path = &Path{}
					if got := y.Select(r); got != want {
						t.Fatalf("chose %d by %s, want %d", got, y.Path, want)
					}
					for i, e := range effects(y, r) {
						if e != effect[i] {
							t.Fatalf("%s, want %s; path %s", e, effect[i], y.Path)
						}
					}
				})
			})
		}
	}
}
