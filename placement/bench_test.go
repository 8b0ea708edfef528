// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"

	"sibyl/policy"
)

// benchWakeup measures wakeups of a task that sleeps on a busy CPU, on a
// machine where every second core is busy with one thread.
func benchWakeup(b *testing.B, sh shape, hint bool) {
	y := newSystem(b, sh.hierarchy(b), policy.Rules{SMTRedirect: true})
	n := y.H.NrCPUs
	rng := uint32(1)
	for c := range n {
		rng = rng*1664525 + 1013904223
		if rng>>31 == 0 {
			y.busy(c)
		}
	}
	y.p.Avg.UtilAvg = 100
	prev := make([]int, 64)
	for i := range prev {
		rng = rng*1664525 + 1013904223
		prev[i] = int(rng>>8) % n
		y.busy(prev[i])
	}
	r := y.wakeup(0, 0, 0)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c := prev[i%len(prev)]
		i++
		r.Prev, r.Here = c, c
		y.hint(c, hint)
		y.p.RecentUsed = c
		y.SelectTaskRQ(r)
	}
}

func BenchmarkSelectWakeupVeraAsym(b *testing.B)  { benchWakeup(b, vera.on(), true) }
func BenchmarkSelectWakeupVeraStale(b *testing.B) { benchWakeup(b, vera.on(), false) }
func BenchmarkSelectWakeupSMT2(b *testing.B)      { benchWakeup(b, smt2.on(), true) }
func BenchmarkSelectWakeupSMT2NoHint(b *testing.B) {
	benchWakeup(b, smt2, false)
}
func BenchmarkSelectWakeupThunderX2(b *testing.B) { benchWakeup(b, thunder.on(), true) }

// BenchmarkSelectWakeupNoCore is the worst core search: every core has one
// busy thread, so that all are looked at for the fallback.
func BenchmarkSelectWakeupNoCore(b *testing.B) {
	y := newSystem(b, smt2.hierarchy(b), policy.Rules{})
	y.busy(seq(0, y.H.NrCPUs)...)
	y.idle(0)
	r := y.wakeup(1, 1, 0)
	b.ReportAllocs()
	for b.Loop() {
		y.hint(1, true)
		y.p.RecentUsed = 1
		y.SelectTaskRQ(r)
	}
}

func benchFork(b *testing.B, sh shape) {
	y := newSystem(b, sh.hierarchy(b), policy.Rules{SMTRedirect: true})
	for c := 0; c < y.H.NrCPUs; c += 2 {
		y.busy(c)
	}
	r := Request{Task: y.p.ID, Flags: Fork, Waker: y.w.ID, InTask: true}
	b.ReportAllocs()
	for b.Loop() {
		y.SelectTaskRQ(r)
	}
}

func BenchmarkSelectForkVera2(b *testing.B)     { benchFork(b, vera2.on()) }
func BenchmarkSelectForkThunderX2(b *testing.B) { benchFork(b, thunder.on()) }
