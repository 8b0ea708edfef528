// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/bits"

	"sibyl/cpumask"
)

// searchCores is the part of select_idle_cpu that looks for idle cores in m:
// first within cluster (nil if none counts), then in the rest. It returns a
// CPU of m whose core is idle, else the idle thread that the search met first.
//
// The kernel probes core after core. Here the answer is read from the bitmap of
// idle cores; the walk is needed only for the thread, when there is no core.
func (p *Placer) searchCores(m, cluster cpumask.Mask, target int) int {
	thread := -1
	if p.recording() {
		p.traceCores(m, cluster, target)
	}
	if cluster != nil {
		near := p.near
		near.And(m, cluster)
		if c := p.firstIdleCore(near, m, target+1); c >= 0 {
			return c
		}
		thread = p.firstThread(near, m, target+1)
		m.AndNot(m, cluster)
	}
	if c := p.firstIdleCore(m, m, target+1); c >= 0 {
		return c
	}
	if thread < 0 {
		thread = p.firstThread(m, m, target+1)
	}
	p.s.SetIdleCores(target, p.Rules.LLCHintOnAsym, false)
	if p.recording() {
		why := "select_idle_cpu: no idle core, has_idle_cores is cleared; no idle thread was met"
		if thread >= 0 {
			why = "select_idle_cpu: no idle core, has_idle_cores is cleared; the first idle thread that the search met"
		}
		p.step(RuleIdleCPU, thread, thread >= 0, why)
	}
	return thread
}

// firstIdleCore returns the first CPU of list in wrap order whose core is
// idle. Under the sibling variant of WF_SYNC (mechanisms 8.3) the waker's CPU
// counts as idle within its core.
func (p *Placer) firstIdleCore(list, m cpumask.Mask, start int) int {
	c := firstAnd(list, p.s.IdleCore, start)
	if w := p.syncSibling(); w >= 0 && p.s.RestAvail(w) {
		c = p.firstWithWaker(list, m, start, c, w)
	}
	return c
}

// firstThread returns the idle thread of m that a failing core search, walking
// list in wrap order, remembers: the lowest idle sibling of the first core
// that has one. Siblings outside list count.
func (p *Placer) firstThread(list, m cpumask.Mask, start int) int {
	policy := p.chooseIdlePolicy()
	if !p.anyChoosable(m, policy) {
		return -1
	}
	n := len(list)
	for w := from(start, n); w.left > 0; w.next(n) {
		for set := list[w.word] & w.mask; set != 0; set &= set - 1 {
			c := w.word<<6 | bits.TrailingZeros64(set)
			for i, sib := range p.s.H.Siblings[c] {
				if hit := sib & m[i] & p.choosable(i, policy); hit != 0 {
					return i<<6 | bits.TrailingZeros64(hit)
				}
			}
		}
	}
	return -1
}

func (p *Placer) anyChoosable(m cpumask.Mask, policy bool) bool {
	for i, w := range m {
		if w&p.choosable(i, policy) != 0 {
			return true
		}
	}
	return false
}

// traceCores records the probes of select_idle_core that the kernel would make
// for the same answer. It changes nothing but the path.
func (p *Placer) traceCores(m, cluster cpumask.Mask, target int) {
	left := m.Clone()
	walk := func(list cpumask.Mask) bool {
		for c := range list.Wrap(target + 1) {
			if !left.Has(c) {
				continue // a sibling of a core that was probed before
			}
			one := cpumask.Of(p.s.H.NrCPUs, c)
			if got := p.firstIdleCore(one, m, c); got >= 0 {
				why := "select_idle_core: every sibling is available"
				if !p.s.IdleCore.Has(c) {
					why = "select_idle_core: the waker's core counts as idle (WF_SYNC)"
				}
				p.step(RuleIdleCore, got, true, why)
				return true
			}
			p.step(RuleIdleCore, c, false, p.whyBusyCore(c))
			left.AndNot(left, p.s.H.Siblings[c])
		}
		return false
	}
	if cluster != nil {
		if walk(cluster) {
			return
		}
		left.AndNot(left, cluster)
	}
	walk(left)
}

func (p *Placer) whyBusyCore(c int) string {
	for s := range p.s.H.Siblings[c].All() {
		if !p.s.Avail.Has(s) {
			return fmt.Sprintf("select_idle_core: CPU %d is not available (available_idle_cpu)", s)
		}
	}
	return "select_idle_core: not idle"
}
