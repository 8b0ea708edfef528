// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math"

	"sibyl/domain"
)

// idlestCPU is sched_balance_find_dst_group_cpu (mechanisms 4.3): of the
// group's allowed CPUs the first that runs only SCHED_IDLE work, else the idle
// one that is cheapest to wake, of equals the one that went idle last, else the
// least loaded.
func (p *Placer) idlestCPU(g *domain.Group, here int) int {
	if g.Weight == 1 {
		c := g.Span.First()
		p.step(RuleDstCPU, c, true, "sched_balance_find_dst_group_cpu: the group's only CPU")
		return c
	}
	s := p.s
	idle, loaded := -1, here
	minLoad := int64(math.MaxInt64)
	minLatency := int64(math.MaxInt64)
	var latest int64
	for c := g.Span.NextAnd(p.t.Allowed, 0); c >= 0; c = g.Span.NextAnd(p.t.Allowed, c+1) {
		if p.chooseIdleRQ(c) {
			p.step(RuleDstCPU, c, true, "sched_balance_find_dst_group_cpu: runs only SCHED_IDLE work (choose_sched_idle_rq)")
			return c
		}
		cpu := &s.CPUs[c]
		if !s.Avail.Has(c) {
			if idle < 0 && cpu.Avg.LoadAvg < minLoad {
				loaded, minLoad = c, cpu.Avg.LoadAvg
			}
			continue
		}
		latency := int64(cpu.ExitLatency)
		known := latency >= 0
		switch {
		case known && latency < minLatency:
			idle, minLatency, latest = c, latency, cpu.IdleStamp
		case (!known || latency == minLatency) && cpu.IdleStamp > latest:
			idle, latest = c, cpu.IdleStamp
		}
	}
	if idle >= 0 {
		if p.recording() {
			p.step(RuleDstCPU, idle, true, fmt.Sprintf("sched_balance_find_dst_group_cpu: idle, exit latency %d us, idle since %d", s.CPUs[idle].ExitLatency, latest))
		}
		return idle
	}
	if p.recording() {
		p.step(RuleDstCPU, loaded, loaded != here, "sched_balance_find_dst_group_cpu: nothing idle was taken, the least loaded")
	}
	return loaded
}
