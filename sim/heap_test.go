// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// TestHeapOrder pushes random events, and expects
// them in (time, class, sequence) order.
func TestHeapOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		type want struct {
			time int64
			key  uint64
		}
		var model []want
		kinds := []kind{evCore, evIRQ, evTick, evOp, evPoint}
		for range rapid.IntRange(1, 300).Draw(t, "n") {
			switch op := rapid.IntRange(0, 3).Draw(t, "op"); {
			case op == 0 && len(q.ev) > 0:
				sort.Slice(model, func(i, j int) bool {
					return model[i].time < model[j].time || model[i].time == model[j].time && model[i].key < model[j].key
				})
				if got := (want{q.ev[0].time, q.ev[0].key}); got != model[0] {
					t.Fatalf("top %+v, want %+v", got, model[0])
				}
				model = model[1:]
				q.pop()
			default:
				k := rapid.SampledFrom(kinds).Draw(t, "kind")
				at := rapid.Int64Range(0, 50).Draw(t, "time")
				q.push(at, k, 0, 0, 0)
				model = append(model, want{at, classes[k]<<56 | q.seq})
			}
			if len(model) != len(q.ev) {
				t.Fatalf("%d events, want %d", len(q.ev), len(model))
			}
		}
	})
}

// BenchmarkHeap is the bare heap: one pop and one push among 256 events.
func BenchmarkHeap(b *testing.B) {
	var q queue
	x := uint64(1)
	next := func() int64 {
		x = x*6364136223846793005 + 1442695040888963407
		return int64(x >> 44)
	}
	for range 256 {
		q.push(next(), evOp, 0, 0, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		now := q.ev[0].time
		q.pop()
		q.push(now+next(), evOp, 0, 0, 0)
	}
}
