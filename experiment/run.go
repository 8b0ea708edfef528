// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// StoppedError says that a batch ended before all of its jobs were done.
type StoppedError struct {
	// Done are the indices of the jobs whose results are good, ascending.
	Done  []int
	Total int
	// Err is why: the context's cause or the first failing job's error.
	Err error
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("run %d jobs: stopped after %d: %v", e.Total, len(e.Done), e.Err)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Err }

// Run calls run for each job on up to workers goroutines (GOMAXPROCS for 0 or
// less) and returns the results in the order of jobs, whatever the scheduling.
//
// When a job fails, jobs after it are cancelled or not started, and jobs before
// it are finished, so the error is that of the first failing job in order,
// always. When ctx ends, all running jobs are cancelled. In both cases the
// error is a *StoppedError, and the slice still has one entry a job, of which
// those listed in Done are results and the others zero.
//
// progress, if not nil, is told after each job how many are done; its calls
// do not overlap. run is called concurrently and must heed its context.
func Run[J, R any](ctx context.Context, jobs []J, workers int,
	run func(context.Context, J) (R, error), progress func(done, total int),
) ([]R, error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	b := &batch[R]{
		ctx: ctx, total: len(jobs), failed: len(jobs), progress: progress,
		results: make([]R, len(jobs)), ok: make([]bool, len(jobs)),
		cancel: make([]context.CancelFunc, len(jobs)),
	}
	var wg sync.WaitGroup
	for range min(workers, len(jobs)) {
		wg.Go(func() {
			for {
				i, jctx, more := b.take()
				if !more {
					return
				}
				r, err := run(jctx, jobs[i])
				b.put(i, r, err)
			}
		})
	}
	wg.Wait()
	return b.results, b.err()
}

// batch is the state that the workers of one Run share.
type batch[R any] struct {
	ctx      context.Context
	total    int
	progress func(done, total int)

	mu      sync.Mutex
	next    int // the next job to start
	done    int
	failed  int // the first job that failed, total if none
	failure error
	results []R
	ok      []bool
	cancel  []context.CancelFunc // of the running jobs
}

// take hands out the next job. Jobs start in order: every job before a failed
// one has been started.
func (b *batch[R]) take() (i int, ctx context.Context, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next >= b.failed || b.ctx.Err() != nil {
		return 0, nil, false
	}
	i = b.next
	b.next++
	ctx, b.cancel[i] = context.WithCancel(b.ctx)
	return i, ctx, true
}

// put records how job i ended.
func (b *batch[R]) put(i int, r R, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancel[i]()
	b.cancel[i] = nil
	switch {
	case err == nil:
		b.results[i], b.ok[i] = r, true
		b.done++
		if b.progress != nil {
			b.progress(b.done, b.total)
		}
	case b.ctx.Err() != nil || i > b.failed:
		// Cancelled with the batch, or because of an earlier job.
	default:
		b.failed, b.failure = i, err
		for _, c := range b.cancel[i+1:] {
			if c != nil {
				c()
			}
		}
	}
}

// err is called when no worker runs.
func (b *batch[R]) err() error {
	e := &StoppedError{Total: b.total, Err: b.failure}
	for i, ok := range b.ok {
		if !ok {
			continue
		}
		if i > b.failed {
			// Whether a job after the failure got done is a matter of
			// scheduling.
			var zero R
			b.results[i] = zero
			continue
		}
		e.Done = append(e.Done, i)
	}
	if len(e.Done) == b.total {
		return nil
	}
	if e.Err == nil {
		e.Err = context.Cause(b.ctx)
	}
	return e
}
