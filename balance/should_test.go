// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"pgregory.net/rapid"

	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

// refShould is should_we_balance CPU by CPU.
func refShould(s *state.State, d *domain.Domain, dst int, idle Idle) bool {
	if idle == NewlyIdle {
		return s.CPUs[dst].NrRunning == 0 && !s.CPUs[dst].TTWUPending
	}
	cpus := d.Groups[0].BalanceMask.Clone()
	fallback := -1
	for c := range cpus.All() {
		if !s.H.Active.Has(c) || !s.Idle.Has(c) {
			continue
		}
		if d.Flags&domain.ShareCPUCapacity == 0 && !s.RestIdle(c) {
			if fallback < 0 {
				fallback = c
			}
			cpus.AndNot(cpus, s.H.Siblings[c])
			continue
		}
		return c == dst
	}
	if fallback >= 0 {
		return fallback == dst
	}
	return d.Groups[0].BalanceMask.First() == dst
}

// TestShouldBalanceMatchesWalk also holds that exactly one CPU of a group
// balances for it.
func TestShouldBalanceMatchesWalk(t *testing.T) {
	names := []string{"smt2", "plain", "smt4", "numa", "littles"}
	rapid.Check(t, func(rt *rapid.T) {
		y := newSystem(t, shapes[rapid.SampledFrom(names).Draw(rt, "shape")], policy.Rules{})
		for c := range y.CPUs {
			switch rapid.IntRange(0, 3).Draw(rt, "cpu") {
			case 0, 1:
				y.CPUs[c].NrRunning = 1
			case 2:
				y.CPUs[c].TTWUPending = true
			}
			y.Sync(c)
		}
		for c := range y.CPUs {
			for d := y.H.Base[c]; d != nil; d = d.Parent {
				n := 0
				for o := range d.Groups[0].Span.All() {
					for _, idle := range []Idle{CPUIdle, NewlyIdle} {
						y.env.d, y.env.dst, y.env.idle = d, o, idle
						y.env.cpus.And(d.Span, y.H.Active)
						got := y.shouldBalance()
						if want := refShould(y.State, d, o, idle); got != want {
							rt.Fatalf("dst %d %s idle %d: %t, the walk says %t", o, d.Name, idle, got, want)
						}
						if got && idle == CPUIdle {
							n++
						}
					}
				}
				if n != 1 {
					rt.Fatalf("%s of %d: %d CPUs balance", d.Name, c, n)
				}
			}
		}
	})
}
