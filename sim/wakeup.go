// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sibyl/placement"
	"sibyl/state"
	"sibyl/trace"
)

// context is where a wakeup comes from.
type wakeContext struct {
	here  int
	waker state.TaskID // current on here; None for the idle task
	task  bool         // task context, not an interrupt
	sync  bool         // WF_SYNC
}

// wake is try_to_wake_up for a blocked or sleeping task.
func (s *Sim) wake(id state.TaskID, w wakeContext) {
	t, e := s.st.Tasks[id], &s.tasks[id]
	e.status = running
	if s.cfg.Trace != nil {
		s.emit(trace.Event{CPU: int32(w.here), Kind: trace.Waking, Task: int32(id), Prev: int32(w.waker), Target: int32(t.CPU)})
	}
	if t.SE.Delayed {
		// Still queued: no placement (mechanisms 2.1 step 2).
		c := t.CPU
		s.account(c)
		s.updateLoad(c)
		s.catchUp(t, c)
		q := &s.st.CPUs[c]
		q.RQ.Requeue(&t.SE)
		q.NrRunnable++
		q.UtilEst += t.UtilEst
		s.st.Sync(c)
		s.traceWakeup(c, id)
		s.checkPreempt(c, id, w.here, false)
		return
	}
	flags := placement.TTWU
	if w.sync {
		flags |= placement.Sync
	}
	s.count.Wakeups++
	cpu := s.selectCPU(placement.Request{
		Task: id, Prev: t.WakeCPU, Flags: flags, Here: w.here, Waker: w.waker, InTask: w.task, Now: s.now,
	})
	if cpu != t.CPU {
		s.count.Migrations++
		s.moveLoad(t, cpu)
	}
	if s.place.QueueWakelist(id, cpu, w.here) {
		p := &s.cpus[cpu]
		p.wakeList = append(p.wakeList, id)
		if !s.st.CPUs[cpu].TTWUPending {
			s.st.CPUs[cpu].TTWUPending = true
			s.st.Sync(cpu)
			at := s.now + s.costs.IPI
			if s.st.CPUs[cpu].Curr == state.None {
				at += s.costs.IdleExit
			}
			s.q.push(at, evWakeList, int32(cpu), 0, 0)
		}
		return
	}
	s.activate(cpu, id, w.here)
}

// moveLoad takes a sleeping task's averages from its old run queue to cpu's
// (migrate_task_rq_fair, then attach at enqueue).
func (s *Sim) moveLoad(t *state.Task, cpu int) {
	old := t.CPU
	t.Avg.UpdateBlocked(s.st.CPUs[old].Avg.LastUpdate)
	s.st.CPUs[old].Avg.Detach(&t.Avg)
	s.updateLoad(cpu)
	q := &s.st.CPUs[cpu]
	t.Avg.LastUpdate = q.Avg.LastUpdate
	q.Avg.Attach(&t.Avg)
	t.HLoad = t.Avg.LoadAvg
	t.CPU = cpu
}

// activate enqueues a woken task on c, by here or by c itself.
func (s *Sim) activate(c int, id state.TaskID, here int) {
	t := s.st.Tasks[id]
	s.updateLoad(c)
	t.Avg.UpdateBlocked(s.st.CPUs[c].Avg.LastUpdate)
	t.HLoad = t.Avg.LoadAvg
	s.enqueue(c, id, false)
	s.traceWakeup(c, id)
	s.checkPreempt(c, id, here, false)
}

func (s *Sim) traceWakeup(c int, id state.TaskID) {
	if s.cfg.Trace != nil {
		s.emit(trace.Event{CPU: int32(c), Kind: trace.Wakeup, Task: int32(id), Target: int32(c)})
	}
}

// takeWakeList is sched_ttwu_pending on the target CPU.
func (s *Sim) takeWakeList(c int) {
	s.events++
	p := &s.cpus[c]
	s.irqBegin(c)
	list := p.wakeList
	p.wakeList = p.wakeList[:0]
	s.st.CPUs[c].TTWUPending = false
	for _, id := range list {
		s.activate(c, id, c)
	}
	s.st.Sync(c)
	if s.st.CPUs[c].Curr == state.None {
		s.schedule(c)
	} else {
		s.delay(c, s.costs.Wake)
	}
	s.irqDone(c)
}

// checkPreempt lets a task that has come onto c's queue interrupt what runs
// there (wakeup_preempt).
func (s *Sim) checkPreempt(c int, id state.TaskID, here int, fork bool) {
	q := &s.st.CPUs[c]
	if q.Curr == state.None {
		s.kickIdle(c, here)
		return
	}
	s.account(c)
	if r := &s.cfg.Policy.Rules; s.cpus[c].resched && (r.OldPreempt || r.PreemptByPick) {
		return // those editions do nothing while a resched is pending
	}
	p := &s.st.Tasks[id].SE
	for {
		// The pick inside wakeup_preempt_fair drops the delayed sleepers that it
		// meets.
		e := q.RQ.PreemptDrops(p, fork)
		if e == nil {
			break
		}
		s.dropDelayed(c, s.st.Tasks[e.ID])
	}
	if !q.RQ.WakeupPreempt(p, fork) {
		return
	}
	if c == here {
		s.needResched(c)
		return
	}
	// A lazy request acts at the CPU's next kernel exit or tick; an immediate
	// one sends an IPI.
	s.cpus[c].resched = true
	if s.cfg.Policy.Rules.NoLazyResched {
		s.sendResched(c, 0)
	}
}

// kickIdle gets an idle CPU to look at its queue.
func (s *Sim) kickIdle(c, here int) {
	s.cpus[c].resched = true
	if c == here {
		s.needResched(c)
		return
	}
	s.sendResched(c, s.costs.IdleExit)
}

func (s *Sim) sendResched(c int, extra int64) {
	p := &s.cpus[c]
	if !p.ipi {
		p.ipi = true
		s.q.push(s.now+s.costs.IPI+extra, evIPI, int32(c), 0, 0)
	}
}

// reschedIPI arrives.
func (s *Sim) reschedIPI(c int) {
	s.cpus[c].ipi = false
	if s.cpus[c].resched {
		s.events++
		s.schedule(c)
	}
}
