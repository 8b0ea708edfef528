// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sibyl/pelt"
	"sibyl/runqueue"
	"sibyl/state"
	"sibyl/trace"
)

// account is update_curr: the run queue learns how long the current task ran.
func (s *Sim) account(c int) {
	p := &s.cpus[c]
	exec := s.now - p.execStart
	p.execStart = s.now
	q := &s.st.CPUs[c]
	if exec <= 0 || q.Curr == state.None {
		return
	}
	s.st.Tasks[q.Curr].LastRan = s.now // exec_start, by which a task is cache-hot
	if q.RQ.Run(exec) && q.NrQueued > 1 {
		p.resched = true
	}
	if t := &s.tasks[q.Curr]; s.inside && t.spec.Measured {
		if p.pe == 0 {
			t.first += exec
		} else {
			t.other += exec
		}
	}
}

// updateLoad brings c's averages, and its current task's, up to now.
func (s *Sim) updateLoad(c int) {
	p, q := &s.cpus[c], &s.st.CPUs[c]
	busy := q.Curr != state.None
	if busy {
		p.clock.Advance(s.now-p.clockAt, q.CapMax, 1024)
	} else {
		p.clock.Sync(s.now, false)
	}
	p.clockAt = s.now
	now := p.clock.Now()
	if busy {
		t := s.st.Tasks[q.Curr]
		if t.Avg.UpdateEntity(now, t.SE.Weight, t.SE.OnRQ, true) {
			t.HLoad = t.Avg.LoadAvg
			s.tasks[q.Curr].moved = true
		}
	}
	q.Avg.UpdateQueue(now, q.RQ.Weight(), int(q.NrRunnable), busy)
}

// catchUp brings a queued, not running task's averages up to its run queue's.
func (s *Sim) catchUp(t *state.Task, c int) {
	var moved bool
	if now := s.cpus[c].clock.Now(); t.SE.Delayed {
		moved = t.Avg.UpdateDelayed(now, t.SE.Weight)
	} else {
		moved = t.Avg.UpdateEntity(now, t.SE.Weight, true, false)
	}
	if moved {
		t.HLoad = t.Avg.LoadAvg
		s.tasks[t.ID].moved = true
	}
}

// enqueue puts a task that was asleep, or is new, on c's queue
// (activate_task). Its averages are already attached to c.
func (s *Sim) enqueue(c int, id state.TaskID, initial bool) {
	t, q := s.st.Tasks[id], &s.st.CPUs[c]
	s.account(c)
	s.updateLoad(c)
	q.RQ.Enqueue(&t.SE, initial)
	s.tasks[id].moved = false
	s.queued(c, t)
}

// queued does the counting for a task that has come onto c's queue.
func (s *Sim) queued(c int, t *state.Task) {
	q := &s.st.CPUs[c]
	q.NrRunning++
	q.NrQueued++
	q.NrRunnable++
	if t.Policy == state.IdlePolicy {
		q.NrIdle++
	}
	q.UtilEst += t.UtilEst
	t.Queued, t.CPU, t.WakeCPU = true, c, c
	s.st.MRUAdd(c, t.ID)
	if q.NrRunning >= 2 {
		s.st.RDOverloaded = true
		s.armHRTick(c)
	}
	s.st.Sync(c)
	s.startTick(c)
}

// unqueued does the counting for a task that has left c's queue. A delayed one
// had already stopped being runnable.
func (s *Sim) unqueued(c int, t *state.Task, wasDelayed bool) {
	q := &s.st.CPUs[c]
	q.NrRunning--
	q.NrQueued--
	if !wasDelayed {
		q.NrRunnable--
		q.UtilEst = max(0, q.UtilEst-t.UtilEst)
	}
	if t.Policy == state.IdlePolicy {
		q.NrIdle--
		if q.NrRunning > 0 && q.NrRunning == q.NrIdle {
			q.NextBalance = s.jiffies() // mechanisms 9.6
		}
	}
	t.Queued = false
	s.st.MRUDel(c, t.ID)
}

// deactivate takes the current task of c off its queue because it sleeps or
// ends. A sleeper that is not eligible stays queued (delayed dequeue); then the
// result is true.
func (s *Sim) deactivate(c int, id state.TaskID, sleep bool) {
	t, q := s.st.Tasks[id], &s.st.CPUs[c]
	s.account(c)
	s.updateLoad(c)
	if sleep {
		t.UtilEst, q.UtilEst = s.estimate(t, q)
	}
	if q.RQ.Dequeue(&t.SE, sleep) {
		q.NrRunnable--
		s.st.Sync(c)
		return
	}
	if sleep { // estimate has taken the task's part off already
		q.UtilEst += t.UtilEst
	}
	s.unqueued(c, t, false)
	s.st.Sync(c)
}

// estimate is util_est at the end of an activation: the task's new estimate,
// and the run queue's without the task.
func (s *Sim) estimate(t *state.Task, q *state.CPU) (task, queue int64) {
	queue = max(0, q.UtilEst-t.UtilEst)
	if !s.tasks[t.ID].moved {
		return t.UtilEst, queue // PELT did not change during the activation
	}
	task = pelt.UtilEst(t.UtilEst, t.Avg.UtilAvg, t.Avg.RunnableAvg, q.CapMax, s.cfg.Policy.Rules.KeepEstAboveCapacity)
	return task, queue
}

// schedule picks what c runs next (__schedule).
func (s *Sim) schedule(c int) {
	q := &s.st.CPUs[c]
	s.account(c)
	s.advance(c)
	next := s.pick(c)
	if next == nil && s.newlyIdle(c) {
		next = s.pick(c)
	}
	s.cpus[c].resched = false
	if next == nil {
		s.goIdle(c)
		return
	}
	if id := state.TaskID(next.ID); id != q.Curr || q.RQ.Curr() != next {
		q.RQ.PutPrev()
		q.RQ.SetNext(next)
		s.switchTo(c, id)
	}
	s.armHRTick(c)
	s.arm(c)
}

// pick returns the entity to run, dropping delayed sleepers on the way.
func (s *Sim) pick(c int) *runqueue.Entity {
	q := &s.st.CPUs[c]
	for {
		e := q.RQ.Pick()
		if e == nil || !e.Delayed {
			return e
		}
		s.dropDelayed(c, s.st.Tasks[e.ID])
	}
}

// dropDelayed ends the stay of a sleeper that was kept queued.
func (s *Sim) dropDelayed(c int, t *state.Task) {
	s.updateLoad(c)
	s.catchUp(t, c)
	s.st.CPUs[c].RQ.Drop(&t.SE)
	s.unqueued(c, t, true)
	s.st.Sync(c)
}

// switchTo makes id the current task of c.
func (s *Sim) switchTo(c int, id state.TaskID) {
	p, q := &s.cpus[c], &s.st.CPUs[c]
	s.events++
	s.count.Switches++
	was := q.Curr
	s.traceSwitch(c, id)
	s.updateLoad(c)
	if was == state.None {
		s.leaveIdle(c)
	}
	t := s.st.Tasks[id]
	s.catchUp(t, c)
	q.Curr = id
	t.LastRan = s.now
	s.st.MRUTouch(c, id)
	s.st.Sync(c)
	p.stall, p.cold = s.costs.Switch, 0
	p.last = s.now
	s.disarm(c)
	p.speed = -1 // unlike any speed, so that setSpeed sees a change
	if was == state.None {
		s.setRunning(c, 1)
	}
	s.touch(c)
	s.setSpeed(c)
}

// goIdle makes c run its idle task.
func (s *Sim) goIdle(c int) {
	p, q := &s.cpus[c], &s.st.CPUs[c]
	if q.Curr == state.None {
		s.stopTick(c)
		return
	}
	s.events++
	s.count.Switches++
	s.traceSwitch(c, state.None)
	s.updateLoad(c)
	q.Curr = state.None
	p.clock.Sync(s.now, q.Avg.Saturated()) // update_idle_rq_clock_pelt, at idle entry only
	s.disarm(c)
	p.stall, p.cold = 0, 0
	p.idleSince = s.now
	s.st.Sync(c)
	s.st.EnterIdle(c, s.cfg.Policy.Rules.LLCHintOnAsym)
	s.setRunning(c, -1)
	s.stopTick(c)
	s.touch(c)
	if s.bal.BeginNewILB(c, s.jiffies()) {
		s.irq(c, max(1, s.balanceOthers()), "blocked load")
	}
}

// leaveIdle does what put_prev_task_idle does.
func (s *Sim) leaveIdle(c int) {
	q := &s.st.CPUs[c]
	if q.IdleStamp != 0 {
		s.bal.AvgIdle(c, s.now-q.IdleStamp)
		q.IdleStamp = 0
	}
}

// needResched asks for a reschedule of c before anything else happens there.
func (s *Sim) needResched(c int) {
	p := &s.cpus[c]
	p.resched = true
	if !p.settling {
		p.settling = true
		s.settleList = append(s.settleList, int32(c))
	}
}

// settle reschedules the CPUs that asked for it during the present event.
func (s *Sim) settle() {
	for i := 0; i < len(s.settleList); i++ {
		c := int(s.settleList[i])
		s.cpus[c].settling = false
		if s.cpus[c].resched {
			s.schedule(c)
		}
	}
	s.settleList = s.settleList[:0]
}

// minHRTick is the nearest time, in ns, for which the high-resolution tick is
// programmed (hrtick_start).
const minHRTick = 10_000

// armHRTick pushes the end of the current task's slice if others wait.
func (s *Sim) armHRTick(c int) {
	q := &s.st.CPUs[c]
	p := &s.cpus[c]
	p.hrGen++
	if q.NrQueued < 2 || q.Curr == state.None || s.cfg.Policy.Rules.NoHRTick {
		return
	}
	s.account(c)
	s.q.push(s.now+max(minHRTick, q.RQ.SliceLeft()), evHRTick, int32(c), 0, p.hrGen)
}

// hrtick ends a slice between ticks.
func (s *Sim) hrtick(c int, gen uint32) {
	if s.cpus[c].hrGen != gen {
		return
	}
	s.events++
	s.account(c)
	s.updateLoad(c)
	if s.st.CPUs[c].RQ.TickResched() {
		s.cpus[c].resched = true
	}
	if s.cpus[c].resched {
		s.needResched(c)
	} else {
		s.armHRTick(c)
	}
}

// traceSwitch traces that c runs next from now on.
func (s *Sim) traceSwitch(c int, next state.TaskID) {
	p := &s.cpus[c]
	prev := p.shown
	if s.cfg.Trace == nil || prev == next {
		return
	}
	p.shown = next
	var runnable int64
	if prev != state.None && s.st.Tasks[prev].SE.OnRQ && !s.st.Tasks[prev].SE.Delayed {
		runnable = 1
	}
	s.emit(trace.Event{CPU: int32(c), Kind: trace.Switch, Task: int32(next), Prev: int32(prev), Arg: runnable})
}
