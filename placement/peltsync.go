// SPDX-License-Identifier: Apache-2.0

package placement

// syncEntity is sync_entity_load_avg: it decays the sleeping task's averages up
// to the last update of the run queue that they are attached to. h_load keeps
// its proportion to load_avg.
func (p *Placer) syncEntity() {
	t := p.t
	if t.CPU < 0 {
		return
	}
	before := t.Avg.LoadAvg
	if t.Avg.UpdateBlocked(p.s.CPUs[t.CPU].Avg.LastUpdate) && before > 0 {
		t.HLoad = t.HLoad * t.Avg.LoadAvg / before
	}
}
