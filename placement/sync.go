// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"sibyl/cpumask"
	"sibyl/policy"
	"sibyl/state"
)

// The three proposals for reciprocal WF_SYNC wakeups (mechanisms 8), none of
// which is in 7.3. Each has its hook where the proposal puts it; with
// sync-wakeup=idle all of them are silent.

// reciprocal tells whether the wakee last woke the waker. That the waker last
// woke the wakee holds after noteWakee.
func (p *Placer) reciprocal() bool {
	return p.sync && p.req.Waker != state.None && p.t.LastWakee == p.req.Waker
}

// syncWaker is the direct return (8.1): within the affine domain the waker's
// CPU was selected or kept, and it is left at once. Non-SMT systems only.
func (p *Placer) syncWaker(result int) bool {
	here := p.req.Here
	if p.Rules.SyncWakeup != policy.SyncWaker || p.s.H.SMTActive || result != here ||
		!p.reciprocal() || p.nrAwake(here) != 1 {
		return false
	}
	if p.s.H.AsymActive && !TaskFits(p.s, p.t, here) {
		p.step(RuleSync, here, false, "select_task_rq_fair: reciprocal WF_SYNC, but the waker's CPU is too small (util_fits_cpu)")
		return false
	}
	p.step(RuleSync, here, true, "select_task_rq_fair: reciprocal WF_SYNC, the waker is alone on its CPU")
	return true
}

// syncSIS is the variant within select_idle_sibling (8.2), between its steps 4
// and 5: without an idle core, a sibling of prev, then the waker's own CPU. It
// returns -1 to go on.
func (p *Placer) syncSIS(prev, target int) int {
	if p.Rules.SyncWakeup != policy.SyncSIS {
		return -1
	}
	s, h := p.s, p.s.H
	if h.SMTActive {
		if s.HasIdleCores(target, p.Rules.LLCHintOnAsym) {
			return -1
		}
		if s.ShareCache(prev, target) {
			if c := p.selectIdleSMT(h.Active, prev, true); c >= 0 {
				return c
			}
		}
	}
	if target == p.req.Here && p.reciprocal() && p.nrAwake(target) <= 1 && p.asymFits(target) {
		p.step(RuleSync, target, true, "select_idle_sibling: reciprocal WF_SYNC and no idle core, stacked on the waker")
		return target
	}
	return -1
}

// syncSibling returns the CPU that the third variant (8.3) counts as idle
// within its core: the waker's, if it runs nothing else; -1 otherwise.
func (p *Placer) syncSibling() int {
	if p.Rules.SyncWakeup != policy.SyncSibling || !p.sync || p.nrAwake(p.req.Here) != 1 {
		return -1
	}
	return p.req.Here
}

// firstWithWaker compares c, the first CPU of list from start whose core is
// idle (-1 for none), with the core of the waker's CPU w, whose other threads
// are available: whichever the wrapped walk meets first wins. A walk that meets
// w itself takes its lowest sibling in m.
func (p *Placer) firstWithWaker(list, m cpumask.Mask, start, c, w int) int {
	sib := -1
	for s := range p.s.H.Siblings[w].All() {
		if s != w && m.Has(s) {
			sib = s
			break
		}
	}
	if sib < 0 {
		return c
	}
	met := firstAnd(list, p.s.H.Siblings[w], start)
	if met < 0 || c >= 0 && distance(c, start, len(list)<<6) < distance(met, start, len(list)<<6) {
		return c
	}
	if met == w {
		return sib
	}
	return met
}

// distance is how far c lies from start in wrap order over size bits.
func distance(c, start, size int) int {
	if start >= size {
		start = 0
	}
	if c < start {
		return c + size - start
	}
	return c - start
}
