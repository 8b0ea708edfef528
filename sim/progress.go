// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sibyl/coremode"
	"sibyl/state"
	"sibyl/trace"
)

// advance accounts the current task's progress up to now: first what it must
// lose, then work at the present speed. A thread makes no progress, and pays
// nothing off, while its core switches modes.
func (s *Sim) advance(c int) {
	p := &s.cpus[c]
	el := s.now - p.last
	p.last = s.now
	if el <= 0 || p.speed == 0 {
		return
	}
	id := s.st.CPUs[c].Curr
	if id == state.None {
		return
	}
	if p.stall > 0 {
		use := min(p.stall, el)
		p.stall -= use
		el -= use
	}
	if p.cold > 0 {
		use := min(p.cold, el)
		p.cold -= use
		el -= use
	}
	if t := &s.tasks[id]; t.status == running {
		t.rem = max(0, t.rem-el*p.speed)
	}
}

// arm sees to it that an event comes when the current task's operation may be
// over. An event that is already on its way and comes earlier is left: opDone
// finds that there is work left and arms again. That keeps the heap small, since
// delays (ticks, interrupts) are many and each only moves the end away.
func (s *Sim) arm(c int) {
	p := &s.cpus[c]
	id := s.st.CPUs[c].Curr
	if id == state.None || p.speed == 0 {
		return
	}
	t := &s.tasks[id]
	if t.status == spinning {
		return
	}
	left := t.rem
	if p.speed != oneSpeed {
		left = (left + p.speed - 1) / p.speed
	} else {
		left = (left + oneSpeed - 1) >> oneSpeedShift
	}
	at := s.now + p.stall + p.cold + left
	if p.opAt <= at {
		return
	}
	p.gen++
	p.opAt = at
	if at <= s.end {
		s.q.push(at, evOp, int32(c), 0, p.gen)
	}
}

// disarm voids the event of an operation that c no longer works at.
func (s *Sim) disarm(c int) {
	s.cpus[c].gen++
	s.cpus[c].opAt = never
}

// never is later than any event.
const never int64 = 1<<63 - 1

// delay makes c's current task lose ns (an interrupt, kernel work).
func (s *Sim) delay(c int, ns int64) {
	if ns <= 0 || s.st.CPUs[c].Curr == state.None {
		return
	}
	s.advance(c)
	s.cpus[c].stall += ns
	s.arm(c)
}

// setSpeed recomputes the speed of c's current task. It returns whether it
// changed.
func (s *Sim) setSpeed(c int) bool {
	p := &s.cpus[c]
	k := &s.cores[p.core]
	id := s.st.CPUs[c].Curr
	if id == state.None {
		return false
	}
	speed := p.capSpeed
	switch {
	case s.modal && (k.mode.Mode == coremode.In || k.mode.Mode == coremode.Out):
		speed = 0
	case s.modal && k.mode.Mode == coremode.SMT:
		share := s.tasks[id].share
		if share == 0 {
			share = s.threadSpeed(2)
		}
		speed = speed * share / oneSpeed
	case !s.modal && k.running > 1:
		speed = speed * s.threadSpeed(k.running) / oneSpeed
	}
	if speed == p.speed {
		return false
	}
	s.advance(c)
	p.speed = speed
	return true
}

// threadSpeed is the machine's speed of each of n running threads of a core.
func (s *Sim) threadSpeed(n int) int64 {
	speeds := s.cfg.Machine.CoreMode.ThreadSpeed
	switch {
	case n <= 1:
		return oneSpeed
	case n <= len(speeds):
		return speeds[n-1] * oneSpeed / 1_000_000
	case len(speeds) > 0:
		return speeds[len(speeds)-1] * oneSpeed / 1_000_000 * int64(len(speeds)) / int64(n)
	}
	return oneSpeed / int64(n)
}

// respeed gives every thread of a core the speed of the core's present mode.
func (s *Sim) respeed(core int32) {
	for _, c := range s.cores[core].cpus {
		if s.setSpeed(int(c)) {
			s.arm(int(c))
		}
	}
}

// touch tells the core whether CPU c is out of WFI now: it runs a task, or an
// interrupt or softirq.
func (s *Sim) touch(c int) {
	p := &s.cpus[c]
	active := s.st.CPUs[c].Curr != state.None || p.irqs > 0
	if active == p.active {
		return
	}
	p.active = active
	if !s.modal {
		return
	}
	k := &s.cores[p.core]
	next := k.mode.Next
	var changed bool
	if active {
		changed = k.mode.Wake(&s.mode, int(p.pe), s.now)
	} else {
		changed = k.mode.Sleep(&s.mode, int(p.pe), s.now)
	}
	s.modeMoved(p.core, changed, next)
}

// coreTimer makes a core's own change of mode.
func (s *Sim) coreTimer(core int, gen uint32) {
	k := &s.cores[core]
	if k.gen != gen {
		return
	}
	s.events++
	next := k.mode.Next
	roundTrip := k.mode.Timer(&s.mode, s.now)
	if roundTrip {
		// Whoever kept running finds its share of the core's caches cold. What
		// is still cold from the excursion before cannot get colder.
		refill := s.cfg.Machine.CoreMode.RefillNS
		for _, c := range k.cpus {
			if id := s.st.CPUs[c].Curr; id != state.None && refill > 0 {
				share := s.tasks[id].share
				if share == 0 {
					share = s.threadSpeed(2)
				}
				s.advance(int(c))
				s.cpus[c].cold = refill * (oneSpeed - share) / oneSpeed
			}
		}
	}
	s.modeMoved(int32(core), true, next)
}

// modeMoved pushes the core's next own change and adapts speeds after a change
// of mode. was is the core's Next before.
func (s *Sim) modeMoved(core int32, changed bool, was int64) {
	k := &s.cores[core]
	if k.mode.Next != was || changed {
		k.gen++
		if k.mode.Next != coremode.Never {
			s.q.push(k.mode.Next, evCore, core, 0, k.gen)
		}
	}
	if changed {
		s.respeed(core)
		if s.cfg.Trace != nil {
			s.emit(trace.Event{CPU: k.cpus[0], Kind: trace.Mode, Task: -1, Prev: -1, Arg: int64(k.mode.Mode)})
		}
	}
}

// setRunning keeps a core's count of threads that run a task.
func (s *Sim) setRunning(c int, delta int) {
	k := &s.cores[s.cpus[c].core]
	k.running += delta
	if !s.modal && len(k.cpus) > 1 {
		s.respeed(s.cpus[c].core)
	}
}
