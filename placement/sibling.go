// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"

	"sibyl/state"
)

// selectIdleSibling is select_idle_sibling (mechanisms 2.5): an idle CPU near
// target, or target itself. The steps are numbered as there. Every exit but the
// last one passes the SMT redirect (5.3).
func (p *Placer) selectIdleSibling(prev, target int) int {
	s, h := p.s, p.s.H
	if h.AsymActive {
		p.loadFit()
	}

	// 1: the target.
	if p.accept(RuleTarget, target) {
		return p.redirect(target)
	}

	// 2: prev, if it is cache hot with regard to target.
	late, lateRule := -1, RulePrev
	if prev != target && s.ShareCache(prev, target) && p.accept(RulePrev, prev) {
		if p.sameResources(prev, target) {
			return p.redirect(prev)
		}
		late = prev
	}

	// 3: a per-CPU kthread wakes the task that it works for; it is about to
	// sleep, so its CPU is as good as idle.
	if p.kthreadWakes(prev) {
		p.step(RuleKthread, prev, true, "select_idle_sibling: a per-CPU kthread, alone on prev, is the waker (is_per_cpu_kthread)")
		return p.redirect(prev)
	}

	// 4: the CPU used before prev. It is replaced whatever the answer.
	recent := p.t.RecentUsed
	p.t.RecentUsed = prev
	if recent >= 0 && recent != prev && recent != target && s.ShareCache(recent, target) && p.acceptRecent(recent) {
		if p.sameResources(recent, target) {
			return p.redirect(recent)
		}
		if late < 0 {
			late, lateRule = recent, RuleRecent
		}
	}

	if c := p.syncSIS(prev, target); c >= 0 {
		return p.redirect(c)
	}

	// 5: asymmetric capacities have their own scan, and nothing follows it.
	if h.AsymActive {
		if d := h.AsymCapacity[target]; d != nil {
			if c := p.selectIdleCapacity(d, target); c >= 0 {
				return p.redirect(c)
			}
			p.step(RuleBusyTarget, target, true, "select_idle_sibling: select_idle_capacity found nothing")
			return target
		}
	}

	// 6: the last-level cache, where a thread of prev's core comes before
	// others unless there are idle cores.
	d := h.LLC[target]
	if d == nil {
		p.step(RuleBusyTarget, target, true, "select_idle_sibling: target has no sd_llc")
		return target
	}
	wantCore := false
	if h.SMTActive {
		wantCore = s.HasIdleCores(target, p.Rules.LLCHintOnAsym)
		if !wantCore && s.ShareCache(prev, target) {
			if c := p.selectIdleSMT(d.Span, prev, false); c >= 0 {
				return p.redirect(c)
			}
		}
	}

	// 7: any core or CPU of it.
	if c := p.selectIdleCPU(d, wantCore, target); c >= 0 {
		return p.redirect(c)
	}

	// 8: what steps 2 and 4 found in another cluster, else the busy target.
	if late >= 0 {
		if p.recording() {
			p.step(RuleLate, late, true, "select_idle_sibling: kept from rule "+lateRule.String()+", in another cluster than target")
		}
		return p.redirect(late)
	}
	p.step(RuleBusyTarget, target, true, "select_idle_sibling: nothing is idle")
	return target
}

// accept applies choose_idle_cpu and asym_fits_cpu to a CPU that rule r
// proposes.
func (p *Placer) accept(r Rule, c int) bool {
	ok := p.choose(c) && p.asymFits(c)
	if p.recording() {
		p.step(r, c, ok, fmt.Sprintf("select_idle_sibling: %s %d %s", r, c, p.whyIdle(c)))
	}
	return ok
}

// acceptRecent is accept with the mask, which select_idle_sibling asks of
// recent_used_cpu alone.
func (p *Placer) acceptRecent(c int) bool {
	if p.choose(c) && !p.t.Allowed.Has(c) {
		p.step(RuleRecent, c, false, "select_idle_sibling: recent_used_cpu is idle but not in the task's mask")
		return false
	}
	return p.accept(RuleRecent, c)
}

// sameResources tells whether a choice outside target's cluster need not be
// deferred: there are no clusters, or the two share one.
func (p *Placer) sameResources(c, target int) bool {
	return !p.s.H.ClusterActive || p.s.ShareResources(c, target)
}

// kthreadWakes is the condition of step 3.
func (p *Placer) kthreadWakes(prev int) bool {
	w := p.req.Waker
	if w == state.None || !p.req.InTask || prev != p.req.Here {
		return false
	}
	t := p.s.Tasks[w]
	return t.Kthread && t.NrAllowed == 1 && p.s.CPUs[prev].NrRunning <= 1 && p.asymFits(prev)
}
