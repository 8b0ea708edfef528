// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"

	"sibyl/cpumask"
)

// selectIdleSMT is select_idle_smt (mechanisms 2.5): the first idle sibling of
// around, itself excluded, within span and the task's mask; -1 if there is
// none. fitting adds the capacity test of the SIS variant for WF_SYNC (8.2).
func (p *Placer) selectIdleSMT(span cpumask.Mask, around int, fitting bool) int {
	siblings := p.s.H.Siblings[around]
	for c := siblings.First(); c >= 0; c = siblings.Next(c + 1) {
		if c == around || !p.t.Allowed.Has(c) || !span.Has(c) || !p.choose(c) {
			continue
		}
		if fitting && p.s.H.AsymActive && p.utilFits(c) <= 0 {
			continue
		}
		if p.recording() {
			p.step(RuleIdleSMT, c, true, fmt.Sprintf("select_idle_smt: idle sibling of prev %d; there is no idle core (test_idle_cores)", around))
		}
		return c
	}
	if p.recording() {
		p.step(RuleIdleSMT, -1, false, fmt.Sprintf("select_idle_smt: no idle sibling of prev %d", around))
	}
	return -1
}
