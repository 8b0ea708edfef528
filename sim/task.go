// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sibyl/decision"
	"sibyl/pelt"
	"sibyl/placement"
	"sibyl/runqueue"
	"sibyl/state"
	"sibyl/trace"
	"sibyl/workload"
)

// status is what a task does.
type status uint8

const (
	fresh    status = iota // no operation yet
	running                // computes, on a CPU or waiting for one
	spinning               // waits for something, on a CPU or waiting for one
	blocked                // asleep until woken
	sleeping               // asleep until its timer
	gone
)

// task is the engine's side of one task.
type task struct {
	spec    *workload.Task
	status  status
	op      workload.Op
	rem     int64 // work left of the operation, ns*oneSpeed
	spinGen uint32
	timer   uint32 // generation of evTimer
	share   int64  // speed in two-thread mode, oneSpeed based; 0: the machine's
	pending []state.TaskID
	forced  int32 // thread forced by an ablation; -1: none
	// first and other are running times in the measured interval.
	first, other int64
	endCPU       int
	moved        bool // PELT averages changed since the task was enqueued
}

// newTask creates a task that has never run.
func (s *Sim) newTask(spec *workload.Task, parent state.TaskID) state.TaskID {
	st := s.st.AddTask(spec.Name, spec.Allowed, parent)
	st.Policy = spec.Policy
	st.SE.Idle = spec.Policy == state.IdlePolicy
	st.SE.Batch = spec.Policy == state.Batch
	st.SE.Slice = runqueue.BaseSlice(s.h.Active.Count())
	st.SE.Weight = runqueue.NiceWeight(spec.Nice)
	if st.SE.Idle {
		st.SE.Weight = runqueue.SchedIdleWeight
	}
	st.Avg = pelt.InitTask(st.SE.Weight)
	st.HLoad = st.Avg.LoadAvg
	t := task{spec: spec, endCPU: -1, forced: -1}
	if spec.Share > 0 {
		t.share = spec.Share * oneSpeed / 1_000_000
	}
	if s.cfg.ForceOther >= 0 && spec.Measured {
		t.forced = 0
		if s.force.Bernoulli(s.cfg.ForceOther) {
			t.forced = 1
		}
	}
	s.tasks = append(s.tasks, t)
	if s.cfg.Trace != nil {
		s.cfg.Trace.NewTask(trace.Task{Name: spec.Name, PID: int32(st.ID) + 1})
	}
	return st.ID
}

// fork creates a task on behalf of parent, which runs on here, places it and
// starts it (wake_up_new_task).
func (s *Sim) fork(here int, parent state.TaskID, spec *workload.Task) state.TaskID {
	id := s.newTask(spec, parent)
	t := s.st.Tasks[id]
	t.CPU, t.WakeCPU, t.RecentUsed = here, here, here
	s.count.Forks++
	s.start(s.selectCPU(placement.Request{
		Task: id, Prev: here, Flags: placement.Fork, Here: here, Waker: parent, InTask: true, Now: s.now,
	}), id, here)
	return id
}

// start puts a new task on cpu's queue.
func (s *Sim) start(cpu int, id state.TaskID, here int) {
	t := s.st.Tasks[id]
	t.CPU = cpu
	s.updateLoad(cpu)
	p := &s.st.CPUs[cpu]
	pelt.PostInit(&t.Avg, &p.Avg, t.SE.Weight, p.CapMax)
	t.Avg.LastUpdate = p.Avg.LastUpdate
	t.HLoad = t.Avg.LoadAvg
	p.Avg.Attach(&t.Avg)
	if s.cfg.Trace != nil {
		s.emit(trace.Event{CPU: int32(here), Kind: trace.Fork, Task: int32(id), Prev: -1, Target: int32(cpu)})
	}
	s.enqueue(cpu, id, true)
	s.checkPreempt(cpu, id, here, true)
}

// selectCPU asks the rules, and traces and explains the decision if that is
// wanted.
func (s *Sim) selectCPU(r placement.Request) int {
	seq := s.decisions
	s.decisions++
	name := s.st.Tasks[r.Task].Name
	explain := s.cfg.Explain != nil && s.cfg.Explain(seq, s.now-s.begin, name)
	var d decision.Decision
	if explain {
		d = decision.Capture(s.st, r)
	}
	if s.cfg.Trace != nil || explain {
		s.path.Reset()
		s.place.Path = &s.path
	} else {
		s.place.Path = nil
	}
	cpu := s.place.SelectTaskRQ(r)
	if explain {
		d.Seq = seq
		d.Finish(s.st, cpu, &s.path)
		s.cfg.Decision(d, name, s.now-s.begin)
	}
	if t := &s.tasks[r.Task]; t.forced >= 0 {
		cpu = s.forceThread(cpu, t.forced, r.Task)
	}
	if s.cfg.Trace != nil {
		s.emit(trace.Event{
			CPU: int32(r.Here), Kind: trace.Decision, Task: int32(r.Task), Prev: int32(r.Waker),
			Target: int32(cpu), Arg: int64(r.Prev), Detail: s.path.String(),
		})
	}
	return cpu
}

// forceThread moves a choice on a wholly idle core to the wanted thread.
func (s *Sim) forceThread(cpu int, pe int32, id state.TaskID) int {
	if !s.st.IdleCore.Has(cpu) {
		return cpu
	}
	for _, c := range s.cores[s.cpus[cpu].core].cpus {
		if s.cpus[c].pe == pe && s.st.Tasks[id].Allowed.Has(int(c)) {
			return int(c)
		}
	}
	return cpu
}

// exit ends the current task of c.
func (s *Sim) exit(c int) {
	id := s.st.CPUs[c].Curr
	s.tasks[id].status = gone
	s.st.Tasks[id].Exiting = true
	if s.tasks[id].endCPU < 0 {
		s.tasks[id].endCPU = c
	}
	if s.cfg.Trace != nil {
		s.emit(trace.Event{CPU: int32(c), Kind: trace.Exit, Task: int32(id)})
	}
	s.deactivate(c, id, false)
	// The load of a task that is gone leaves its run queue at once.
	s.st.CPUs[c].Avg.Detach(&s.st.Tasks[id].Avg)
	s.schedule(c)
}
