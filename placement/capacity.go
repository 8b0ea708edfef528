// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/bits"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/policy"
)

// The ranks of enum asym_fits_state (mechanisms 3.3): how good a CPU is that is
// not a perfect choice; lower is better.
const (
	rankIdleUclampMisfit   = -4 // idle core, only uclamp_min missed
	rankIdleCompleteMisfit = -3 // idle core, too small
	rankThreadFits         = -2 // busy sibling, fits
	rankThreadUclampMisfit = -1 // busy sibling, uclamp_min missed
	rankThreadMisfit       = 0  // busy sibling, too small
)

// plainCapacity tells whether the wakeup path on asymmetric systems is the one
// up to 7.1.
func (p *Placer) plainCapacity() bool { return p.Rules.AsymCapacity == policy.AsymPlain }

// selectIdleCapacity is select_idle_capacity (mechanisms 3.3): the first idle
// CPU of d from target on that fits and whose core is idle, else the one of the
// best rank; -1 if none is idle or SIS_UTIL allows no scan.
func (p *Placer) selectIdleCapacity(d *domain.Domain, target int) int {
	m := p.scan
	m.And(d.Span, p.t.Allowed)
	if p.plainCapacity() {
		return p.scanPlainCapacity(m, target)
	}
	wantCore := p.s.H.SMTActive && p.s.HasIdleCores(target, p.Rules.LLCHintOnAsym)
	budget := p.idleScan(d)
	if budget == 0 {
		p.step(RuleIdleCapacity, -1, false, "select_idle_capacity: SIS_UTIL allows no scan (nr_idle_scan is 0)")
		return -1
	}
	if wantCore {
		budget = unlimited // parity with select_idle_cpu
	}
	best, rank, perfect, cut := p.rankCPUs(m, target, wantCore, budget)
	switch {
	case perfect:
		p.stepCapacity(best, rank, wantCore, true)
		return best
	case cut:
		p.stepCapacity(best, rank, wantCore, false)
		if p.recording() {
			p.step(RuleIdleCapacity, best, best >= 0, fmt.Sprintf("select_idle_capacity: the SIS_UTIL limit of %d CPUs ended the scan", budget))
		}
		return best
	}
	if wantCore && rank > rankIdleCompleteMisfit {
		p.s.SetIdleCores(target, p.Rules.LLCHintOnAsym, false)
	}
	p.stepCapacity(best, rank, wantCore, false)
	return best
}

// rankCPUs walks the idle CPUs of m in wrap order from target. perfect: best
// fits and its core counts as idle. cut: the budget of CPUs, idle or not, ran
// out.
func (p *Placer) rankCPUs(m cpumask.Mask, target int, wantCore bool, budget int) (best, rank int, perfect, cut bool) {
	s := p.s
	best = -1
	var bestCap int64
	n := len(m)
	policy := p.chooseIdlePolicy()
	for w := from(target, n); w.left > 0; w.next(n) {
		set := m[w.word] & w.mask
		if size := bits.OnesCount64(set); size > budget {
			set, cut = lowest(set, budget), true
		} else if budget != unlimited {
			budget -= size
		}
		for set &= p.choosable(w.word, policy); set != 0; set &= set - 1 {
			c := w.word<<6 | bits.TrailingZeros64(set)
			prefer := !wantCore || s.RestIdle(c)
			fits := p.utilFits(c)
			if fits > 0 && prefer {
				return c, fits, true, false
			}
			capacity := s.CPUs[c].CapNow
			switch {
			case fits < 0:
				capacity = s.CPUs[c].CapActual
			case fits > 0:
				fits = rankThreadFits
			}
			if prefer {
				fits += rankIdleCompleteMisfit
			}
			if fits < rank || fits == rank && capacity > bestCap {
				best, rank, bestCap = c, fits, capacity
			}
		}
		if cut {
			return best, rank, false, true
		}
	}
	return best, rank, false, false
}

// lowest returns the n lowest bits that are set in w.
func lowest(w uint64, n int) uint64 {
	rest := w
	for ; n > 0; n-- {
		rest &= rest - 1
	}
	return w &^ rest
}

// scanPlainCapacity is the scan up to 7.1: the first idle CPU that fits, else
// one that misses only uclamp_min, else the largest.
func (p *Placer) scanPlainCapacity(m cpumask.Mask, target int) int {
	best, rank := -1, 0
	var bestCap int64
	n := len(m)
	policy := p.chooseIdlePolicy()
	for w := from(target, n); w.left > 0; w.next(n) {
		for set := m[w.word] & w.mask & p.choosable(w.word, policy); set != 0; set &= set - 1 {
			c := w.word<<6 | bits.TrailingZeros64(set)
			fits := p.utilFits(c)
			if fits > 0 {
				p.step(RuleIdleCapacity, c, true, "select_idle_capacity: first idle CPU that fits (util_fits_cpu)")
				return c
			}
			capacity := p.s.CPUs[c].CapNow
			if fits < 0 {
				capacity = p.s.CPUs[c].CapActual
			}
			if fits < rank || fits == rank && capacity > bestCap {
				best, rank, bestCap = c, fits, capacity
			}
		}
	}
	if best >= 0 {
		p.step(RuleIdleCapacity, best, true, "select_idle_capacity: no idle CPU fits, the largest one")
	} else {
		p.step(RuleIdleCapacity, -1, false, "select_idle_capacity: no idle CPU")
	}
	return best
}

// stepCapacity records the result of the ranked scan.
func (p *Placer) stepCapacity(best, rank int, wantCore, perfect bool) {
	if !p.recording() {
		return
	}
	core := "no idle core is known (test_idle_cores), so any thread will do"
	if wantCore {
		core = "its core is idle (is_core_idle)"
	}
	var why string
	switch {
	case best < 0:
		why = "no idle CPU"
	case perfect:
		why = "fits (util_fits_cpu) and " + core
	case rank == rankIdleUclampMisfit:
		why = "ASYM_IDLE_UCLAMP_MISFIT, only uclamp_min is missed; " + core
	case rank == rankIdleCompleteMisfit:
		why = "ASYM_IDLE_COMPLETE_MISFIT, too small; " + core
	case rank == rankThreadFits:
		why = "ASYM_IDLE_THREAD_FITS, fits but no idle core was found"
	case rank == rankThreadUclampMisfit:
		why = "ASYM_IDLE_THREAD_UCLAMP_MISFIT, busy sibling and uclamp_min missed"
	default:
		why = "ASYM_IDLE_THREAD_MISFIT, busy sibling and too small"
	}
	if !perfect && wantCore && rank > rankIdleCompleteMisfit {
		why += "; has_idle_cores is cleared"
	}
	p.step(RuleIdleCapacity, best, best >= 0, fmt.Sprintf("select_idle_capacity: %s", why))
}
