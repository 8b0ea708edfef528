// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/domain"
	"sibyl/policy"
)

// TestBusier has a candidate group of core 2 against the best so far, the group
// of core 1 (nil where the type is has_spare and first is set), for dst 0.
func TestBusier(t *testing.T) {
	const smt = domain.ShareCPUCapacity
	for _, tc := range []struct {
		name      string
		cand      groupStats
		best      groupStats
		candFlags domain.Flags
		bestFlags domain.Flags
		first     bool
		want      bool
	}{
		{"no task to pull", groupStats{typ: Overloaded}, groupStats{}, smt, smt, true, false},
		{"first", groupStats{hNr: 1, idle: 8}, groupStats{idle: noIdleLimit}, smt, smt, true, true},
		{"higher type", groupStats{hNr: 1, typ: FullyBusy}, groupStats{nr: 9}, smt, smt, false, true},
		{"lower type", groupStats{hNr: 1}, groupStats{typ: SMTBalance}, smt, smt, false, false},
		{"overloaded: more load", groupStats{hNr: 1, typ: Overloaded, avgLoad: 5}, groupStats{typ: Overloaded, avgLoad: 4}, smt, smt, false, true},
		{"overloaded: as much load", groupStats{hNr: 1, typ: Overloaded, avgLoad: 4}, groupStats{typ: Overloaded, avgLoad: 4}, smt, smt, false, false},
		{"imbalanced: first stays", groupStats{hNr: 1, typ: Imbalanced}, groupStats{typ: Imbalanced}, smt, smt, false, false},
		{"asym_packing: lower priority wins", groupStats{hNr: 1, typ: AsymPacking}, groupStats{typ: AsymPacking}, smt, smt, false, true},
		{"misfit: larger", groupStats{hNr: 1, typ: MisfitTask, misfit: 5}, groupStats{typ: MisfitTask, misfit: 4}, smt, smt, false, true},
		{"misfit: as large", groupStats{hNr: 1, typ: MisfitTask, misfit: 4}, groupStats{typ: MisfitTask, misfit: 4}, smt, smt, false, false},
		{"smt_balance with idle CPUs: fewer idle", groupStats{hNr: 2, typ: SMTBalance, idle: 0}, groupStats{typ: SMTBalance, idle: 1}, smt, smt, false, true},
		{"smt_balance with idle CPUs: more idle", groupStats{hNr: 2, typ: SMTBalance, idle: 1}, groupStats{typ: SMTBalance, idle: 0}, smt, smt, false, false},
		{"smt_balance with idle CPUs: more idle, even if not SMT", groupStats{hNr: 2, typ: SMTBalance, idle: 1}, groupStats{typ: SMTBalance, idle: 0}, 0, 0, false, false},
		{"smt_balance, none idle: first SMT core stays", groupStats{hNr: 2, typ: SMTBalance}, groupStats{typ: SMTBalance}, smt, smt, false, false},
		{"fully_busy: replaces", groupStats{hNr: 1, typ: FullyBusy}, groupStats{typ: FullyBusy}, 0, 0, false, true},
		{"fully_busy: SMT core stays", groupStats{hNr: 1, typ: FullyBusy}, groupStats{typ: FullyBusy}, 0, smt, false, false},
		{"has_spare: SMT core with one task loses to a plain CPU", groupStats{hNr: 1, nr: 1, idle: 0}, groupStats{nr: 1, idle: 1}, smt, 0, false, false},
		{"has_spare: SMT core with two tasks wins", groupStats{hNr: 2, nr: 2, idle: 2}, groupStats{nr: 3, idle: 1}, smt, 0, false, true},
		{"has_spare: plain CPU wins over SMT core", groupStats{hNr: 1, nr: 1, idle: 2}, groupStats{nr: 3, idle: 1}, 0, smt, false, true},
		{"has_spare: fewer idle", groupStats{hNr: 1, nr: 1, idle: 0}, groupStats{nr: 2, idle: 1}, smt, smt, false, true},
		{"has_spare: as many idle, more tasks", groupStats{hNr: 1, nr: 3, idle: 1}, groupStats{nr: 2, idle: 1}, smt, smt, false, true},
		{"has_spare: as many of both", groupStats{hNr: 1, nr: 2, idle: 1}, groupStats{nr: 2, idle: 1}, smt, smt, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, itmt, policy.Rules{})
			d := y.level(t, 0, "MC")
			y.env.d, y.env.dst = d, 0
			cand, best := *d.Groups[2], *d.Groups[1]
			cand.Flags, best.Flags = tc.candFlags, tc.bestFlags
			y.sds = domainStats{busiestStats: tc.best}
			if !tc.first {
				y.sds.busiest = &best
			}
			if got := y.busier(&cand, &tc.cand); got != tc.want {
				t.Errorf("busier %t, want %t", got, tc.want)
			}
		})
	}
}

// TestBusierAsymCapacity: the rejections on domains of unequal capacities.
func TestBusierAsymCapacity(t *testing.T) {
	misfit := groupStats{hNr: 1, typ: MisfitTask, misfit: 9}
	spare := groupStats{hNr: 1, nr: 1}
	for _, tc := range []struct {
		name     string
		rules    policy.Rules
		dst, src int // cores: 0, 1 small, 2, 3 big
		cand     groupStats
		best     GroupType
		local    GroupType
		busy     []int
		want     bool
	}{
		{"misfit to a big idle core", policy.Rules{}, 4, 0, misfit, HasSpare, HasSpare, nil, true},
		{"misfit to a thread of a busy core", policy.Rules{}, 4, 0, misfit, HasSpare, HasSpare, []int{5}, false},
		{"the same before 7.2", policy.Rules{MisfitPullAnyCore: true}, 4, 0, misfit, HasSpare, HasSpare, []int{5}, true},
		{"misfit to an equal core", policy.Rules{}, 2, 0, misfit, HasSpare, HasSpare, nil, false},
		{"misfit to a full group", policy.Rules{}, 4, 0, misfit, HasSpare, FullyBusy, nil, false},
		{"big to small", policy.Rules{}, 0, 4, spare, HasSpare, HasSpare, nil, false},
		{"big to small, fully busy", policy.Rules{}, 0, 4, groupStats{hNr: 1, typ: FullyBusy}, HasSpare, HasSpare, nil, false},
		{"big to small, overloaded", policy.Rules{}, 0, 4, groupStats{hNr: 1, typ: Overloaded}, HasSpare, HasSpare, nil, true},
		{"small to big", policy.Rules{}, 4, 0, spare, HasSpare, HasSpare, nil, true},
		{"row 15: a higher type came through", policy.Rules{MinCapacityTestLast: true}, 0, 4, groupStats{hNr: 1, typ: FullyBusy}, HasSpare, HasSpare, nil, true},
		{"row 15: an equal type does not", policy.Rules{MinCapacityTestLast: true}, 0, 4, spare, HasSpare, HasSpare, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := newSystem(t, bigSMT, tc.rules)
			for _, c := range tc.busy {
				y.put(c, 1, 1)
			}
			d := y.level(t, tc.dst, "MC")
			y.env.d, y.env.dst = d, tc.dst
			y.sds = domainStats{
				asymCapacity: true,
				dstCoreIdle:  y.RestIdle(tc.dst),
				localStats:   groupStats{typ: tc.local},
				busiestStats: groupStats{typ: tc.best, idle: noIdleLimit},
			}
			for _, g := range d.Groups {
				if g.Span.Has(tc.src) {
					if got := y.busier(g, &tc.cand); got != tc.want {
						t.Errorf("busier %t, want %t", got, tc.want)
					}
				}
			}
		})
	}
}
