// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/placement"
	"sibyl/state"
)

// UpdateMisfit is update_misfit_status (mechanisms 7.4): it records whether
// task t, which runs on CPU c, is too big for it, and by which load. It is run
// at c's tick and when t is set running; state.None is for a CPU that goes
// idle. A task for which no CPU is larger is not a misfit.
func (b *Balancer) UpdateMisfit(c int, id state.TaskID) {
	s := b.s
	if !s.H.AsymActive {
		return
	}
	q := &s.CPUs[c]
	q.MisfitLoad = 0
	if id == state.None {
		return
	}
	t := s.Tasks[id]
	if t.NrAllowed == 1 || q.CapMax == t.MaxAllowedCapacity || placement.TaskFits(s, t, c) {
		return
	}
	q.MisfitLoad = max(t.HLoad, 1)
}
