// SPDX-License-Identifier: Apache-2.0

package pelt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// history is a task's averages after some time of running, waiting, sleeping.
func history(t *rapid.T, weight int64) Avg {
	a := InitTask(weight)
	now := int64(0)
	for range rapid.IntRange(0, 6).Draw(t, "stretches") {
		now += rapid.Int64Range(0, 60_000).Draw(t, "units") * unit
		queued := rapid.Bool().Draw(t, "queued")
		a.UpdateEntity(now, weight, queued, queued && rapid.Bool().Draw(t, "running"))
	}
	return a
}

var someWeight = rapid.SampledFrom([]int64{3, 15, 335, 1024, 1277, 88761})

// TestAttachDetach: a queue that a task joins and leaves is what it was, and
// the task keeps its averages.
func TestAttachDetach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := Avg{LastUpdate: 12345 << 10, PeriodContrib: rapid.Uint32Range(0, period-1).Draw(t, "contrib")}
		for range rapid.IntRange(0, 4).Draw(t, "tasks") {
			e := history(t, someWeight.Draw(t, "weight"))
			q.Attach(&e)
		}
		before := q
		e := history(t, someWeight.Draw(t, "weight"))
		was := e
		q.Attach(&e)
		if q.UtilAvg != before.UtilAvg+was.UtilAvg || q.LoadAvg != before.LoadAvg+was.LoadAvg || q.RunnableAvg != before.RunnableAvg+was.RunnableAvg {
			t.Fatalf("queue %+v and task %+v made %+v", before, was, q)
		}
		if e.UtilAvg != was.UtilAvg || e.LoadAvg != was.LoadAvg || e.RunnableAvg != was.RunnableAvg ||
			e.LastUpdate != q.LastUpdate || e.PeriodContrib != q.PeriodContrib {
			t.Fatalf("task %+v became %+v", was, e)
		}
		// the sums are what the averages say, less than one of the average off
		if e.UtilSum/q.divider() != uint64(e.UtilAvg) || e.RunnableSum/q.divider() != uint64(e.RunnableAvg) {
			t.Fatalf("sums %+v", e)
		}
		if load := int64(uint64(e.Weight) * e.LoadSum / q.divider()); load > max(e.LoadAvg, e.Weight/minDivider+1) || load < e.LoadAvg-1-e.Weight/minDivider {
			t.Fatalf("sum of load %d stands for %d, not %d", e.LoadSum, load, e.LoadAvg)
		}
		q.Detach(&e)
		// A load sum is a multiple of its weight, so it may lie below what the
		// average stands for; leaving lifts it there.
		before.LoadSum = max(before.LoadSum, uint64(before.LoadAvg)*minDivider)
		if diff := cmp.Diff(before, q); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// TestAttachLight: a task whose load has decayed to nothing is not quite gone.
func TestAttachLight(t *testing.T) {
	var q Avg
	e := Avg{Weight: 88761}
	q.Attach(&e)
	if e.LoadSum != 1 || q.LoadSum != 88761 || q.LoadAvg != 0 {
		t.Errorf("task %+v, queue %+v", e, q)
	}
	e = Avg{LoadAvg: 100} // of unknown weight: nice 0
	q = Avg{}
	q.Attach(&e)
	if want := uint64(100 * minDivider / 1024); e.LoadSum != want || q.LoadSum != 1024*want {
		t.Errorf("task %+v, queue %+v", e, q)
	}
}

// TestDetachFloors: what a queue has lost to rounding cannot make it negative,
// and its sums never fall below its averages.
func TestDetachFloors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		q, e    Avg
		util    int64
		utilSum uint64
	}{
		{"more than there is", Avg{UtilAvg: 10, UtilSum: 10 * minDivider}, Avg{UtilAvg: 12, UtilSum: 12 * minDivider}, 0, 0},
		{"sum below average", Avg{UtilAvg: 10, UtilSum: 10 * minDivider}, Avg{UtilAvg: 4, UtilSum: 7 * minDivider}, 6, 6 * minDivider},
		{"plain", Avg{UtilAvg: 10, UtilSum: 10*minDivider + 500}, Avg{UtilAvg: 4, UtilSum: 4*minDivider + 100}, 6, 6*minDivider + 400},
	} {
		tc.q.Detach(&tc.e)
		if tc.q.UtilAvg != tc.util || tc.q.UtilSum != tc.utilSum {
			t.Errorf("%s: average %d, sum %d, not %d, %d", tc.name, tc.q.UtilAvg, tc.q.UtilSum, tc.util, tc.utilSum)
		}
	}
}

// TestQueueIsItsTasks: the averages of a queue remain the sum of those of the
// tasks that it holds, running, waiting or asleep.
func TestQueueIsItsTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Avg
		n := rapid.IntRange(1, 5).Draw(t, "tasks")
		tasks := make([]Avg, n)
		for i := range tasks {
			tasks[i] = InitTask(rapid.SampledFrom([]int64{335, 1024, 3121}).Draw(t, "weight"))
			q.Attach(&tasks[i])
		}
		awake := make([]bool, n)
		now := int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "stretches") {
			weight, runnable, curr := int64(0), 0, -1
			for i := range awake {
				if awake[i] = rapid.Bool().Draw(t, "awake"); awake[i] {
					weight += tasks[i].Weight
					runnable++
					curr = i
				}
			}
			now += rapid.Int64Range(0, 20_000).Draw(t, "units") * unit
			q.UpdateQueue(now, weight, runnable, curr >= 0)
			var load, util, run int64
			for i := range tasks {
				tasks[i].UpdateEntity(now, tasks[i].Weight, awake[i], i == curr)
				load += tasks[i].LoadAvg
				util += tasks[i].UtilAvg
				run += tasks[i].RunnableAvg
			}
			// Every sum loses up to one unit per end of a period; the
			// weight multiplies a task's loss.
			slack := int64(4 * n)
			if d := q.UtilAvg - util; d < -slack || d > slack {
				t.Fatalf("utilisation %d, of tasks %d", q.UtilAvg, util)
			}
			if d := q.RunnableAvg - run; d < -slack || d > slack {
				t.Fatalf("runnable %d, of tasks %d", q.RunnableAvg, run)
			}
			if d := q.LoadAvg - load; d < -3*slack || d > 3*slack {
				t.Fatalf("load %d, of tasks %d", q.LoadAvg, load)
			}
		}
	})
}

// TestPostInit: the series of the kernel's comment, and its other cases.
func TestPostInit(t *testing.T) {
	var q Avg
	for i, want := range []int64{512, 256, 128, 64, 32, 16, 8} {
		e := InitTask(1024)
		PostInit(&e, &q, 1024, 1024)
		if e.UtilAvg != want || e.RunnableAvg != want || e.LoadAvg != 1024 {
			t.Errorf("task %d starts with %+v, not utilisation %d", i, e, want)
		}
		e.UtilAvg = want
		q.Attach(&e)
		q.LoadAvg = 0 // the queue's share per load is then above what is spare
	}
	for _, tc := range []struct {
		name                       string
		util, load, weight, capMax int64
		want                       int64
	}{
		{"idle small CPU", 0, 0, 1024, 400, 200},
		{"share of the queue", 300, 2047, 1024, 1024, 150},
		{"heavier task", 300, 2047, 1277, 1024, 187},
		{"half of the spare", 900, 1023, 1024, 1024, 62},
		{"nothing spare", 1024, 4096, 1024, 1024, 0},
		{"over capacity", 700, 1024, 1024, 512, 0},
		{"one unit spare", 1023, 1024, 1024, 1024, 0},
	} {
		e := InitTask(tc.weight)
		PostInit(&e, &Avg{UtilAvg: tc.util, LoadAvg: tc.load}, tc.weight, tc.capMax)
		if e.UtilAvg != tc.want || e.RunnableAvg != tc.want {
			t.Errorf("%s: utilisation %d, runnable %d, not %d", tc.name, e.UtilAvg, e.RunnableAvg, tc.want)
		}
	}
}

// TestUtilEst: the rule of mechanisms 9.5, each condition at its edge.
func TestUtilEst(t *testing.T) {
	for _, tc := range []struct {
		name                       string
		est, util, runnable, capac int64
		above                      bool
		want                       int64
	}{
		{"first", 0, 300, 300, 1024, false, 300},
		{"rise", 100, 101, 400, 1024, false, 101},
		{"same", 100, 100, 100, 1024, false, 100},
		{"fall within the margin", 100, 91, 91, 1024, false, 100},
		{"fall at the margin: 2.5 rounds up to 3", 100, 90, 90, 1024, false, 97},
		{"quarter", 400, 200, 200, 1024, false, 350},
		{"quarter rounded up", 400, 199, 199, 1024, false, 349},
		{"waited", 400, 200, 211, 1024, false, 400},
		{"waited, at the margin", 400, 200, 210, 1024, false, 350},
		{"above capacity", 900, 600, 600, 512, false, 825},
		{"above capacity, kept (row 28)", 900, 600, 600, 512, true, 900},
		{"at capacity (row 28)", 900, 512, 512, 512, true, 803},
		{"rise above capacity (row 28)", 500, 600, 600, 512, true, 600},
	} {
		if got := UtilEst(tc.est, tc.util, tc.runnable, tc.capac, tc.above); got != tc.want {
			t.Errorf("%s: %d, not %d", tc.name, got, tc.want)
		}
	}
}
