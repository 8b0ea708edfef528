// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"

	"sibyl/domain"
	"sibyl/state"
)

// wakeAffine is wake_affine (mechanisms 2.4): it returns here or prev. d is the
// lowest affine domain that holds both.
func (p *Placer) wakeAffine(d *domain.Domain, here, prev int) int {
	if !p.Rules.NoWAIdle {
		if c, why := p.affineIdle(here, prev); c >= 0 {
			p.step(RuleWakeAffine, c, c == here, why)
			return c
		}
	}
	if !p.Rules.NoWAWeight && p.affineWeight(d, here, prev) {
		p.step(RuleWakeAffine, here, true, "wake_affine_weight: the waker's CPU stays the less loaded one")
		return here
	}
	p.step(RuleWakeAffine, prev, false, "wake_affine: no reason to leave prev")
	return prev
}

// affineIdle is wake_affine_idle; -1 if it cannot tell.
func (p *Placer) affineIdle(here, prev int) (int, string) {
	s := p.s
	if s.Avail.Has(here) && s.ShareCache(here, prev) {
		if s.Avail.Has(prev) {
			return prev, "wake_affine_idle: both are idle and share a cache"
		}
		return here, "wake_affine_idle: the interrupted CPU is idle and shares prev's cache"
	}
	if p.sync && p.nrAwake(here) == 1 {
		return here, "wake_affine_idle: the waker is about to sleep (WF_SYNC) and is alone"
	}
	if s.Avail.Has(prev) {
		return prev, "wake_affine_idle: prev is idle"
	}
	return -1, ""
}

// nrAwake is nr_running without the delayed sleepers of the fair class.
func (p *Placer) nrAwake(c int) int32 {
	cpu := &p.s.CPUs[c]
	return cpu.NrRunning - (cpu.NrQueued - cpu.NrRunnable)
}

// affineWeight is wake_affine_weight: whether the waker's CPU with the task
// would carry less load per capacity than prev without it.
func (p *Placer) affineWeight(d *domain.Domain, here, prev int) bool {
	s := p.s
	a := s.CPUs[here].Avg.LoadAvg
	if p.sync {
		var current int64
		if p.req.Waker != state.None {
			current = s.Tasks[p.req.Waker].HLoad
		}
		if current > a {
			return true
		}
		a -= current
	}
	load := p.t.HLoad
	a += load
	b := s.CPUs[prev].Avg.LoadAvg - load
	if !p.Rules.NoWABias {
		a *= 100
		b *= 100 + int64(d.ImbalancePct-100)/2
	}
	a *= s.CPUs[prev].CapNow
	b *= s.CPUs[here].CapNow
	if p.sync {
		b++
	}
	return a < b
}

// stepWide records the answer of wake_wide and the mask test.
func (p *Placer) stepWide(wide, allowed bool) {
	if !p.recording() {
		return
	}
	here := p.req.Here
	switch {
	case wide:
		p.step(RuleWakeWide, here, true, fmt.Sprintf(
			"wake_wide: waker flips %d, wakee flips %d, LLC size %d", p.wakerFlips(), p.t.WakeeFlips, p.s.H.LLCSize[here]))
	case !allowed:
		p.step(RuleWakeWide, here, true, "select_task_rq_fair: the waker's CPU is not in the task's mask")
	default:
		p.step(RuleWakeWide, here, false, "wake_wide: the wakeup may be affine")
	}
}
