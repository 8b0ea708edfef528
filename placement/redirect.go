// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/bits"

	"sibyl/domain"
)

// redirect is select_idle_smt_cpu (mechanisms 5.3): the idle sibling of c with
// the highest priority, c itself if none is preferred. Only the lowest domain
// is asked, since SD_ASYM_PACKING above it orders cores, not threads; c is not
// tested again and may be busy.
//
// Whether threads are ordered at all is the domain's flag (the architecture's,
// or the boot option's: mechanisms 5.2).
func (p *Placer) redirect(c int) int {
	if !p.Rules.SMTRedirect || !p.s.H.SMTActive || c < 0 {
		return c
	}
	h := p.s.H
	d := h.Base[c]
	const ordered = domain.ShareCPUCapacity | domain.AsymPacking
	if d == nil || d.Flags&ordered != ordered {
		return c
	}
	best := c
	idlePolicy := p.chooseIdlePolicy()
	for i, span := range d.Span {
		if span == 0 {
			continue
		}
		for set := span & p.t.Allowed[i] & p.choosable(i, idlePolicy); set != 0; set &= set - 1 {
			s := i<<6 | bits.TrailingZeros64(set)
			if h.Priority[s] <= h.Priority[best] {
				continue
			}
			if p.Rules.RevalidateFitness && !p.asymFits(s) {
				if p.recording() {
					p.step(RuleRedirect, s, false, fmt.Sprintf("select_idle_smt_cpu: sibling %d is preferred and %s", s, p.whyIdle(s)))
				}
				continue
			}
			best = s
		}
	}
	if best != c && p.recording() {
		p.step(RuleRedirect, best, true, fmt.Sprintf("select_idle_smt_cpu: idle sibling with priority %d instead of CPU %d with %d (sched_asym_prefer)",
			h.Priority[best], c, h.Priority[c]))
	}
	return best
}
