// SPDX-License-Identifier: Apache-2.0

package pelt

import (
	"fmt"
	"testing"
)

// BenchmarkUpdateEntity brings a running task up to date after as many ends of
// a period.
func BenchmarkUpdateEntity(b *testing.B) {
	for _, periods := range []int64{0, 1, 4} {
		b.Run(fmt.Sprint("periods=", periods), func(b *testing.B) {
			a := InitTask(1024)
			step := periods << 20
			if periods == 0 {
				step = 1 << 10
			}
			now := int64(0)
			for b.Loop() {
				if periods == 0 {
					a.PeriodContrib = 0
				}
				now += step
				a.UpdateEntity(now, 1024, true, true)
			}
		})
	}
}

// BenchmarkUpdateQueue is one period of a run queue with three tasks.
func BenchmarkUpdateQueue(b *testing.B) {
	var a Avg
	now := int64(0)
	for b.Loop() {
		now += 1 << 20
		a.UpdateQueue(now, 3072, 3, true)
	}
}

// BenchmarkUpdateQueueNow finds nothing to do.
func BenchmarkUpdateQueueNow(b *testing.B) {
	var a Avg
	for b.Loop() {
		a.UpdateQueue(1000, 3072, 3, true)
	}
}

// BenchmarkAttachDetach moves a task through a queue.
func BenchmarkAttachDetach(b *testing.B) {
	q := Avg{LastUpdate: 1 << 30, PeriodContrib: 300, LoadAvg: 2048, UtilAvg: 700, RunnableAvg: 900}
	q.LoadSum, q.UtilSum, q.RunnableSum = 2048*q.divider(), 700*q.divider(), 900*q.divider()
	e := Avg{LoadAvg: 300, UtilAvg: 200, RunnableAvg: 250, Weight: 335}
	for b.Loop() {
		q.Attach(&e)
		q.Detach(&e)
	}
}
