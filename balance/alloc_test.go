// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/policy"
)

// TestNoAllocations: passes and ticks run by the million.
func TestNoAllocations(t *testing.T) {
	y := newSystem(t, smt2, policy.Rules{})
	y.put(0, 3, 700)
	y.put(1, 3, 700)
	y.tickless()
	mc := y.level(t, 2, "MC")
	for name, f := range map[string]func(){
		"Pass":       func() { y.Pass(mc, 2, CPUIdle, 0, 1) },
		"Kick":       func() { y.Kick(0, 1); y.CPUs[2].NohzFlags = 0 },
		"FindILB":    func() { y.FindILB(0) },
		"ActiveTask": func() { y.CPUs[0].ActiveBalance = true; y.ActiveTask(0, 2, 0) },
		"ILB": func() {
			y.CPUs[2].NohzFlags = BalanceKick | StatsKick
			y.BeginILB(2, 1)
			for c, _, _ := y.NextILB(); c >= 0; c, _, _ = y.NextILB() {
			}
			y.EndILB()
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
