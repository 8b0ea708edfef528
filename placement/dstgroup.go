// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math"
	"math/bits"

	"sibyl/domain"
	"sibyl/state"
)

// groupType orders groups from the one with most room to the fullest (enum
// group_type). The types that this path never sets have no value here.
type groupType uint8

const (
	hasSpare groupType = iota
	fullyBusy
	misfitTask
	imbalanced
	overloaded
)

func (t groupType) String() string {
	return [...]string{"has_spare", "fully_busy", "misfit_task", "imbalanced", "overloaded"}[t]
}

// groupStats are the sums of update_sg_wakeup_stats over the CPUs of a group
// that the task may use, as if the task were not there.
type groupStats struct {
	typ                  groupType
	load, util, runnable int64
	running              int64 // nr_running
	idle                 int64 // CPUs
	capacity, weight     int64
	avgLoad              int64
	misfit               bool
}

// idlestGroup is sched_balance_find_dst_group (mechanisms 4.2): the group of d
// to go to, nil to stay in the one that holds cpu. The first group met wins
// ties.
func (p *Placer) idlestGroup(d *domain.Domain, cpu int) *domain.Group {
	var local, idlest *domain.Group
	var localStats, stats groupStats
	best := groupStats{typ: overloaded, avgLoad: math.MaxInt64}
	for _, g := range d.Groups {
		if !g.Span.Intersects(p.t.Allowed) {
			continue
		}
		if g.Span.Has(cpu) {
			local = g
			p.sumGroup(&localStats, d, g)
			continue
		}
		p.sumGroup(&stats, d, g)
		if p.idler(&stats, g, &best, idlest) {
			idlest, best = g, stats
		}
	}
	if idlest == nil {
		p.stepGroup(d, nil, "no other group with an allowed CPU takes the task")
		return nil
	}
	if local == nil {
		p.stepGroup(d, idlest, "the mask has no CPU of the local group")
		return idlest
	}
	stay, why := p.staysLocal(d, local, idlest, &localStats, &best)
	if p.recording() {
		why = fmt.Sprintf("%s; local %s, idle %d, running %d; remote %s, idle %d, running %d", why,
			localStats.typ, localStats.idle, localStats.running, best.typ, best.idle, best.running)
	}
	if stay {
		p.stepGroup(d, nil, why)
		return nil
	}
	p.stepGroup(d, idlest, why)
	return idlest
}

// sumGroup is update_sg_wakeup_stats.
func (p *Placer) sumGroup(st *groupStats, d *domain.Domain, g *domain.Group) {
	s, t := p.s, p.t
	*st = groupStats{misfit: d.Flags&domain.AsymCPUCapacity != 0}
	span, mask := g.Span, t.Allowed
	if p.Rules.SlowPathIgnoresMask {
		mask = span
	}
	for i, w := range span {
		if w == 0 {
			continue
		}
		for set := w & mask[i]; set != 0; set &= set - 1 {
			c := i<<6 | bits.TrailingZeros64(set)
			cpu := &s.CPUs[c]
			load, util, runnable := cpu.Avg.LoadAvg, cpu.Avg.UtilAvg, cpu.Avg.RunnableAvg
			est := cpu.UtilEst
			running := int64(cpu.NrRunning)
			if t.CPU == c {
				if t.Avg.LastUpdate != 0 {
					load = max(0, load-t.HLoad)
					runnable = max(0, runnable-t.Avg.RunnableAvg)
					util = max(0, util-t.Avg.UtilAvg)
					if t.Queued || cpu.Curr == t.ID {
						est = max(0, est-t.UtilEst)
					}
				}
				if t.Queued {
					running--
				}
			}
			st.load += load
			st.util += min(max(util, est), cpu.CapMax)
			st.runnable += runnable
			st.running += running
			if running == 0 && (cpu.Curr == state.None || cpu.Curr == t.ID) && !cpu.TTWUPending {
				st.idle++
			}
			if st.misfit && p.utilFits(c) > 0 {
				st.misfit = false
			}
		}
	}
	gc := &s.Groups[g.ID]
	st.capacity, st.weight = gc.Capacity, int64(g.Weight)
	st.typ = classify(st, int64(d.ImbalancePct), gc.Imbalance)
	if st.typ == fullyBusy || st.typ == overloaded {
		st.avgLoad = st.load * 1024 / max(st.capacity, 1)
	}
}

// classify is group_classify as this path meets it.
func classify(st *groupStats, pct int64, imbalance bool) groupType {
	switch {
	case st.fullness().Overloaded(pct):
		return overloaded
	case imbalance:
		return imbalanced
	case st.misfit:
		return misfitTask
	case !st.fullness().HasCapacity(pct):
		return fullyBusy
	}
	return hasSpare
}

// fullness is what group_is_overloaded and group_has_capacity read.
func (st *groupStats) fullness() GroupLoad {
	return GroupLoad{
		Running: st.running, Weight: st.weight, Capacity: st.capacity, Util: st.util, Runnable: st.runnable,
	}
}

// idler is update_pick_idlest: whether g replaces the best group so far (nil
// for none).
func (p *Placer) idler(st *groupStats, g *domain.Group, best *groupStats, bestGroup *domain.Group) bool {
	if st.typ != best.typ {
		return st.typ < best.typ
	}
	switch st.typ {
	case overloaded, fullyBusy:
		return st.avgLoad < best.avgLoad
	case misfitTask:
		return p.s.Groups[g.ID].MaxCapacity > p.s.Groups[bestGroup.ID].MaxCapacity
	case hasSpare:
		if st.idle != best.idle {
			return st.idle > best.idle
		}
		return st.util < best.util
	}
	return false
}

// staysLocal compares the local group with the best remote one.
func (p *Placer) staysLocal(d *domain.Domain, lg, rg *domain.Group, l, r *groupStats) (bool, string) {
	if l.typ != r.typ {
		if l.typ < r.typ {
			return true, "the local group is of a better type"
		}
		return false, "the remote group is of a better type"
	}
	numa := d.Flags&domain.NUMA != 0
	switch l.typ {
	case overloaded, fullyBusy:
		margin := 1024 * int64(d.ImbalancePct-100) / 100
		switch {
		case numa && r.avgLoad+margin >= l.avgLoad:
			return true, "the remote node's load is not clearly smaller"
		case r.avgLoad >= l.avgLoad+margin:
			return true, "the remote load is larger"
		case 100*l.avgLoad <= int64(d.ImbalancePct)*r.avgLoad:
			return true, "the loads are about equal"
		}
		return false, "the remote load is smaller"
	case misfitTask:
		if p.s.Groups[lg.ID].MaxCapacity >= p.s.Groups[rg.ID].MaxCapacity {
			return true, "the task fits nowhere and the local CPUs are as large"
		}
		return false, "the task fits nowhere and the remote CPUs are larger"
	case hasSpare:
		if numa {
			// adjust_numa_imbalance: a few tasks may stay in the node.
			allowed := min(int64(d.ImbNUMANr), int64(lg.Span.CountAnd(p.t.Allowed)))
			if l.running+1 <= allowed && abs(l.idle-r.idle) <= 2 {
				return true, "the NUMA imbalance is tolerated (imb_numa_nr)"
			}
		}
		if l.idle >= r.idle {
			return true, "the local group has as many idle CPUs"
		}
		return false, "the remote group has more idle CPUs"
	}
	return true, "both are imbalanced"
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

func (p *Placer) stepGroup(d *domain.Domain, g *domain.Group, why string) {
	if !p.recording() {
		return
	}
	if g == nil {
		p.step(RuleDstGroup, -1, false, fmt.Sprintf("sched_balance_find_dst_group: %s: stay, %s", d.Name, why))
		return
	}
	p.step(RuleDstGroup, g.Span.First(), true, fmt.Sprintf("sched_balance_find_dst_group: %s: group %s, %s", d.Name, g.Span, why))
}
