// SPDX-License-Identifier: Apache-2.0

package balance

import "sibyl/domain"

// shouldBalance is should_we_balance (mechanisms 7.2 step 1): one CPU balances
// for its group, the first idle one, above the cores preferably one whose core
// is wholly idle, else the group's first CPU. A newly idle CPU always may,
// unless it got work meanwhile.
func (b *Balancer) shouldBalance() bool {
	s, e := b.s, &b.env
	if !e.cpus.Has(e.dst) {
		return false
	}
	if e.idle == NewlyIdle {
		q := &s.CPUs[e.dst]
		return q.NrRunning == 0 && !q.TTWUPending
	}
	mask := e.d.Groups[0].BalanceMask
	// The kernel also drops the siblings of a CPU on a busy core from the
	// walk: they are on that core too.
	first := -1
	for i, w := range mask {
		w &= e.cpus[i] & s.Idle[i]
		for ; w != 0; w &= w - 1 {
			c := lowest(i, w)
			if is(e.d, domain.ShareCPUCapacity) || s.RestIdle(c) {
				return c == e.dst
			}
			if first < 0 {
				first = c
			}
		}
	}
	if first >= 0 {
		return first == e.dst
	}
	return mask.First() == e.dst
}
