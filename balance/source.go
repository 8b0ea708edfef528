// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/domain"
	"sibyl/placement"
)

// findSource is sched_balance_find_src_rq (mechanisms 7.7): the CPU of group g
// to take from, -1 for none. The first of equals wins. NUMA-balancing classes
// of run queues are not modelled.
func (b *Balancer) findSource(g *domain.Group) int {
	s, e := b.s, &b.env
	best := -1
	var bestLoad, bestUtil, bestNr int64
	bestCap := int64(1)
	for i, w := range g.Span {
		// An idle CPU has no runnable task.
		w &= e.cpus[i] &^ s.Idle[i]
		for ; w != 0; w &= w - 1 {
			c := lowest(i, w)
			q := &s.CPUs[c]
			h := int64(b.hNr(c))
			if h == 0 || h == 1 && b.keepsLoneTask(c) {
				continue
			}
			switch e.migration {
			case MigrateLoad:
				load := q.Avg.LoadAvg
				if h == 1 && load > e.imbalance && !b.reduced(c, e.d.ImbalancePct) {
					continue
				}
				if load*bestCap > bestLoad*q.CapNow {
					best, bestLoad, bestCap = c, load, q.CapNow
				}
			case MigrateUtil:
				if h <= 1 {
					continue
				}
				if u := b.cpuUtilBoost(c); u > bestUtil {
					best, bestUtil = c, u
				}
			case MigrateTask:
				if h > bestNr {
					best, bestNr = c, h
				}
			case MigrateMisfit:
				if q.MisfitLoad > bestLoad {
					best, bestLoad = c, q.MisfitLoad
				}
			}
		}
	}
	return best
}

// keepsLoneTask tells whether CPU c, with one task, is out of the question:
// because the task would end on a CPU that is no larger, or on one of lower
// priority.
func (b *Balancer) keepsLoneTask(c int) bool {
	s, e := b.s, &b.env
	if is(e.d, domain.AsymCPUCapacity) && !placement.CapGreater(s.CPUs[e.dst].CapNow, s.CPUs[c].CapNow) {
		switch {
		case b.r.LoneTaskNeedsCapacity:
			return true
		case s.H.SMTActive && !s.RestIdle(c): // the core is shared: both may gain
		case s.H.ClusterActive && s.CPUs[c].CapActual == s.CPUs[e.dst].CapActual:
		default:
			return true
		}
	}
	return b.asymMove(e.d, c, e.dst)
}

// cpuUtilBoost is cpu_util_cfs_boost.
func (b *Balancer) cpuUtilBoost(c int) int64 {
	q := &b.s.CPUs[c]
	return min(q.CapMax, max(q.Avg.UtilAvg, q.Avg.RunnableAvg, q.UtilEst))
}
