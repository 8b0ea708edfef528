// SPDX-License-Identifier: Apache-2.0

package runqueue

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sibyl/policy"
)

const (
	tick  = 4_000_000
	slice = 2_800_000
)

// world drives a queue through random lives of its entities and holds it to
// direct sums after each step.
type world struct {
	*rapid.T
	q     Queue
	rules policy.Rules
	all   []*Entity
	moved []*Entity // off the queue, by DequeueMove
}

func newWorld(t *rapid.T) *world {
	w := &world{T: t}
	w.rules = policy.Rules{
		SliceLagBound: rapid.Bool().Draw(t, "SliceLagBound"), ProtectToDeadline: rapid.Bool().Draw(t, "ProtectToDeadline"),
		OldPreempt: rapid.Bool().Draw(t, "OldPreempt"), ProtectOwnTime: rapid.Bool().Draw(t, "ProtectOwnTime"), PreemptByPick: rapid.Bool().Draw(t, "PreemptByPick"),
	}
	w.q.Init(&w.rules, tick)
	// virtual time wraps during some of the runs
	w.q.v0 = rapid.SampledFrom([]int64{0, math.MaxInt64 - 1_000_000, -1_000_000}).Draw(t, "v0")
	n := rapid.IntRange(1, 8).Draw(t, "entities")
	for i := range n {
		e := &Entity{ID: int32(i), Weight: NiceWeight(rapid.IntRange(-20, 19).Draw(t, "nice")), Slice: slice}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			e.Weight, e.Idle = SchedIdleWeight, true
		case 1:
			e.Batch = true
		case 2:
			e.Slice = rapid.Int64Range(100_000, 100_000_000).Draw(t, "slice")
		}
		w.all = append(w.all, e)
	}
	return w
}

// queued returns the entities that the queue should hold.
func (w *world) queued() []*Entity {
	return slices.DeleteFunc(slices.Clone(w.all), func(e *Entity) bool { return !e.OnRQ })
}

// moment is Σ w_j(v_j - base) in unbounded integers.
func (w *world) moment(base int64) *big.Int {
	sum := new(big.Int)
	for _, e := range w.queued() {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(e.Weight), big.NewInt(e.VRuntime-base)))
	}
	return sum
}

// eligible by its definition: the others are as a whole not behind e.
func (w *world) eligible(e *Entity) bool { return w.moment(e.VRuntime).Sign() >= 0 }

func (w *world) weight() (sum int64) {
	for _, e := range w.queued() {
		sum += e.Weight
	}
	return sum
}

// pick is the rule by brute force.
func (w *world) pick(protect bool) *Entity {
	in := w.queued()
	if len(in) < 2 {
		return append(in, nil)[0]
	}
	if protect {
		for _, e := range []*Entity{w.q.next, w.q.curr} {
			if e != nil && w.eligible(e) && (e == w.q.next || e.VRuntime-e.VProt < 0) {
				return e
			}
		}
	}
	var best *Entity
	for _, e := range in {
		if !w.eligible(e) {
			continue
		}
		if best == nil || e.Deadline-best.Deadline < 0 || e.Deadline == best.Deadline && e.ID < best.ID {
			best = e
		}
	}
	return best
}

func (w *world) check() {
	w.Helper()
	q, in := &w.q, w.queued()
	if q.Len() != len(in) || q.Weight() != w.weight() {
		w.Fatalf("%d queued of weight %d, should be %d of %d", q.Len(), q.Weight(), len(in), w.weight())
	}
	if got := big.NewInt(q.moment()); got.Cmp(w.moment(q.v0)) != 0 {
		w.Fatalf("moment %v, directly %v", got, w.moment(q.v0))
	}
	if len(in) > 0 {
		// Div rounds down for a positive divisor
		mean := new(big.Int).Div(w.moment(q.v0), big.NewInt(w.weight()))
		if got := q.AvgVRuntime() - q.v0; big.NewInt(got).Cmp(mean) != 0 {
			w.Fatalf("V is v0%+d, directly v0%+d", got, mean)
		}
	}
	for _, e := range in {
		if got, want := q.Eligible(e), w.eligible(e); got != want {
			w.Fatalf("entity %d eligible: %t, directly %t", e.ID, got, want)
		}
	}
	tree := slices.DeleteFunc(in, func(e *Entity) bool { return e == q.curr })
	slices.SortFunc(tree, func(a, b *Entity) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(tree, q.ents) {
		w.Fatalf("the tree holds %v, should be %v", q.ents, tree)
	}
	for i, e := range tree {
		if i == 0 && (q.shortest > e.Slice || q.longest < e.Slice) || e.Slice < q.shortest || e.Slice > q.longest {
			w.Fatalf("slice %d of entity %d is not within %d to %d", e.Slice, e.ID, q.shortest, q.longest)
		}
	}
	if len(tree) > 0 && !(slices.ContainsFunc(tree, func(e *Entity) bool { return e.Slice == q.shortest }) &&
		slices.ContainsFunc(tree, func(e *Entity) bool { return e.Slice == q.longest })) {
		w.Fatalf("nobody has slice %d or nobody %d", q.shortest, q.longest)
	}
	if q.next != nil && !q.next.OnRQ {
		w.Fatalf("buddy %d is not queued", q.next.ID)
	}
	for _, protect := range []bool{true, false} {
		if got, want := q.pick(protect), w.pick(protect); got != want {
			w.Fatalf("pick (protection %t): %v, by brute force %v", protect, got, want)
		}
	}
}

// limit is how large a lag may be.
func (w *world) limit(e *Entity, longest int64) int64 {
	ns := longest + tick
	if w.rules.SliceLagBound {
		ns = max(2*e.Slice, tick)
	}
	return ns * 1024 / e.Weight
}

func (w *world) longest() (ns int64) {
	for _, e := range w.queued() {
		ns = max(ns, e.Slice)
	}
	return ns
}

// off checks the lag of an entity that was just taken off, or delayed.
func (w *world) off(e *Entity, v, longest, debt int64, wasDelayed bool) {
	w.Helper()
	limit := w.limit(e, longest)
	want := max(-limit, min(limit, v-e.VRuntime))
	if wasDelayed {
		want = min(0, max(want, debt))
	}
	if e.VLag != want {
		w.Fatalf("entity %d leaves with a lag of %d, should be %d", e.ID, e.VLag, want)
	}
}

func (w *world) some(what string, ok func(*Entity) bool) *Entity {
	in := slices.DeleteFunc(slices.Clone(w.all), func(e *Entity) bool { return !ok(e) })
	if len(in) == 0 {
		return nil
	}
	return rapid.SampledFrom(in).Draw(w.T, what)
}

// wake enqueues a sleeper, or one that was taken off to be moved.
func (w *world) wake() *Entity {
	e := w.some("sleeper", func(e *Entity) bool { return !e.OnRQ && !slices.Contains(w.moved, e) })
	if e == nil {
		return nil
	}
	v, others, lag := w.q.AvgVRuntime(), w.weight(), e.VLag
	initial := rapid.Bool().Draw(w.T, "new")
	w.q.Enqueue(e, initial)
	request := e.Slice
	if initial {
		request /= 2
	}
	if got, want := e.Deadline-e.VRuntime, request*1024/e.Weight; got != want {
		w.Fatalf("entity %d woke with a request of %d, not %d", e.ID, got, want)
	}
	w.joined(e, v, others, lag)
	return e
}

// joined: once e is part of the mean, it has the lag that it came with.
func (w *world) joined(e *Entity, v, others, lag int64) {
	w.Helper()
	if others == 0 {
		if e.VRuntime != v {
			w.Fatalf("entity %d on an empty queue is at %+d of the last mean", e.ID, e.VRuntime-v)
		}
		return
	}
	if d := w.q.AvgVRuntime() - e.VRuntime - lag; d < -2 || d > 2 {
		w.Fatalf("entity %d came with lag %d and has %+d to that", e.ID, lag, d)
	}
}

// TestLives takes entities through everything that can befall them.
func TestLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		q := &w.q
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { w.T = t; w.check() },
			"wake": func(t *rapid.T) {
				w.T = t
				w.wake()
			},
			"wake and preempt": func(t *rapid.T) {
				w.T = t
				e := w.wake()
				if e == nil {
					return
				}
				fork := rapid.Bool().Draw(t, "fork")
				for s := q.PreemptDrops(e, fork); s != nil; s = q.PreemptDrops(e, fork) {
					if !s.Delayed || s == e {
						t.Fatalf("entity %d is no sleeper in the way", s.ID)
					}
					q.Drop(s)
				}
				vprot := int64(0)
				if q.curr != nil {
					vprot = q.curr.VProt
				}
				if q.WakeupPreempt(e, fork) && q.curr != nil && !w.rules.OldPreempt && !w.rules.PreemptByPick && q.curr.VRuntime-q.curr.VProt < 0 {
					t.Fatal("preempted, but still protected")
				}
				if q.curr != nil && q.curr.VProt-vprot > 0 {
					t.Fatal("somebody's waking prolonged the protection")
				}
			},
			"schedule": func(t *rapid.T) {
				w.T = t
				for {
					e := q.Pick()
					if e == nil {
						return
					}
					if !e.Delayed {
						if e != q.curr {
							q.PutPrev()
							q.SetNext(e)
							if q.curr != e || e.VProt-e.Deadline > 0 {
								t.Fatalf("entity %d is protected past its deadline", e.ID)
							}
						}
						return
					}
					v, longest, debt := q.AvgVRuntime(), w.longest(), e.VLag
					q.Drop(e)
					w.off(e, v, longest, debt, true)
					w.check()
				}
			},
			"run": func(t *rapid.T) {
				w.T = t
				exec := rapid.Int64Range(0, 5_000_000).Draw(t, "ns")
				if q.curr == nil {
					if q.Run(exec) {
						t.Fatal("nobody ran and should make way")
					}
					return
				}
				c := *q.curr
				resched := q.Run(exec)
				if exec > 0 && q.curr.VRuntime != c.VRuntime+exec*1024/c.Weight {
					t.Fatalf("%d ns made %+d", exec, q.curr.VRuntime-c.VRuntime)
				}
				used := exec > 0 && q.curr.VRuntime-c.Deadline >= 0
				if used && q.curr.Deadline != q.curr.VRuntime+c.Slice*1024/c.Weight || !used && q.curr.Deadline != c.Deadline {
					t.Fatalf("request used up: %t, deadline %+d", used, q.curr.Deadline-c.Deadline)
				}
				if used && q.Len() > 1 && !resched || resched && q.Len() == 1 {
					t.Fatalf("%d queued, request used up: %t, reschedule: %t", q.Len(), used, resched)
				}
			},
			"run for the slice": func(t *rapid.T) {
				w.T = t
				if q.curr == nil {
					return
				}
				deadline := q.curr.Deadline
				left := q.SliceLeft()
				if left > 1 {
					q.Run(left - 1)
					if q.curr.Deadline != deadline && q.curr.Weight <= 1024 {
						t.Fatal("the deadline came early")
					}
					left = q.SliceLeft()
				}
				if q.Run(left); left > 0 && q.curr.Deadline == deadline {
					t.Fatal("the deadline was not reached")
				}
			},
			"sleep": func(t *rapid.T) {
				w.T = t
				e := w.some("sleeper", func(e *Entity) bool { return e.OnRQ && !e.Delayed })
				if e == nil {
					return
				}
				sleep := rapid.Bool().Draw(t, "may be delayed")
				v, longest, owes := q.AvgVRuntime(), w.longest(), !w.eligible(e)
				if got := q.Dequeue(e, sleep); got != (owes && sleep) || e.OnRQ != got || e.Delayed != got {
					t.Fatalf("entity %d owes: %t, stays: %t, %+v", e.ID, owes, got, *e)
				}
				w.off(e, v, longest, 0, false)
			},
			"wake delayed": func(t *rapid.T) {
				w.T = t
				e := w.some("delayed", func(e *Entity) bool { return e.Delayed && e.OnRQ })
				if e == nil {
					return
				}
				was, v, longest := *e, q.AvgVRuntime(), w.longest()
				q.Requeue(e)
				if e.Delayed || !e.OnRQ {
					t.Fatalf("not awake: %+v", *e)
				}
				w2 := *e
				w2.VRuntime = was.VRuntime
				w.off(&w2, v, longest, was.VLag, true)
				if v-e.VLag == was.VRuntime {
					if e.VRuntime != was.VRuntime || e.Deadline != was.Deadline {
						t.Fatal("moved without need")
					}
				} else if e != q.curr && q.Len() > 1 {
					w.joined(e, 0, 1, e.VLag)
				}
			},
			"move away": func(t *rapid.T) {
				w.T = t
				e := w.some("moved", func(e *Entity) bool { return e.OnRQ })
				if e == nil {
					return
				}
				v, longest, was := q.AvgVRuntime(), w.longest(), *e
				q.DequeueMove(e)
				w.off(e, v, longest, was.VLag, was.Delayed)
				if e.Deadline != was.Deadline-was.VRuntime || !e.RelDeadline || e.Delayed != was.Delayed {
					t.Fatalf("%+v became %+v", was, *e)
				}
				w.moved = append(w.moved, e)
			},
			"move in": func(t *rapid.T) {
				w.T = t
				if len(w.moved) == 0 {
					return
				}
				e := w.moved[0]
				w.moved = w.moved[1:]
				was, v, others := *e, q.AvgVRuntime(), w.weight()
				q.EnqueueMoved(e)
				if e.Deadline-e.VRuntime != was.Deadline || e.RelDeadline || e.Delayed != was.Delayed {
					t.Fatalf("%+v became %+v", was, *e)
				}
				w.joined(e, v, others, was.VLag)
			},
			"yield": func(t *rapid.T) {
				w.T = t
				if q.curr == nil {
					return
				}
				was, owes := *q.curr, !w.eligible(q.curr)
				q.Yield()
				if q.Len() == 1 || owes {
					if *q.curr != was {
						t.Fatalf("%+v became %+v", was, *q.curr)
					}
				} else if q.curr.VRuntime != was.Deadline || q.curr.Deadline != was.Deadline+was.Slice*1024/was.Weight {
					t.Fatalf("%+v became %+v", was, *q.curr)
				}
			},
		})
	})
}

// TestBounds: sums stay exact with as many, as heavy and as far apart entities
// as can be: lags at their bound for the longest request, of the lightest and
// the heaviest weight.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t}
		w.q.Init(&w.rules, 10_000_000)
		w.q.v0 = rapid.Int64().Draw(t, "v0")
		n := rapid.IntRange(2, 120).Draw(t, "entities")
		far := rapid.Int64Range(0, 110_000_000*1024/3)
		for i := range n {
			e := &Entity{ID: int32(i), Weight: rapid.SampledFrom([]int64{3, 15, 1024, 88761}).Draw(t, "weight"), Slice: 100_000_000}
			bound := int64(110_000_000) * 1024 / e.Weight
			e.VLag = min(bound, far.Draw(t, "lag"))
			if rapid.Bool().Draw(t, "owes") {
				e.VLag = -e.VLag
			}
			w.all = append(w.all, e)
			w.q.Enqueue(e, false)
		}
		w.check()
		e := w.q.Pick()
		w.q.SetNext(e)
		w.q.Run(rapid.Int64Range(0, 110_000_000).Draw(t, "ns"))
		w.check()
		w.q.Dequeue(e, false)
		w.check()
	})
}

// TestNoAllocation: the life of a task on a queue that has been as long before.
func TestNoAllocation(t *testing.T) {
	q, tasks := busy(8)
	if n := testing.AllocsPerRun(100, func() {
		e := q.Pick()
		q.SetNext(e)
		q.Run(slice)
		q.PutPrev()
		for _, e := range tasks {
			q.Dequeue(e, false)
		}
		for _, e := range tasks {
			q.Enqueue(e, false)
			q.WakeupPreempt(e, false)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
