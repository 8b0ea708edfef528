// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sibyl/balance"
	"sibyl/domain"
	"sibyl/state"
	"sibyl/trace"
)

// startTick restarts c's tick when the CPU leaves its tickless idle.
func (s *Sim) startTick(c int) {
	p := &s.cpus[c]
	p.tickOn = true
	if !p.tickArmed {
		p.tickArmed = true
		s.q.push((s.now/s.st.TickNS+1)*s.st.TickNS, evTick, int32(c), 0, 0)
	}
}

// stopTick stops c's tick at idle entry: the model's idle governor always
// expects a long sleep.
func (s *Sim) stopTick(c int) {
	p := &s.cpus[c]
	if p.tickOn {
		p.tickOn = false
		s.bal.EnterNohz(c)
	}
}

// tick is the head of the heap: CPU c's tick. It is put back for the next
// jiffy before it is handled, which spares a pop and a push.
func (s *Sim) tick(c int) {
	p := &s.cpus[c]
	if !p.tickOn {
		p.tickArmed = false
		s.q.pop()
		return
	}
	s.q.replaceTop(s.now + s.st.TickNS)
	s.events++
	s.count.Ticks++
	q := &s.st.CPUs[c]
	if q.Curr == state.None {
		return // on its way to the first task after idle
	}
	s.account(c)
	s.updateLoad(c)
	s.delay(c, s.costs.Tick)
	if q.NrQueued > 1 && q.RQ.TickResched() {
		p.resched = true
	}
	jiffies := s.jiffies()
	if jiffies >= q.NextBalance {
		s.rebalance(c, balance.NotIdle)
	}
	if target, flags := s.bal.Kick(c, jiffies); target >= 0 {
		s.count.Kicks++
		if s.cfg.Trace != nil {
			s.emit(trace.Event{CPU: int32(c), Kind: trace.Kick, Task: -1, Prev: -1, Target: int32(target), Arg: int64(flags)})
		}
		s.q.push(s.now+s.costs.IPI+s.costs.IdleExit, evILB, int32(target), 0, 0)
	}
	if p.resched {
		s.needResched(c)
	}
}

// passCost is the time that one balance pass over d takes.
func (s *Sim) passCost(d *domain.Domain) int64 {
	return s.costs.PassBase + s.costs.PassCPU*int64(d.Weight)
}
