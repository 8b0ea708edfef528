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
	if !p.tickOn {
		p.tickOn = true
		p.tickFrom = s.now + 1
		s.q.startTick(c, s.now)
	}
}

// stopTick stops c's tick at idle entry: the model's idle governor always
// expects a long sleep.
func (s *Sim) stopTick(c int) {
	p := &s.cpus[c]
	if p.tickOn {
		p.tickOn = false
		s.q.stopTick(c)
		s.bal.EnterNohz(c)
	}
}

// tick is CPU c's tick (sched_tick and what the softirq after it does).
func (s *Sim) tick(c int) {
	p := &s.cpus[c]
	if s.now < p.tickFrom {
		return // it was started on this very border
	}
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
	// The tick raises the balance softirq, kicks, and then the softirq runs.
	if target, flags := s.bal.Kick(c, jiffies); target >= 0 {
		s.count.Kicks++
		if s.cfg.Trace != nil {
			s.emit(trace.Event{CPU: int32(c), Kind: trace.Kick, Task: -1, Prev: -1, Target: int32(target), Arg: int64(flags)})
		}
		s.q.push(s.now+s.costs.IPI+s.costs.IdleExit, evILB, int32(target), 0, 0)
	}
	if jiffies >= q.NextBalance {
		s.rebalance(c, balance.NotIdle)
	}
	if p.resched {
		s.needResched(c)
	}
}

// passCost is the time that one balance pass over d takes.
func (s *Sim) passCost(d *domain.Domain) int64 {
	return s.costs.PassBase + s.costs.PassCPU*int64(d.Weight)
}
