// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestJobsKeepPairsTogether(t *testing.T) {
	got := Jobs([]string{"v7.3", "tip"}, 5, 2)
	want := []Job{{"v7.3", 5}, {"tip", 5}, {"v7.3", 6}, {"tip", 6}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Jobs(nil, 0, 3); got != nil {
		t.Errorf("no policies: %v", got)
	}
	if got := Jobs([]string{"tip"}, 0, -1); got != nil {
		t.Errorf("negative n: %v", got)
	}
}

// The results are in the jobs' order although the jobs end in another one, and
// the workers overlap.
func TestRunOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs := []int{50, 10, 40, 20, 30}
		start := time.Now()
		var ticks []int
		got, err := Run(t.Context(), jobs, 5, func(_ context.Context, ms int) (string, error) {
			time.Sleep(time.Duration(ms) * time.Millisecond)
			return fmt.Sprint(ms), nil
		}, func(done, total int) {
			if total != len(jobs) {
				t.Errorf("progress: total %d", total)
			}
			ticks = append(ticks, done)
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"50", "10", "40", "20", "30"}, got); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]int{1, 2, 3, 4, 5}, ticks); d != "" {
			t.Errorf("progress: %s", d)
		}
		if e := time.Since(start); e != 50*time.Millisecond {
			t.Errorf("took %v: want the longest job's 50ms", e)
		}
	})
}

func TestRunBoundsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := Run(t.Context(), make([]int, 6), 2, func(context.Context, int) (int, error) {
			time.Sleep(time.Second)
			return 0, nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if e := time.Since(start); e != 3*time.Second {
			t.Errorf("6 jobs of 1s on 2 workers took %v", e)
		}
	})
}

// The first failing job in order is reported even if a later one fails sooner;
// what runs after it is cancelled, what runs before it is finished.
func TestRunFirstErrorInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early, late := errors.New("early"), errors.New("late")
		started := make([]bool, 6)
		start := time.Now()
		got, err := Run(t.Context(), []int{0, 1, 2, 3, 4, 5}, 4, func(ctx context.Context, i int) (int, error) {
			started[i] = true
			switch i {
			case 0:
				time.Sleep(30 * time.Millisecond)
				return 100, ctx.Err()
			case 1:
				time.Sleep(20 * time.Millisecond)
				return 0, early
			case 2:
				time.Sleep(10 * time.Millisecond)
				return 0, late
			default:
				<-ctx.Done() // hangs unless cancelled
				return 0, ctx.Err()
			}
		}, nil)
		var stopped *StoppedError
		if !errors.As(err, &stopped) || !errors.Is(err, early) {
			t.Fatalf("error %v: want early", err)
		}
		if d := cmp.Diff([]int{0}, stopped.Done); d != "" {
			t.Errorf("done: %s", d)
		}
		if d := cmp.Diff([]int{100, 0, 0, 0, 0, 0}, got); d != "" {
			t.Errorf("results: %s", d)
		}
		if started[4] || started[5] {
			t.Error("jobs started after the failure")
		}
		if e := time.Since(start); e != 30*time.Millisecond {
			t.Errorf("took %v: want 30ms", e)
		}
	})
}

func TestRunStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupted := errors.New("interrupted")
		ctx, stop := context.WithCancelCause(t.Context())
		got, err := Run(ctx, []int{1, 2, 3, 4}, 1, func(ctx context.Context, i int) (int, error) {
			if i == 3 {
				stop(interrupted)
				return 0, ctx.Err()
			}
			return i * 10, nil
		}, nil)
		if err == nil || err.Error() != "run 4 jobs: stopped after 2: interrupted" || !errors.Is(err, interrupted) {
			t.Errorf("error %v", err)
		}
		if d := cmp.Diff([]int{10, 20, 0, 0}, got); d != "" {
			t.Error(d)
		}
	})
}

func TestRunEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, []int{1}, 0, func(context.Context, int) (int, error) {
		t.Error("a job was started")
		return 0, nil
	}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// All done before the end is no stop.
	ctx, cancel = context.WithCancel(t.Context())
	if _, err := Run(ctx, []int{1}, 1, func(context.Context, int) (int, error) { cancel(); return 1, nil }, nil); err != nil {
		t.Errorf("all done: %v", err)
	}
	if _, err := Run(t.Context(), nil, 1, func(context.Context, int) (int, error) { return 1, nil }, nil); err != nil {
		t.Errorf("no jobs: %v", err)
	}
}

// Results, and the error if there is one, do not depend on the workers.
func TestRunIndependentOfWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 20).Draw(t, "jobs")
		run := func(_ context.Context, i int) (int, error) {
			if i == 0 {
				return 0, errors.New("zero")
			}
			return i * i, nil
		}
		one, err1 := Run(context.Background(), jobs, 1, run, nil)
		many, err2 := Run(context.Background(), jobs, rapid.IntRange(2, 8).Draw(t, "workers"), run, nil)
		if !slices.Equal(one, many) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("one worker %v, %v; many %v, %v", one, err1, many, err2)
		}
	})
}
