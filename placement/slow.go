// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"

	"sibyl/domain"
)

// slowPath is sched_balance_find_dst_cpu (mechanisms 4.1): from d downward, the
// idlest group of each domain and the idlest CPU of that group. Without any
// choice the result is the executing CPU, even if the task may not run there.
func (p *Placer) slowPath(d *domain.Domain, want domain.Flags) int {
	h := p.s.H
	here := p.req.Here
	if !d.Span.Intersects(p.t.Allowed) {
		p.step(RuleSlowPath, p.req.Prev, true, "sched_balance_find_dst_cpu: the mask has no CPU of the domain, prev stays")
		return p.req.Prev
	}
	if want != domain.BalanceFork {
		p.loadFit()
	}
	cpu := here
	for d != nil {
		if d.Flags&want == 0 {
			d = d.Child
			continue
		}
		g := p.idlestGroup(d, cpu)
		if g == nil {
			d = d.Child
			continue
		}
		c := p.idlestCPU(g, cpu)
		if c == cpu {
			d = d.Child
			continue
		}
		// Go on below d as seen from the new CPU.
		cpu = c
		weight := d.Weight
		d = nil
		for up := h.Base[cpu]; up != nil && up.Weight < weight; up = up.Parent {
			if up.Flags&want != 0 {
				d = up
			}
		}
	}
	if p.recording() {
		p.step(RuleSlowPath, cpu, true, fmt.Sprintf("sched_balance_find_dst_cpu: descent from CPU %d ends", here))
	}
	return cpu
}
