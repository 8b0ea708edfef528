// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"math/bits"

	"sibyl/domain"
	"sibyl/placement"
)

// groupStats is struct sg_lb_stats: sums over the group's CPUs that take part
// in the pass.
type groupStats struct {
	load, util, runnable int64 // only if summed
	capacity, weight     int64 // of the whole group
	nr                   int64 // nr_running, all classes
	hNr                  int64 // fair tasks
	idle                 int64 // idle CPUs
	misfit               int64 // group_misfit_task_load
	avgLoad              int64
	typ                  GroupType
	asymPacking          bool
	smtBalance           bool
	summed               bool
}

// domainStats is struct sd_lb_stats.
type domainStats struct {
	local, busiest           *domain.Group
	localStats, busiestStats groupStats
	cur                      groupStats
	preferSibling            bool
	asymCapacity, packing    bool // the domain's flags
	dstCoreIdle              bool
	overloaded               bool
}

// noIdleLimit stands for the idle CPUs of no group: any group has fewer.
const noIdleLimit = 1<<32 - 1

// sumDomain is update_sd_lb_stats: the local group's and the busiest group's
// statistics. The local group comes first in the ring, so that its type is
// known when the others are judged.
//
// PELT averages are summed only where something depends on them: the type of a
// group with at least one task per CPU, and nr_idle_scan. A group's counts need
// no look at its idle CPUs: these have no task and no misfit, by definition.
func (b *Balancer) sumDomain() {
	s, e, sds := b.s, &b.env, &b.sds
	d := e.d
	b.resetStats()
	slot := b.idleScanSlot()
	if slot < 0 && d.Parent != nil && d.Span.SubsetOf(s.Idle) {
		// Nothing runs here: no group can be busiest, whatever the sums. The
		// idle balancer asks this of most cores every few ticks.
		sds.local = d.Groups[0]
		if e.idle != NewlyIdle || e.jiffies >= s.Groups[sds.local.ID].NextUpdate {
			b.UpdateGroupCapacity(d, e.dst, e.jiffies)
		}
		return
	}
	var util int64
	for _, g := range d.Groups {
		local := g.Span.Has(e.dst)
		st := &sds.cur
		if local {
			sds.local, st = g, &sds.localStats
			if e.idle != NewlyIdle || e.jiffies >= s.Groups[g.ID].NextUpdate {
				b.UpdateGroupCapacity(d, e.dst, e.jiffies)
			}
		}
		b.sumGroup(st, g, local, slot >= 0)
		if !local && b.busier(g, st) {
			sds.busiest, sds.busiestStats = g, *st
		}
		util += st.util
	}
	if sds.busiest != nil {
		sds.preferSibling = sds.busiest.Flags&domain.PreferSibling != 0
	}
	if d.Parent == nil {
		s.RDOverloaded = sds.overloaded
	}
	if slot >= 0 {
		s.Shared[slot].NrIdleScan = idleScan(util, int64(d.Weight), int64(d.ImbalancePct))
	}
}

// resetStats prepares for a walk over the groups.
func (b *Balancer) resetStats() {
	s, e := b.s, &b.env
	b.sds = domainStats{
		asymCapacity: is(e.d, domain.AsymCPUCapacity),
		packing:      is(e.d, domain.AsymPacking),
		dstCoreIdle:  !s.H.SMTActive || s.RestIdle(e.dst),
		busiestStats: groupStats{typ: HasSpare, idle: noIdleLimit},
	}
}

// sumGroup is update_sg_lb_stats. averages asks for the PELT sums in any case.
func (b *Balancer) sumGroup(st *groupStats, g *domain.Group, local, averages bool) {
	s, e := b.s, &b.env
	d := e.d
	gc := &s.Groups[g.ID]
	*st = groupStats{capacity: gc.Capacity, weight: int64(g.Weight)}
	for _, i := range g.Words {
		w := g.Span[i] & e.cpus[i]
		idle := w & s.Idle[i]
		st.idle += int64(bits.OnesCount64(idle))
		for w &^= idle; w != 0; w &= w - 1 {
			c := lowest(i, w)
			q := &s.CPUs[c]
			h := b.hNr(c)
			st.nr += int64(q.NrRunning)
			st.hNr += int64(h)
			if q.NrRunning > 1 {
				b.sds.overloaded = true
			}
			switch {
			case local:
			case b.sds.asymCapacity:
				b.noteMisfit(st, gc.MaxCapacity, q.MisfitLoad)
			case e.idle != NotIdle && h == 1 && b.reduced(c, d.ImbalancePct):
				// A task alone on a CPU that has not all of itself.
				st.misfit = max(st.misfit, q.Avg.LoadAvg)
			}
		}
	}
	if !local && e.idle != NotIdle && st.hNr != 0 {
		st.asymPacking = b.sds.packing && b.asymGroup(d, e.dst, g, int(st.weight-st.idle))
		st.smtBalance = g.Flags&domain.ShareCPUCapacity != 0 && st.hNr > 1
	}
	if averages || st.nr >= st.weight {
		b.sumAverages(st, g)
	}
	st.typ = classify(st, gc.Imbalance, int64(d.ImbalancePct))
	if st.typ == Overloaded {
		st.avgLoad = st.load * 1024 / st.capacity
	}
}

// noteMisfit takes account of a CPU whose task does not fit it. A group whose
// largest CPU is not clearly smaller than dst gains nothing by giving the task
// to dst, but the root domain has work to distribute all the same.
func (b *Balancer) noteMisfit(st *groupStats, largest, load int64) {
	if load <= st.misfit {
		return
	}
	b.sds.overloaded = true
	if b.r.MisfitLoadAnyDst || placement.CapGreater(b.s.CPUs[b.env.dst].CapNow, largest) {
		st.misfit = load
	}
}

// sumAverages adds up the PELT averages of g's CPUs; blocked load counts, so
// idle CPUs do.
func (b *Balancer) sumAverages(st *groupStats, g *domain.Group) {
	if st.summed {
		return
	}
	st.summed = true
	for _, i := range g.Words {
		for w := g.Span[i] & b.env.cpus[i]; w != 0; w &= w - 1 {
			c := lowest(i, w)
			q := &b.s.CPUs[c]
			st.load += q.Avg.LoadAvg
			st.runnable += q.Avg.RunnableAvg
			st.util += b.cpuUtil(c)
		}
	}
}

// cpuUtil is cpu_util_cfs.
func (b *Balancer) cpuUtil(c int) int64 {
	q := &b.s.CPUs[c]
	return min(q.CapMax, max(q.Avg.UtilAvg, q.UtilEst))
}

// domainAvgLoad is the average load of all groups, scaled by their capacity.
func (b *Balancer) domainAvgLoad() int64 {
	var load, capacity int64
	for _, g := range b.env.d.Groups {
		st := groupStats{}
		b.sumAverages(&st, g)
		load += st.load
		capacity += b.s.Groups[g.ID].Capacity
	}
	return load * 1024 / capacity
}
