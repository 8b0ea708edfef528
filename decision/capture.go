// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"sibyl/placement"
	"sibyl/state"
)

// Capture takes what the rules will read for req from s. It is called before
// the placer, and Finish after it.
func Capture(s *state.State, req placement.Request) Decision {
	d := Decision{Request: req, Wrapped: req.Flags&placement.Exec == 0}
	b := &d.Before
	b.TickNS, b.UclampUsed = s.TickNS, s.UclampUsed
	b.CPUs = make([]CPU, len(s.CPUs))
	for c := range s.CPUs {
		b.CPUs[c] = captureCPU(&s.CPUs[c])
	}
	b.Tasks = append(b.Tasks, captureTask(s.Tasks[req.Task]))
	if req.Waker != state.None && req.Waker != req.Task {
		b.Tasks = append(b.Tasks, captureTask(s.Tasks[req.Waker]))
	}
	b.Shared = make([]Shared, len(s.Shared))
	for i, sh := range s.Shared {
		b.Shared[i] = Shared{HasIdleCores: sh.HasIdleCores, NrIdleScan: int64(sh.NrIdleScan)}
	}
	for i := range s.Groups {
		if g := captureGroup(s, i); g != freshGroup(s, i) {
			b.Groups = append(b.Groups, g)
		}
	}
	b.Idle = idleWakee(&s.CPUs[req.Here])
	return d
}

// Finish adds the result and what the decision left in s.
func (d *Decision) Finish(s *state.State, result int, path *placement.Path) {
	d.Result = result
	d.After = effects(s, d.Request)
	if path != nil {
		d.Path.Steps = append([]placement.Step(nil), path.Steps...)
	}
}

func effects(s *state.State, req placement.Request) Effects {
	e := Effects{RecentUsed: int64(s.Tasks[req.Task].RecentUsed)}
	if req.Waker == state.None {
		e.Waker = idleWakee(&s.CPUs[req.Here])
	} else {
		e.Waker = taskWakee(s.Tasks[req.Waker])
	}
	for i := range s.Shared {
		if s.Shared[i].HasIdleCores {
			e.IdleCores = append(e.IdleCores, i)
		}
	}
	return e
}

func captureCPU(c *state.CPU) CPU {
	return CPU{
		NrRunning: int64(c.NrRunning), NrQueued: int64(c.NrQueued), NrRunnable: int64(c.NrRunnable), NrIdle: int64(c.NrIdle),
		Curr: taskID(c.Curr), TTWUPending: c.TTWUPending, Preempted: c.Preempted,
		LastUpdate: c.Avg.LastUpdate, Load: c.Avg.LoadAvg, Util: c.Avg.UtilAvg, Runnable: c.Avg.RunnableAvg, UtilEst: c.UtilEst,
		CapMax: c.CapMax, CapActual: c.CapActual, CapNow: c.CapNow,
		IdleStamp: c.IdleStamp, ExitLatency: int64(c.ExitLatency),
	}
}

func captureTask(t *state.Task) Task {
	d := Task{
		ID: taskID(t.ID), Name: t.Name, Policy: int64(t.Policy), Kthread: t.Kthread, Exiting: t.Exiting,
		MigrationDisabled: t.MigrationDisabled, Queued: t.Queued,
		CPU: int64(t.CPU), RecentUsed: int64(t.RecentUsed), Wakee: taskWakee(t),
		LastUpdate: t.Avg.LastUpdate, LoadSum: int64(t.Avg.LoadSum), RunnableSum: int64(t.Avg.RunnableSum),
		UtilSum: int64(t.Avg.UtilSum), PeriodContrib: int64(t.Avg.PeriodContrib),
		LoadAvg: t.Avg.LoadAvg, RunnableAvg: t.Avg.RunnableAvg, Util: t.Avg.UtilAvg,
		UtilEst: t.UtilEst, HLoad: t.HLoad, UclampMin: t.UclampMin, UclampMax: t.UclampMax,
	}
	for c := range t.Allowed.All() {
		d.Allowed = append(d.Allowed, c)
	}
	return d
}

func taskWakee(t *state.Task) Wakee {
	return Wakee{Last: taskID(t.LastWakee), Flips: int64(t.WakeeFlips), Decay: t.WakeeDecay}
}

func idleWakee(c *state.CPU) Wakee {
	return Wakee{Last: taskID(c.IdleLastWakee), Flips: int64(c.IdleWakeeFlips), Decay: c.IdleWakeeDecay}
}

func captureGroup(s *state.State, i int) Group {
	g := &s.Groups[i]
	return Group{ID: int64(i), Capacity: g.Capacity, MinCapacity: g.MinCapacity, MaxCapacity: g.MaxCapacity, Imbalance: g.Imbalance}
}

// freshGroup is what state.InitGroup would store for group i.
func freshGroup(s *state.State, i int) Group {
	g := Group{ID: int64(i), MinCapacity: 1 << 62}
	for c := range s.H.Groups[i].Span.All() {
		capacity := s.CPUs[c].CapNow
		g.Capacity += capacity
		g.MinCapacity = min(g.MinCapacity, capacity)
		g.MaxCapacity = max(g.MaxCapacity, capacity)
	}
	return g
}
