// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"pgregory.net/rapid"

	"sibyl/policy"
	"sibyl/state"
)

// refILB is find_new_ilb CPU by CPU, as mechanisms 6.4 writes it down.
func refILB(s *state.State, form policy.NohzILB, self int) int {
	m := s.Nohz.IdleMask.Clone()
	if form == policy.ILBFirst {
		for c := range m.All() {
			if c != self && s.Idle.Has(c) {
				return c
			}
		}
		return -1
	}
	fallback := -1
	for c := range m.All() {
		if !s.Idle.Has(c) {
			if s.H.SMTActive && fallback >= 0 {
				m.AndNot(m, s.H.Siblings[c])
			}
			continue
		}
		if s.H.SMTActive && !s.RestIdle(c) {
			if fallback < 0 {
				fallback = c
			}
			m.AndNot(m, s.H.Siblings[c])
			continue
		}
		return c
	}
	return fallback
}

func TestFindILBMatchesWalk(t *testing.T) {
	names := []string{"smt2", "plain", "smt4", "numa", "flat88"}
	rapid.Check(t, func(rt *rapid.T) {
		r := policy.Rules{NohzILB: rapid.SampledFrom([]policy.NohzILB{policy.ILBIdleCore, policy.ILBFirst}).Draw(rt, "form")}
		y := newSystem(t, shapes[rapid.SampledFrom(names).Draw(rt, "shape")], r)
		for c := range y.CPUs {
			q := &y.CPUs[c]
			switch rapid.IntRange(0, 5).Draw(rt, "cpu") {
			case 0, 1:
				q.NrRunning = 1
			case 2:
				q.Preempted = true
			case 3:
				q.TTWUPending = true
			}
			y.Sync(c)
			if rapid.IntRange(0, 3).Draw(rt, "tickless") > 0 {
				y.Nohz.IdleMask.Set(c)
			}
		}
		self := rapid.IntRange(0, len(y.CPUs)-1).Draw(rt, "self")
		if got, want := y.FindILB(self), refILB(y.State, r.NohzILB, self); got != want {
			rt.Fatalf("FindILB = %d, the walk finds %d (idle %s, mask %s)", got, want, y.Idle, y.Nohz.IdleMask)
		}
	})
}

func TestFindILB(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, tc := range []struct {
		name     string
		shape    shape
		form     policy.NohzILB
		tickless []int
		busy     []int
		self     int
		want     int
	}{
		{"idle core first", smt2, policy.ILBIdleCore, all, []int{0, 2}, 0, 4},
		{"either thread of an idle core", smt2, policy.ILBIdleCore, []int{1, 5}, []int{0}, 0, 5},
		{"fallback: first idle thread", smt2, policy.ILBIdleCore, all, []int{0, 3, 4, 7}, 0, 1},
		{"a busy CPU before its idle sibling leaves it as fallback", smt2, policy.ILBIdleCore, []int{0, 1}, []int{0, 2, 4, 6}, 0, 1},
		{"a tickless idle core only counts if its sibling idles too", smt2, policy.ILBIdleCore, []int{2}, []int{0, 3}, 0, 2},
		{"stale bit", smt2, policy.ILBIdleCore, []int{2, 4}, []int{0, 2}, 0, 4},
		{"nobody", smt2, policy.ILBIdleCore, []int{0}, []int{0}, 0, -1},
		{"no mask", smt2, policy.ILBIdleCore, nil, []int{0}, 0, -1},
		{"without SMT the first idle one", plain, policy.ILBIdleCore, []int{1, 2, 3}, []int{0, 1}, 0, 2},
		{"before: the first idle one, whatever its core", smt2, policy.ILBFirst, all, []int{0, 2}, 0, 1},
		{"before: not the CPU itself", smt2, policy.ILBFirst, all, []int{0}, 1, 2},
		{"before: nobody but itself", smt2, policy.ILBFirst, []int{1}, []int{0}, 1, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, tc.shape, policy.Rules{NohzILB: tc.form})
			for _, c := range tc.busy {
				y.put(c, 1, 1)
			}
			for _, c := range tc.tickless {
				y.Nohz.IdleMask.Set(c)
			}
			if got := y.FindILB(tc.self); got != tc.want {
				t.Errorf("FindILB(%d) = %d, want %d", tc.self, got, tc.want)
			}
			if got := refILB(y.State, tc.form, tc.self); got != tc.want {
				t.Errorf("the walk finds %d, want %d", got, tc.want)
			}
		})
	}
}
