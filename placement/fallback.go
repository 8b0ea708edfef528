// SPDX-License-Identifier: Apache-2.0

package placement

import "sibyl/state"

// usable is is_cpu_allowed. The model has no CPU that is online but not active,
// so kernel threads and user tasks are judged alike.
func (p *Placer) usable(t *state.Task, c int) bool {
	return c >= 0 && t.Allowed.Has(c) && p.s.H.Online.Has(c)
}

// fallback is select_fallback_rq: the first usable CPU of the node that the
// task was on, then the first usable one of its mask; a mask without any is
// widened to all active CPUs (mechanisms 2.1).
func (p *Placer) fallback(t *state.Task) int {
	h := p.s.H
	if t.CPU >= 0 && h.Node[t.CPU] >= 0 {
		for c := range h.NodeCPUs[h.Node[t.CPU]].All() {
			if p.usable(t, c) {
				p.step(RuleFallback, c, true, "select_fallback_rq: first allowed CPU of the task's node")
				return c
			}
		}
	}
	for c := range t.Allowed.All() {
		if p.usable(t, c) {
			p.step(RuleFallback, c, true, "select_fallback_rq: first allowed CPU")
			return c
		}
	}
	p.s.SetAllowed(t, h.Active)
	c := h.Active.First()
	p.step(RuleFallback, c, true, "select_fallback_rq: no allowed CPU is active, the mask is widened")
	return c
}
