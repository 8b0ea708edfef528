// SPDX-License-Identifier: Apache-2.0

package balance

// idleScanSlot is the shared object whose nr_idle_scan the present pass
// renews (update_idle_cpu_scan), or -1. Up to 7.1 it was the LLC's, and only
// passes over a domain as wide as the LLC did it (mechanisms 0.3 row 5).
func (b *Balancer) idleScanSlot() int {
	e := &b.env
	if b.r.NoSISUtil || e.idle == NewlyIdle {
		return -1
	}
	if b.r.IdleScanLLCPassOnly {
		if e.d.Weight != b.s.H.LLCSize[e.dst] {
			return -1
		}
		return b.s.H.LLCShared[e.dst]
	}
	return e.d.Shared
}

// idleScan is how many CPUs a wakeup may look at in a domain of weight CPUs
// whose utilisations add up to util: all of them when idle, none from an
// average of about 85 per cent on (mechanisms 2.6).
func idleScan(util, weight, pct int64) int {
	x := util / weight
	t := min(1024, x*x*pct*pct/(10000*1024))
	return int((1024 - t) * weight / 1024)
}
