// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sibyl/balance"
	"sibyl/domain"
	"sibyl/state"
	"sibyl/trace"
)

// pull runs one balance pass of d for c and moves what it chose. It returns how
// many tasks came and whether higher levels may be tried.
func (s *Sim) pull(d *domain.Domain, c int, idle balance.Idle) (moved int, more bool) {
	s.count.Passes++
	s.updateLoad(c)
	plan := s.bal.Pass(d, c, idle, s.now, s.jiffies())
	for i := range plan.Tasks {
		s.detach(plan.Tasks[i].Task)
	}
	for i := range plan.Tasks { // attached in the reverse order, as the kernel does
		m := plan.Tasks[len(plan.Tasks)-1-i]
		s.attach(m.Task, m.Dst, plan.Src)
		moved++
		if m.Dst != c || idle != balance.NewlyIdle { // a newly idle CPU picks next anyway
			s.checkPreempt(m.Dst, m.Task, plan.Src, false)
		}
	}
	if moved > 0 {
		s.count.Pulls += int64(moved)
		if s.cfg.Trace != nil {
			s.emit(trace.Event{CPU: int32(c), Kind: trace.Balance, Task: -1, Prev: -1, Target: int32(plan.Src), Arg: int64(moved)})
		}
	}
	if plan.Active {
		s.count.Active++
		s.cpus[plan.Src].pushTo = int32(c)
		s.q.push(s.now+s.costs.IPI, evStopper, int32(plan.Src), 0, 0)
	}
	return moved, plan.Continue
}

// detach takes a queued, not running task off its queue (detach_task).
func (s *Sim) detach(id state.TaskID) {
	t := s.st.Tasks[id]
	src := t.CPU
	delayed := t.SE.Delayed
	s.account(src)
	s.updateLoad(src)
	s.catchUp(t, src)
	s.st.CPUs[src].RQ.DequeueMove(&t.SE)
	s.unqueued(src, t, delayed)
	s.st.Sync(src)
	s.st.CPUs[src].Avg.Detach(&t.Avg)
}

// attach puts a detached task on c's queue (attach_task).
func (s *Sim) attach(id state.TaskID, c, src int) {
	t := s.st.Tasks[id]
	s.account(c)
	s.updateLoad(c)
	q := &s.st.CPUs[c]
	t.Avg.LastUpdate = q.Avg.LastUpdate
	q.Avg.Attach(&t.Avg)
	t.HLoad = t.Avg.LoadAvg
	q.RQ.EnqueueMoved(&t.SE)
	s.queued(c, t)
	if t.SE.Delayed {
		q.NrRunnable--
		q.UtilEst = max(0, q.UtilEst-t.UtilEst)
	}
	s.count.Migrations++
	if s.cfg.Trace != nil {
		s.emit(trace.Event{CPU: int32(c), Kind: trace.Migrate, Task: int32(id), Prev: -1, Target: int32(c), Arg: int64(src)})
	}
}

// newlyIdle is sched_balance_newidle: c has nothing to run and looks for work
// before it idles. It returns whether there is something to pick now.
func (s *Sim) newlyIdle(c int) bool {
	q := &s.st.CPUs[c]
	if q.IdleStamp == 0 {
		q.IdleStamp = s.now
	}
	if q.Curr == state.None && !s.cpus[c].active {
		return false // it was idle before
	}
	if !s.bal.NewidleAllowed(c) {
		s.bal.NewidleFailed(c, 0, s.jiffies())
		return false
	}
	var spent int64
	moved := 0
	for d := s.h.Base[c]; d != nil; d = d.Parent {
		run, stop := s.bal.NewidleDomain(d, spent, uint32(s.newidle.Uint64()>>54), s.now)
		if stop {
			break
		}
		if !run {
			continue
		}
		n, more := s.pull(d, c, balance.NewlyIdle)
		cost := s.passCost(d)
		spent += cost
		s.bal.NewidleDone(d, n > 0, cost, s.now)
		moved += n
		if moved > 0 || q.NrRunning > 0 || !more {
			break
		}
	}
	if moved > 0 || q.NrQueued > 0 {
		s.bal.NewidleSpent(c, spent)
		q.IdleStamp = 0
		return true
	}
	s.bal.NewidleFailed(c, spent, s.jiffies())
	if spent > 0 {
		s.irq(c, spent, "newidle balance")
	}
	return false
}

// rebalance is sched_balance_domains for c: every domain whose interval is
// over. It returns the time that it took.
func (s *Sim) rebalance(c int, idle balance.Idle) int64 {
	jiffies := s.jiffies()
	if idle == balance.CPUIdle && !s.noShortcut && s.bal.IdleCoreWalk(c, jiffies) {
		s.count.Passes++
		return s.passCost(s.h.Base[c])
	}
	var spent int64
	s.bal.BeginDomains(c)
	for d := s.h.Base[c]; d != nil; d = d.Parent {
		busy := idle == balance.NotIdle
		more := true
		if s.bal.Due(d, busy, jiffies) {
			var moved int
			moved, more = s.pull(d, c, idle)
			spent += s.passCost(d)
			if moved > 0 && !s.st.Idle.Has(c) {
				idle = balance.NotIdle
			}
		}
		s.bal.DomainDone(d, idle == balance.NotIdle, jiffies)
		if !more {
			break
		}
	}
	s.bal.FinishDomains(c, jiffies)
	if spent > 0 {
		if s.st.CPUs[c].Curr != state.None {
			s.delay(c, spent)
		}
	}
	return spent
}

// idleBalance is the softirq of the CPU that was kicked (nohz_csd_func, then
// _nohz_idle_balance): it balances on behalf of all tickless idle CPUs. It
// keeps the CPU out of WFI for as long as its passes take.
func (s *Sim) idleBalance(c int) {
	s.events++
	spent := s.costs.ILBBase
	if s.bal.BeginILB(c, s.jiffies()) != 0 {
		spent += s.balanceOthers()
	}
	s.irq(c, spent, "idle load balance")
}

// balanceOthers does what an idle balance in progress asks for, and returns how
// long that took.
func (s *Sim) balanceOthers() (spent int64) {
	for {
		c, refresh, pass := s.bal.NextILB()
		if c < 0 {
			break
		}
		if refresh || pass {
			s.updateLoad(c)
		}
		if pass {
			spent += s.rebalance(c, balance.CPUIdle)
		}
	}
	s.bal.EndILB()
	return spent
}

// stopper is the stopper thread of CPU c pushing the task that runs there to an
// idle CPU (active_load_balance_cpu_stop).
func (s *Sim) stopper(c int) {
	s.events++
	p, q := &s.cpus[c], &s.st.CPUs[c]
	to := int(p.pushTo)
	id := s.bal.ActiveTask(c, to, s.now)
	q.ActiveBalance = false
	s.delay(c, s.costs.Stopper)
	if id == state.None {
		return
	}
	if q.Curr == id {
		s.account(c)
		s.advance(c)
		s.updateLoad(c)
		q.RQ.PutPrev()
		s.traceSwitch(c, state.None) // the stopper runs
	}
	s.detach(id)
	s.attach(id, to, c)
	s.checkPreempt(to, id, c, false)
	if q.Curr == id {
		s.schedule(c)
	}
}
