// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"

	"sibyl/state"
	"sibyl/workload"
)

// semaphore is a counter that tasks take from and give to (a futex, a pipe).
type semaphore struct {
	units   int
	waiters []state.TaskID // blocked, first come first served
	spin    []state.TaskID // spinning
}

// barrier is a meeting of a fixed number of tasks.
type barrier struct {
	parties, here int
	waiters, spin []state.TaskID
}

func (s *Sim) setupSync() {
	s.sems = make([]semaphore, len(s.in.Sems))
	for i, n := range s.in.Sems {
		s.sems[i].units = n
	}
	s.barriers = make([]barrier, len(s.in.Barriers))
	for i, n := range s.in.Barriers {
		s.barriers[i].parties = n
	}
}

// opDone: the current task of c has finished its operation.
func (s *Sim) opDone(c int, gen uint32) {
	p := &s.cpus[c]
	if p.gen != gen {
		return
	}
	p.opAt = never
	s.advance(c)
	id := s.st.CPUs[c].Curr
	t := &s.tasks[id]
	if p.stall > 0 || p.cold > 0 || t.rem > 0 || p.speed == 0 {
		s.arm(c) // it was delayed
		return
	}
	s.events++
	t.status = running
	if len(t.pending) > 0 {
		s.wakeNext(c, id)
		return
	}
	s.step(c)
}

// wakeNext wakes the next of the tasks that the operation of c's current task
// releases; each costs the waker some time.
func (s *Sim) wakeNext(c int, id state.TaskID) {
	t := &s.tasks[id]
	other := t.pending[0]
	t.pending = t.pending[1:]
	t.rem = s.costs.Wake * oneSpeed
	s.wake(other, wakeContext{here: c, waker: id, task: true, sync: t.op.Sync})
	s.arm(c)
}

// step carries out the operations of c's current task up to one that takes
// time.
func (s *Sim) step(c int) {
	id := s.st.CPUs[c].Curr
	// A program that never takes time would hang the run; this bounds it.
	for range 1 << 16 {
		if s.stop {
			return
		}
		t := &s.tasks[id] // fork moves the slice
		op := t.spec.Program.Next(s.now - s.begin)
		t.op = op
		switch op.Kind {
		case workload.Run:
			if op.NS <= 0 {
				continue
			}
			t.rem = min(op.NS, MaxDuration*2) * oneSpeed
			s.arm(c)
			return
		case workload.Sleep:
			t.status = sleeping
			t.timer++
			if op.NS != workload.Forever {
				s.q.push(s.now+max(op.NS, 1), evTimer, int32(c), int32(id), t.timer)
			}
			s.block(c, id)
			return
		case workload.Take:
			m := &s.sems[op.Obj]
			if m.units > 0 {
				m.units--
				continue
			}
			s.await(c, id, op, &m.waiters, &m.spin)
			return
		case workload.Give:
			if s.give(c, id, op) {
				return
			}
		case workload.Meet:
			b := &s.barriers[op.Obj]
			b.here++
			if b.here < b.parties {
				s.await(c, id, op, &b.waiters, &b.spin)
				return
			}
			b.here = 0
			if s.release(c, id, b) {
				return
			}
		case workload.Fork:
			t.rem = s.costs.Fork * oneSpeed
			s.fork(c, id, op.Child)
			s.arm(c)
			return
		case workload.Mark:
			s.mark(op.Obj)
		case workload.Yield:
			s.account(c)
			s.st.CPUs[c].RQ.Yield()
			t.rem = 0
			s.needResched(c)
			s.arm(c)
			return
		case workload.Exit:
			s.exit(c)
			return
		}
	}
	s.tasks[id].rem = 1000 * oneSpeed
	s.arm(c)
}

// await makes c's current task spin, or block at once.
func (s *Sim) await(c int, id state.TaskID, op workload.Op, waiters, spin *[]state.TaskID) {
	t := &s.tasks[id]
	if op.Spin <= 0 {
		*waiters = append(*waiters, id)
		t.status = blocked
		s.block(c, id)
		return
	}
	*spin = append(*spin, id)
	t.status = spinning
	s.disarm(c)
	t.spinGen++
	t.rem = 0
	if op.Spin != workload.Forever {
		s.q.push(s.now+op.Spin, evSpin, int32(c), int32(id), t.spinGen)
	}
	s.arm(c)
}

// spinEnds: the task has spun in vain and blocks, if it is on a CPU; one that
// waits for a CPU gives up as soon as it gets there, which the model takes to
// be now.
func (s *Sim) spinEnds(id state.TaskID, gen uint32) {
	t := &s.tasks[id]
	if t.spinGen != gen || t.status != spinning {
		return
	}
	s.events++
	c := s.st.Tasks[id].CPU
	if s.st.CPUs[c].Curr != id {
		// Not running: look again when it may have got a turn.
		s.q.push(s.now+1_000_000, evSpin, int32(c), int32(id), gen)
		return
	}
	var waiters, spin *[]state.TaskID
	if t.op.Kind == workload.Take {
		m := &s.sems[t.op.Obj]
		waiters, spin = &m.waiters, &m.spin
	} else {
		b := &s.barriers[t.op.Obj]
		waiters, spin = &b.waiters, &b.spin
	}
	*spin = remove(*spin, id)
	*waiters = append(*waiters, id)
	t.status = blocked
	s.block(c, id)
}

// block puts c's current task to sleep.
func (s *Sim) block(c int, id state.TaskID) {
	s.deactivate(c, id, true)
	s.schedule(c)
}

// give adds units to a semaphore; it returns whether that takes time.
func (s *Sim) give(c int, id state.TaskID, op workload.Op) bool {
	m := &s.sems[op.Obj]
	t := &s.tasks[id]
	for range max(1, op.N) {
		switch {
		case len(m.spin) > 0:
			s.stopSpinning(m.spin[0])
			m.spin = remove(m.spin, m.spin[0])
		case len(m.waiters) > 0:
			t.pending = append(t.pending, m.waiters[0])
			m.waiters = remove(m.waiters, m.waiters[0])
		default:
			m.units++
		}
	}
	if len(t.pending) == 0 {
		return false
	}
	s.wakeNext(c, id)
	return true
}

// release opens a barrier; it returns whether that takes time.
func (s *Sim) release(c int, id state.TaskID, b *barrier) bool {
	for _, o := range b.spin {
		s.stopSpinning(o)
	}
	b.spin = b.spin[:0]
	t := &s.tasks[id]
	t.pending = append(t.pending[:0], b.waiters...)
	b.waiters = b.waiters[:0]
	if len(t.pending) == 0 {
		return false
	}
	s.wakeNext(c, id)
	return true
}

// stopSpinning lets a spinning task go on with its next operation, at once if
// it is on a CPU.
func (s *Sim) stopSpinning(id state.TaskID) {
	t := &s.tasks[id]
	c := s.st.Tasks[id].CPU
	if s.st.CPUs[c].Curr == id {
		s.advance(c) // while it still spins: spinning is no progress
	}
	t.status = running
	t.spinGen++
	t.rem = 0
	if s.st.CPUs[c].Curr == id {
		s.arm(c)
	}
}

// timerExpires wakes a task whose sleep is over, from the timer interrupt on
// the CPU where it went to sleep.
func (s *Sim) timerExpires(c int, id state.TaskID, gen uint32) {
	t := &s.tasks[id]
	if t.timer != gen || t.status != sleeping {
		return
	}
	s.events++
	s.irq(c, s.costs.Wake, "hrtimer")
	s.wake(id, wakeContext{here: c, waker: s.st.CPUs[c].Curr})
	s.delay(c, s.costs.Wake)
}

// mark tells that the workload has come to a point.
func (s *Sim) mark(point int) {
	switch point {
	case workload.Start:
		s.measured.StartNS = s.now - s.begin
		s.inside = true
		for c := range s.h.Active.All() {
			s.account(c)
			s.cpus[c].execStart = s.now
		}
	case workload.End:
		for c := range s.h.Active.All() {
			s.account(c)
		}
		s.measured.EndNS = s.now - s.begin
		s.inside = false
		for i := range s.tasks {
			if s.tasks[i].status != gone {
				s.tasks[i].endCPU = s.st.Tasks[i].CPU
			}
		}
	case workload.Stop:
		s.stop = true
	default:
		s.measured.Messages++
	}
}

func remove(list []state.TaskID, id state.TaskID) []state.TaskID {
	if i := slices.Index(list, id); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
