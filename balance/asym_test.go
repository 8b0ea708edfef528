// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/policy"
)

func TestAsymPredicates(t *testing.T) {
	for _, tc := range []struct {
		name     string
		shape    shape
		level    string
		busy     []int
		dst, src int
		use      bool // usePrio of dst
		move     bool // asymMove
		group    bool // asymGroup of src's group
	}{
		{"SMT level: priority alone counts", power7, "SMT", []int{1}, 0, 1, true, true, true},
		{"SMT level: even with dst busy", power7, "SMT", []int{0, 1}, 0, 1, true, true, true},
		{"SMT level: not to the lower one", power7, "SMT", []int{0}, 1, 0, true, false, false},
		{"no flag", smt2, "SMT", []int{1}, 0, 1, false, false, false},
		{"MC: to an idle core", itmt, "MC", []int{6}, 0, 6, true, true, true},
		{"MC: dst itself is not tested", itmt, "MC", []int{0, 6}, 0, 6, true, true, true},
		{"MC: sibling busy", itmt, "MC", []int{1, 6}, 0, 6, false, false, false},
		{"MC: from a core with both threads busy", itmt, "MC", []int{6, 7}, 0, 6, true, true, false},
		{"MC: from the better core", itmt, "MC", []int{0}, 6, 0, true, false, false},
		{"MC: equal priority", itmt, "MC", []int{0}, 1, 0, false, false, false},
		{"level above the flag", power7, "MC", []int{2}, 0, 2, false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, tc.shape, policy.Rules{})
			for _, c := range tc.busy {
				y.put(c, 1, 1)
			}
			d := y.level(t, tc.dst, tc.level)
			if got := y.usePrio(d, tc.dst); got != tc.use {
				t.Errorf("usePrio %t", got)
			}
			if got := y.asymMove(d, tc.dst, tc.src); got != tc.move {
				t.Errorf("asymMove %t", got)
			}
			for _, g := range d.Groups {
				if g.Span.Has(tc.src) && !g.Span.Has(tc.dst) {
					busy := g.Weight - g.Span.CountAnd(y.Idle)
					if got := y.asymGroup(d, tc.dst, g, busy); got != tc.group {
						t.Errorf("asymGroup %t", got)
					}
				}
			}
		})
	}
}
