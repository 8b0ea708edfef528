// SPDX-License-Identifier: Apache-2.0

package placement

import "sibyl/state"

// noteWakee is record_wakee: it counts how often the waker changes whom it
// wakes (mechanisms 2.3). At most one halving happens per call, however long
// the gap.
func (p *Placer) noteWakee() {
	s := p.s
	last, flips, decay := &s.CPUs[p.req.Here].IdleLastWakee, &s.CPUs[p.req.Here].IdleWakeeFlips, &s.CPUs[p.req.Here].IdleWakeeDecay
	if w := p.req.Waker; w != state.None {
		t := s.Tasks[w]
		last, flips, decay = &t.LastWakee, &t.WakeeFlips, &t.WakeeDecay
	}
	// The kernel compares jiffies: strictly more than HZ of them. Well below a
	// second there is nothing to divide.
	const second = 1_000_000_000
	if tick := s.TickNS; p.req.Now-*decay > second-2*tick && p.req.Now/tick > *decay/tick+second/tick {
		*flips >>= 1
		*decay = p.req.Now
	}
	if *last != p.req.Task {
		*last = p.req.Task
		*flips++
	}
}

// wakerFlips is wakee_flips of `current`.
func (p *Placer) wakerFlips() uint32 {
	if w := p.req.Waker; w != state.None {
		return p.s.Tasks[w].WakeeFlips
	}
	return p.s.CPUs[p.req.Here].IdleWakeeFlips
}

// wakeWide tells whether waker and wakee form a one-to-many relation that would
// overload one last-level cache (mechanisms 2.3): both flip at least llcSize
// times, and the busier one llcSize times as often as the other.
func wakeWide(waker, wakee uint32, llcSize int) bool {
	lo, hi := min(waker, wakee), max(waker, wakee)
	f := uint64(llcSize)
	return uint64(lo) >= f && uint64(hi) >= uint64(lo)*f
}
