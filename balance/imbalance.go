// SPDX-License-Identifier: Apache-2.0

package balance

// imbalanced is sched_balance_find_src_group after the statistics (mechanisms
// 7.5): is there something to even out? If so, e.migration and e.imbalance say
// what and how much.
func (b *Balancer) imbalanced() bool {
	if b.sds.busiest == nil || !b.worthBalancing() {
		return false
	}
	b.setImbalance()
	return b.env.imbalance != 0
}

// worthBalancing holds the tests before the amount is computed.
func (b *Balancer) worthBalancing() bool {
	sds := &b.sds
	local, busiest := &sds.localStats, &sds.busiestStats
	switch busiest.typ {
	case MisfitTask, AsymPacking, Imbalanced:
		// The averages say nothing about these.
		return true
	}
	if local.typ > busiest.typ {
		return false
	}
	pct := int64(b.env.d.ImbalancePct)
	if local.typ == Overloaded {
		if local.avgLoad >= busiest.avgLoad ||
			local.avgLoad >= b.domainAvgLoad() ||
			100*busiest.avgLoad <= pct*local.avgLoad {
			return false
		}
	}
	if sds.preferSibling && local.typ == HasSpare && b.siblingImbalance() > 1 {
		return true
	}
	if busiest.typ == Overloaded {
		return true
	}
	switch {
	case b.env.idle == NotIdle:
		return false // an idle CPU will see to it
	case busiest.typ == SMTBalance && smtDiffers(sds.local, sds.busiest):
		return true
	case busiest.weight > 1 && local.idle <= busiest.idle+1:
		return false // the imbalance would only change sides
	}
	return busiest.hNr != 1
}

// siblingImbalance is sibling_imbalance: how many tasks more per core the
// busiest group has, rounded.
func (b *Balancer) siblingImbalance() int64 {
	sds := &b.sds
	local, busiest := &sds.localStats, &sds.busiestStats
	if b.env.idle == NotIdle || busiest.nr == 0 {
		return 0
	}
	cl, cb := int64(sds.local.Cores), int64(sds.busiest.Cores)
	if cl == cb {
		return max(0, busiest.nr-local.nr)
	}
	n := (2*max(0, cl*busiest.nr-cb*local.nr) + cl + cb) / (cl + cb)
	if n <= 1 && local.nr == 0 && busiest.nr > 1 {
		return 2 // use the empty group
	}
	return n
}
