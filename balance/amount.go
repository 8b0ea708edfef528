// SPDX-License-Identifier: Apache-2.0

package balance

import "sibyl/domain"

// Migration is enum migration_type: what an imbalance is measured in.
type Migration uint8

// The migration types.
const (
	MigrateLoad Migration = iota
	MigrateUtil
	MigrateTask
	MigrateMisfit
)

// String returns the kernel's name without its prefix migrate_.
func (m Migration) String() string { return [...]string{"load", "util", "task", "misfit"}[m] }

// numaImbalanceMin is NUMA_IMBALANCE_MIN: differences up to it are tolerated
// while a node has few tasks.
const numaImbalanceMin = 2

// setImbalance is calculate_imbalance: how much is to move, and of what.
func (b *Balancer) setImbalance() {
	e, sds := &b.env, &b.sds
	local, busiest := &sds.localStats, &sds.busiestStats
	switch busiest.typ {
	case MisfitTask:
		if is(e.d, domain.AsymCPUCapacity) {
			e.migration, e.imbalance = MigrateMisfit, 1
		} else {
			e.migration, e.imbalance = MigrateLoad, busiest.misfit
		}
		return
	case AsymPacking:
		e.migration, e.imbalance = MigrateTask, busiest.hNr
		return
	case SMTBalance, Imbalanced:
		e.migration, e.imbalance = MigrateTask, 1
		return
	}
	if local.typ == HasSpare {
		b.fillSpare()
		return
	}
	b.evenLoad()
}

// fillSpare uses the room that the local group has.
func (b *Balancer) fillSpare() {
	e, sds := &b.env, &b.sds
	local, busiest := &sds.localStats, &sds.busiestStats
	if busiest.typ > FullyBusy && !is(e.d, domain.ShareLLC) {
		b.sumAverages(local, sds.local)
		e.migration = MigrateUtil
		e.imbalance = max(0, local.capacity-local.util)
		if e.imbalance == 0 && e.idle != NotIdle {
			// Utilisation lags behind: the CPU is idle and someone waits.
			e.migration, e.imbalance = MigrateTask, 1
		}
		return
	}
	e.migration = MigrateTask
	if busiest.weight == 1 || sds.preferSibling {
		e.imbalance = b.siblingImbalance()
	} else {
		// The kernel means max(0, difference) but subtracts unsigned ints
		// first: a negative difference is a huge imbalance, which only
		// the length of the scan bounds.
		e.imbalance = int64(uint32(local.idle) - uint32(busiest.idle))
	}
	if is(e.d, domain.NUMA) && local.nr+1 <= int64(e.d.ImbNUMANr) && e.imbalance <= numaImbalanceMin {
		e.imbalance = 0
	}
	e.imbalance >>= 1
}

// evenLoad brings the local group, which is full, towards the average load.
func (b *Balancer) evenLoad() {
	e, sds := &b.env, &b.sds
	local, busiest := &sds.localStats, &sds.busiestStats
	avg := b.domainAvgLoad()
	e.migration, e.imbalance = MigrateLoad, 0
	if local.typ < Overloaded {
		b.sumAverages(local, sds.local)
		local.avgLoad = local.load * 1024 / local.capacity
		if local.avgLoad >= busiest.avgLoad || local.avgLoad >= avg {
			return
		}
	}
	// Unsigned as in the kernel: if the busiest group is below the average
	// (capacities differ), the local side's room decides.
	give := uint64(busiest.avgLoad-avg) * uint64(busiest.capacity)
	take := uint64(avg-local.avgLoad) * uint64(local.capacity)
	e.imbalance = int64(min(give, take) / 1024)
}
