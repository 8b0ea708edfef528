// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/bits"

	"sibyl/cpumask"
)

// kind says what an event does when it falls due.
type kind uint8

const (
	evNone     kind = iota
	evCore          // core a's mode changes by itself; gen is the core's
	evIRQ           // noise arrives at CPU a
	evIRQEnd        // CPU a's interrupt or softirq work ends
	evIPI           // a resched IPI arrives at CPU a
	evWakeList      // CPU a takes the tasks of its wake list
	evILB           // CPU a's balance softirq for idle CPUs runs
	evTimer         // task b's sleep is over, on CPU a
	evTick          // CPU a's tick
	evHRTick        // the slice of CPU a's current task is used up; gen is the CPU's
	evOp            // CPU a's current task has done its operation; gen is the CPU's
	evSpin          // CPU a's current task stops spinning; gen is the CPU's
	evStopper       // CPU a's stopper thread runs (active balance)
	evPoint         // the run's own moments: b says which
)

// event is one entry of the heap. Events are ordered by time, then by class
// (hardware before interrupts before tasks), then by the order of pushing.
type event struct {
	time int64
	key  uint64 // class<<56 | sequence
	kind kind
	a, b int32
	gen  uint32
}

// classes order events of one nanosecond: what the hardware does comes before
// what it interrupts, and that before what tasks do.
var classes = [...]uint64{
	evNone: 0, evPoint: 0, evCore: 1, evIRQEnd: 2, evIRQ: 3, evIPI: 4, evWakeList: 4,
	evILB: 5, evTimer: 6, evTick: 7, evHRTick: 8, evStopper: 9, evOp: 10, evSpin: 10,
}

// queue is the event queue: a 4-ary min-heap, and a lane for the CPUs' ticks.
// Four children fill little more than two cache lines and halve the depth of a
// binary heap. Ticks fall on jiffy borders, so the lane needs no heap: it keeps
// the next border and the set of ticking CPUs, and hands them out in ascending
// order.
type queue struct {
	ev  []event
	seq uint64

	ticking cpumask.Mask
	border  int64 // when the lane's CPUs tick next
	jiffy   int64
	cpu     int // the lane's next CPU at border
}

func (e *event) before(o *event) bool {
	return less(e, o) != 0
}

// initLane starts the tick lane of n CPUs at time now.
func (q *queue) initLane(n int, now, jiffy int64) {
	q.ticking = cpumask.New(n)
	q.jiffy, q.border = jiffy, (now/jiffy+1)*jiffy
	q.cpu = -1
}

// startTick makes CPU c tick from the next border after now.
func (q *queue) startTick(c int, now int64) {
	if q.cpu < 0 {
		// The lane was empty; its border may have passed.
		q.border = (now/q.jiffy + 1) * q.jiffy
		q.cpu = c
	} else if now < q.border || c > q.cpu {
		q.cpu = min(q.cpu, c)
	}
	q.ticking.Set(c)
}

// tickFirst tells whether the next event is a tick.
func (q *queue) tickFirst() bool {
	if q.cpu < 0 {
		return false
	}
	if len(q.ev) == 0 {
		return true
	}
	e := &q.ev[0]
	return q.border < e.time || (q.border == e.time && classes[evTick]<<56 < e.key)
}

// takeTick removes the next tick from the lane. The CPU goes on ticking.
func (q *queue) takeTick() (c int, at int64) {
	c, at = q.cpu, q.border
	if q.cpu = q.ticking.Next(c + 1); q.cpu < 0 {
		q.border += q.jiffy
		q.cpu = q.ticking.First()
	}
	return c, at
}

// stopTick makes c tick no more.
func (q *queue) stopTick(c int) {
	q.ticking.Clear(c)
	if q.cpu == c {
		if q.cpu = q.ticking.Next(c + 1); q.cpu < 0 {
			q.border += q.jiffy
			q.cpu = q.ticking.First()
		}
	}
}

// push adds an event to the heap.
func (q *queue) push(time int64, k kind, a, b int32, gen uint32) {
	q.seq++
	q.ev = append(q.ev, event{time: time, key: classes[k]<<56 | q.seq, kind: k, a: a, b: b, gen: gen})
	q.up(len(q.ev) - 1)
}

// pop removes the first event.
func (q *queue) pop() {
	n := len(q.ev) - 1
	q.ev[0] = q.ev[n]
	q.ev = q.ev[:n]
	if n > 1 {
		q.down(0)
	}
}

func (q *queue) up(i int) {
	e := q.ev[i]
	for i > 0 {
		p := (i - 1) / 4
		if !e.before(&q.ev[p]) {
			break
		}
		q.ev[i] = q.ev[p]
		i = p
	}
	q.ev[i] = e
}

func (q *queue) down(i int) {
	ev := q.ev
	n := len(ev)
	e := ev[i]
	for {
		c := 4*i + 1
		if c+3 >= n {
			break
		}
		// Four children: a tournament without branches, since which child is
		// the least cannot be predicted.
		k := ev[c : c+4 : c+4]
		a := less(&k[1], &k[0])
		b := 2 + less(&k[3], &k[2])
		least := a + less(&k[b&3], &k[a&3])*(b-a)
		if less(&k[least&3], &e) == 0 {
			ev[i] = e
			return
		}
		ev[i] = k[least&3]
		i = c + least
	}
	if c := 4*i + 1; c < n { // the last, incomplete family
		least := c
		for k := c + 1; k < n; k++ {
			if ev[k].before(&ev[least]) {
				least = k
			}
		}
		if ev[least].before(&e) {
			ev[i] = ev[least]
			i = least
		}
	}
	ev[i] = e
}

// less is 1 if a comes before b and 0 otherwise: the borrow of a 128-bit
// subtraction. Times are not negative.
func less(a, b *event) int {
	_, borrow := bits.Sub64(a.key, b.key, 0)
	_, borrow = bits.Sub64(uint64(a.time), uint64(b.time), borrow)
	return int(borrow)
}
