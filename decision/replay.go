// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"errors"
	"fmt"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/pelt"
	"sibyl/placement"
	"sibyl/policy"
	"sibyl/state"
)

// Outcome is what the rules make of a decision's inputs.
type Outcome struct {
	Result int
	After  Effects
	Path   placement.Path
}

// Replay feeds d's request and state to the rules, on the domains h that the
// log's header builds. d is not changed. It fails if d does not fit h or lacks
// what the rules need.
func Replay(h *domain.Hierarchy, r policy.Rules, d *Decision) (Outcome, error) {
	s, ids, err := restore(h, d)
	if err != nil {
		return Outcome{}, fmt.Errorf("replay decision %d: %w", d.Seq, err)
	}
	req := d.Request
	req.Task, req.Waker = ids.in(int64(req.Task)), ids.in(int64(req.Waker))
	var out Outcome
	p := placement.New(s, r)
	p.Path = &out.Path
	if d.Wrapped {
		out.Result = p.SelectTaskRQ(req)
	} else {
		out.Result = p.Select(req)
	}
	out.After = effects(s, req)
	out.After.Waker.Last = ids.out(out.After.Waker.Last)
	return out, nil
}

// idMap renames the tasks of a decision: the rules compare task numbers but
// never count with them, so the task is 0, its waker 1 (0 if it wakes itself)
// and everybody else 2.
type idMap struct {
	task, waker int64
	before      int64 // last_wakee of the waker, which survives as "everybody else"
}

const others = 2

func (m idMap) in(id int64) state.TaskID {
	switch {
	case id < 0:
		return state.None
	case id == m.task:
		return 0
	case id == m.waker:
		return 1
	}
	return others
}

func (m idMap) out(id int64) int64 {
	switch id {
	case 0:
		return m.task
	case 1:
		return m.waker
	case others:
		return m.before
	}
	return -1
}

// restore makes the state that a decision was taken in.
func restore(h *domain.Hierarchy, d *Decision) (*state.State, idMap, error) {
	b := &d.Before
	ids := idMap{task: int64(d.Request.Task), waker: int64(d.Request.Waker)}
	if err := check(h, d); err != nil {
		return nil, ids, err
	}
	s := state.New(h, 0)
	s.TickNS, s.UclampUsed = b.TickNS, b.UclampUsed
	for c := range b.CPUs {
		restoreCPU(&s.CPUs[c], &b.CPUs[c], ids)
		if h.Online.Has(c) {
			s.Sync(c)
		}
	}
	for i := range s.Groups {
		s.InitGroup(i)
	}
	for _, g := range b.Groups {
		s.Groups[g.ID] = state.GroupState{Capacity: g.Capacity, MinCapacity: g.MinCapacity, MaxCapacity: g.MaxCapacity, Imbalance: g.Imbalance}
	}
	for i, sh := range b.Shared {
		s.Shared[i].HasIdleCores, s.Shared[i].NrIdleScan = sh.HasIdleCores, int(sh.NrIdleScan)
	}
	for range others + 1 {
		s.AddTask("", nil, state.None)
	}
	ids.before = b.Idle.Last
	for i := range b.Tasks {
		t := &b.Tasks[i]
		restoreTask(s, s.Tasks[ids.in(t.ID)], t, ids)
		if t.ID == ids.waker {
			ids.before = t.Wakee.Last
		}
	}
	here := &s.CPUs[d.Request.Here]
	here.IdleLastWakee, here.IdleWakeeFlips, here.IdleWakeeDecay = ids.in(b.Idle.Last), uint32(b.Idle.Flips), b.Idle.Decay
	return s, ids, nil
}

// check refuses decisions that the rules could not index.
func check(h *domain.Hierarchy, d *Decision) error {
	b := &d.Before
	n := h.NrCPUs
	online := func(c int) bool { return h.Online.Has(c) }
	switch {
	case len(b.CPUs) != n:
		return fmt.Errorf("it describes %d CPUs, the machine has %d", len(b.CPUs), n)
	case len(b.Shared) != len(h.Shared):
		return fmt.Errorf("it describes %d shared objects, the domains have %d", len(b.Shared), len(h.Shared))
	case !online(d.Request.Prev) || !online(d.Request.Here):
		return fmt.Errorf("prev %d or here %d is not an online CPU", d.Request.Prev, d.Request.Here)
	case b.TickNS <= 0:
		return errors.New("the tick length is not positive")
	case d.Request.Task < 0:
		return errors.New("it has no task")
	}
	for _, g := range b.Groups {
		if g.ID < 0 || g.ID >= int64(len(h.Groups)) {
			return fmt.Errorf("group %d does not exist", g.ID)
		}
	}
	var task, waker bool
	for i := range b.Tasks {
		t := &b.Tasks[i]
		task = task || t.ID == int64(d.Request.Task)
		waker = waker || t.ID == int64(d.Request.Waker)
		if t.CPU < -1 || t.CPU >= int64(n) || t.RecentUsed < -1 || t.RecentUsed >= int64(n) {
			return fmt.Errorf("task %d is on a CPU that does not exist", t.ID)
		}
		for _, c := range t.Allowed {
			if c < 0 || c >= n {
				return fmt.Errorf("task %d may run on CPU %d, which does not exist", t.ID, c)
			}
		}
	}
	if !task || !waker && d.Request.Waker != state.None {
		return errors.New("the task or its waker is not described")
	}
	return nil
}

func restoreCPU(c *state.CPU, d *CPU, ids idMap) {
	c.NrRunning, c.NrQueued, c.NrRunnable, c.NrIdle = int32(d.NrRunning), int32(d.NrQueued), int32(d.NrRunnable), int32(d.NrIdle)
	c.Curr, c.TTWUPending, c.Preempted = ids.in(d.Curr), d.TTWUPending, d.Preempted
	c.Avg = pelt.Avg{LastUpdate: d.LastUpdate, LoadAvg: d.Load, UtilAvg: d.Util, RunnableAvg: d.Runnable}
	c.UtilEst = d.UtilEst
	c.CapMax, c.CapActual, c.CapNow = d.CapMax, d.CapActual, d.CapNow
	c.IdleStamp, c.ExitLatency = d.IdleStamp, int32(d.ExitLatency)
}

func restoreTask(s *state.State, t *state.Task, d *Task, ids idMap) {
	t.Name, t.Policy, t.Kthread, t.Exiting = d.Name, state.SchedPolicy(d.Policy), d.Kthread, d.Exiting
	t.MigrationDisabled, t.Queued = d.MigrationDisabled, d.Queued
	t.CPU, t.RecentUsed = int(d.CPU), int(d.RecentUsed)
	t.LastWakee, t.WakeeFlips, t.WakeeDecay = ids.in(d.Wakee.Last), uint32(d.Wakee.Flips), d.Wakee.Decay
	t.Avg = pelt.Avg{
		LastUpdate: d.LastUpdate, LoadSum: uint64(d.LoadSum), RunnableSum: uint64(d.RunnableSum), UtilSum: uint64(d.UtilSum),
		PeriodContrib: uint32(d.PeriodContrib), LoadAvg: d.LoadAvg, RunnableAvg: d.RunnableAvg, UtilAvg: d.Util,
	}
	t.UtilEst, t.HLoad, t.UclampMin, t.UclampMax = d.UtilEst, d.HLoad, d.UclampMin, d.UclampMax
	s.SetAllowed(t, cpumask.Of(s.H.NrCPUs, d.Allowed...))
}
