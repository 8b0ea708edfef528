// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"testing"

	"sibyl/policy"
)

// halfBusy is a machine of 88 SMT2 cores with one busy thread each, the others
// tickless.
func halfBusy(b *testing.B, sh shape) *system {
	y := newSystem(b, sh, policy.Rules{})
	for c := range 88 {
		y.put(c, 1, 500)
	}
	y.tickless()
	y.Nohz.NeedsUpdate, y.Nohz.HasBlocked = false, false
	return y
}

func BenchmarkKick(b *testing.B) {
	for _, bc := range []struct {
		name    string
		shape   shape
		nextDue int64
	}{
		{"not due", flat88, 1 << 40},
		{"due, unequal capacities", vera, 0},
		{"due, SMT packing", flat88.on(), 0},
	} {
		b.Run(bc.name, func(b *testing.B) {
			y := halfBusy(b, bc.shape)
			y.Nohz.NextBalance = bc.nextDue
			if bc.name == "due, SMT packing" {
				y.Shared[y.H.LLCShared[0]].NrBusyCPUs = 1 // PE0 is busy: no reason to kick
			}
			b.ReportAllocs()
			for b.Loop() {
				y.Kick(5, 10)
			}
		})
	}
}

func BenchmarkFindILB(b *testing.B) {
	for _, bc := range []struct {
		name string
		free int // a core that is wholly idle, -1 for none
	}{
		{"last core idle", 87},
		{"no core idle", -1},
	} {
		b.Run(bc.name, func(b *testing.B) {
			y := halfBusy(b, vera)
			if bc.free >= 0 {
				y.take(y.Tasks[bc.free])
			}
			b.ReportAllocs()
			for b.Loop() {
				y.FindILB(5)
			}
		})
	}
}

func BenchmarkPass(b *testing.B) {
	for _, bc := range []struct {
		name string
		idle Idle
	}{
		{"newly idle", NewlyIdle},
		{"idle", CPUIdle},
	} {
		for _, sh := range []struct {
			name string
			shape
		}{{"vera", vera}, {"flat88", flat88}} {
			b.Run(bc.name+"/"+sh.name, func(b *testing.B) {
				y := halfBusy(b, sh.shape)
				y.take(y.Tasks[0])
				d := y.level(b, 0, "MC")
				b.ReportAllocs()
				for b.Loop() {
					y.Pass(d, 0, bc.idle, 1_000_000, 10)
				}
			})
		}
	}
}

func BenchmarkPassNotChosen(b *testing.B) {
	y := halfBusy(b, vera)
	d := y.level(b, 100, "MC")
	b.ReportAllocs()
	for b.Loop() {
		y.Pass(d, 5, CPUIdle, 0, 10)
	}
}
