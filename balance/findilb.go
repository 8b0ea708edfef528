// SPDX-License-Identifier: Apache-2.0

package balance

import "sibyl/policy"

// FindILB is find_new_ilb (mechanisms 6.4): the tickless CPU that is to balance
// for all, or -1. cpu is the CPU that asks; only the form up to 7.2 looks at
// it. The housekeeping mask is not modelled: every CPU with a domain may serve.
//
// The 7.3 form walks the mask and drops the siblings of cores that cannot be
// wholly idle. What is dropped could never be chosen as an idle core, and
// siblings of busy CPUs are dropped only after the fallback is found, so the
// outcome is the first CPU whose core is wholly idle, else the first idle CPU.
func (b *Balancer) FindILB(cpu int) int {
	s := b.s
	mask := s.Nohz.IdleMask
	if b.r.NohzILB == policy.ILBFirst {
		c := mask.NextAnd(s.Idle, 0)
		if c == cpu {
			c = mask.NextAnd(s.Idle, c+1)
		}
		return c
	}
	first := mask.NextAnd(s.Idle, 0)
	if first < 0 || !s.H.SMTActive || s.RestIdle(first) {
		return first
	}
	if s.Idle.Equal(s.Avail) {
		// No vCPU is preempted, so that the bitmap of available cores is
		// the one of idle cores.
		if c := mask.NextAnd(s.IdleCore, first+1); c >= 0 {
			return c
		}
		return first
	}
	for c := mask.NextAnd(s.Idle, first+1); c >= 0; c = mask.NextAnd(s.Idle, c+1) {
		if s.RestIdle(c) {
			return c
		}
	}
	return first
}
