// SPDX-License-Identifier: Apache-2.0

package runqueue

import (
	"fmt"
	"testing"

	"sibyl/policy"
)

func busy(n int) (*Queue, []*Entity) {
	q := new(Queue)
	q.Init(&policy.Rules{}, tick)
	tasks := make([]*Entity, n)
	for i := range tasks {
		tasks[i] = task(int32(i), 0)
		q.Enqueue(tasks[i], false)
	}
	return q, tasks
}

// BenchmarkSchedule runs a slice and switches to the next task.
func BenchmarkSchedule(b *testing.B) {
	for _, n := range []int{2, 8, 64} {
		b.Run(fmt.Sprint("tasks=", n), func(b *testing.B) {
			q, _ := busy(n)
			b.ReportAllocs()
			for b.Loop() {
				if e := q.Pick(); e != q.Curr() {
					q.PutPrev()
					q.SetNext(e)
				}
				q.Run(slice)
			}
		})
	}
}

// BenchmarkPick asks a queue whose current task is not protected.
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{2, 8, 64} {
		b.Run(fmt.Sprint("tasks=", n), func(b *testing.B) {
			q, _ := busy(n)
			q.SetNext(q.Pick())
			q.Run(slice)
			for b.Loop() {
				q.Pick()
			}
		})
	}
}

// BenchmarkSleepWake has the current task of a queue sleep and wake, with the
// check for preemption.
func BenchmarkSleepWake(b *testing.B) {
	for _, n := range []int{1, 2, 8, 64} {
		b.Run(fmt.Sprint("tasks=", n), func(b *testing.B) {
			q, _ := busy(n)
			b.ReportAllocs()
			for b.Loop() {
				e := q.Pick()
				q.SetNext(e)
				q.Run(1000)
				q.Dequeue(e, false)
				q.Enqueue(e, false)
				q.WakeupPreempt(e, false)
			}
		})
	}
}
