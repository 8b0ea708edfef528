// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math"

	"sibyl/cpumask"
	"sibyl/domain"
)

// unlimited is the scan budget where SIS_UTIL sets none.
const unlimited = math.MaxInt

// idleScan is how many CPUs SIS_UTIL lets a scan of d look at.
func (p *Placer) idleScan(d *domain.Domain) int {
	if p.Rules.NoSISUtil || d.Shared < 0 {
		return unlimited
	}
	return p.s.Shared[d.Shared].NrIdleScan
}

// selectIdleCPU is select_idle_cpu (mechanisms 2.6): an idle core of d if
// wantCore, else an idle CPU, from target+1 on in wrap order; -1 if there is
// none. A core search that fails clears has_idle_cores and falls back to the
// first idle thread that it met.
func (p *Placer) selectIdleCPU(d *domain.Domain, wantCore bool, target int) int {
	budget := p.idleScan(d)
	if budget == 0 {
		// Even a core search stops here, and leaves the hint alone.
		p.step(RuleIdleCPU, -1, false, "select_idle_cpu: SIS_UTIL allows no scan (nr_idle_scan is 0)")
		return -1
	}
	m := p.scan
	m.And(d.Span, p.t.Allowed)
	if !p.Rules.NoEmptyMaskExit && m.Empty() {
		p.step(RuleIdleCPU, -1, false, "select_idle_cpu: the task's mask has no CPU of the LLC")
		return -1
	}
	var cluster cpumask.Mask
	if p.s.H.ClusterActive && len(d.Groups) > 0 && d.Groups[0].Flags&domain.Cluster != 0 {
		cluster = d.Groups[0].Span
	}
	if wantCore {
		return p.searchCores(m, cluster, target)
	}
	if cluster != nil {
		m.And(m, cluster)
		c, before := p.firstChoosable(m, target+1)
		if c >= 0 || before >= budget {
			return p.scanned(c, before, budget)
		}
		budget -= before
		m.And(d.Span, p.t.Allowed)
		m.AndNot(m, cluster)
	}
	c, before := p.firstChoosable(m, target+1)
	return p.scanned(c, before, budget)
}

// scanned applies the budget to a linear scan that found c after looking at
// before others.
func (p *Placer) scanned(c, before, budget int) int {
	switch {
	case before >= budget:
		c = -1
		if p.recording() {
			p.step(RuleIdleCPU, -1, false, fmt.Sprintf("select_idle_cpu: no idle CPU within the SIS_UTIL limit of %d", budget))
		}
	case c < 0:
		p.step(RuleIdleCPU, -1, false, "select_idle_cpu: no idle CPU in the LLC")
	case p.recording():
		p.step(RuleIdleCPU, c, true, fmt.Sprintf("select_idle_cpu: idle after %d busy CPUs (choose_idle_cpu)", before))
	}
	return c
}
