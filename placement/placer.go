// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"sibyl/cpumask"
	"sibyl/policy"
	"sibyl/state"
)

// Placer holds the rules and the scratch space of one user of this package. It
// is not safe for concurrent use.
type Placer struct {
	Rules policy.Rules
	// Path, when not nil, is told every rule in the order in which it was
	// applied.
	Path *Path
	s    *state.State

	req  Request
	t    *state.Task // req.Task
	sync bool        // WF_SYNC from a waker that is not exiting
	fit  fitInputs
	scan cpumask.Mask // select_rq_mask: CPUs that a scan may still visit
	near cpumask.Mask // the part of scan in the target's cluster
}

// New returns a Placer that works on s by the rules r. It is the only function
// here that allocates, save for a mask that select_fallback_rq widens and for
// recorded paths.
func New(s *state.State, r policy.Rules) *Placer {
	n := s.H.NrCPUs
	return &Placer{Rules: r, s: s, scan: cpumask.New(n), near: cpumask.New(n)}
}
