// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sibyl/domain"
	"sibyl/machine"
)

// smt is cores with threads each, siblings i and i+cores.
func smt(t interface{ Fatal(...any) }, cores, threads int) *State {
	m := &machine.Machine{Name: "test", Arch: "arm64", Nodes: []machine.Node{{Distance: []int{10}}}}
	for c := range cores * threads {
		m.CPUs = append(m.CPUs, machine.CPU{
			Possible: true, Online: true, Core: c % cores, Thread: c / cores, Cluster: -1, Die: -1, Capacity: 1024,
		})
	}
	h, err := domain.Build(m, domain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return New(h, 250)
}

// TestBitmaps changes CPUs at random and holds the bitmaps, and the predicates
// over cores, to their definitions CPU by CPU (mechanisms 0.2).
func TestBitmaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := smt(t, rapid.IntRange(1, 40).Draw(t, "cores"), rapid.IntRange(1, 4).Draw(t, "threads"))
		n := len(s.CPUs)
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			c := rapid.IntRange(0, n-1).Draw(t, "cpu")
			q := &s.CPUs[c]
			q.NrRunning = int32(rapid.IntRange(0, 2).Draw(t, "running"))
			q.NrIdle = int32(rapid.IntRange(0, int(q.NrRunning)).Draw(t, "sched_idle"))
			q.Curr = TaskID(rapid.IntRange(-1, 0).Draw(t, "curr"))
			q.TTWUPending = rapid.Bool().Draw(t, "pending")
			q.Preempted = rapid.Bool().Draw(t, "preempted")
			s.Sync(c)
		}
		idle := func(c int) bool {
			q := &s.CPUs[c]
			return q.Curr == None && q.NrRunning == 0 && !q.TTWUPending
		}
		avail := func(c int) bool { return idle(c) && !s.CPUs[c].Preempted }
		for c := range n {
			q := &s.CPUs[c]
			core, restIdle, restAvail := true, true, true
			for o := range s.H.Siblings[c].All() {
				core = core && avail(o)
				restIdle = restIdle && (o == c || idle(o))
				restAvail = restAvail && (o == c || avail(o))
			}
			for _, p := range []struct {
				name      string
				got, want bool
			}{
				{"Idle", s.Idle.Has(c), idle(c)},
				{"Avail", s.Avail.Has(c), avail(c)},
				{"IdlePolicy", s.IdlePolicy.Has(c), q.NrRunning > 0 && q.NrRunning == q.NrIdle},
				{"IdleCore", s.IdleCore.Has(c), core},
				{"RestIdle", s.RestIdle(c), restIdle},
				{"RestAvail", s.RestAvail(c), restAvail},
			} {
				if p.got != p.want {
					t.Fatalf("%s(%d) is %v, want %v", p.name, c, p.got, p.want)
				}
			}
		}
	})
}

// TestIdleCoreHint is the life of has_idle_cores at idle entry (mechanisms 2.7):
// set only when clear and when the rest of the core is available.
func TestIdleCoreHint(t *testing.T) {
	s := smt(t, 4, 2)
	busy := func(c int, on bool) {
		s.CPUs[c].NrRunning = 0
		if on {
			s.CPUs[c].NrRunning = 1
		}
		s.Sync(c)
	}
	busy(4, true) // sibling of 0
	s.EnterIdle(0, false)
	if s.HasIdleCores(0, false) {
		t.Error("hint set although the sibling is busy")
	}
	s.EnterIdle(1, false)
	if !s.HasIdleCores(0, false) {
		t.Error("hint not set although core 1 is idle")
	}
	s.SetIdleCores(3, false, false)
	if s.HasIdleCores(0, false) {
		t.Error("one hint for the whole LLC")
	}
}

// TestMRU: the list keeps the order of running under any sequence of changes.
func TestMRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := smt(t, 2, 1)
		for range 6 {
			s.AddTask("t", nil, None)
		}
		var model []TaskID // head first
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			id := TaskID(rapid.IntRange(0, 5).Draw(t, "task"))
			at := slices.Index(model, id)
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				if at < 0 {
					s.MRUAdd(0, id)
					model = slices.Insert(model, 0, id)
				}
			case 1:
				if at >= 0 {
					s.MRUDel(0, id)
					model = slices.Delete(model, at, at+1)
				}
			case 2:
				if at >= 0 {
					s.MRUTouch(0, id)
					model = slices.Insert(slices.Delete(model, at, at+1), 0, id)
				}
			}
			var got []TaskID
			for id := s.MRULast(0); id != None; id = s.MRUBefore(id) {
				got = append(got, id)
			}
			slices.Reverse(got)
			if !slices.Equal(got, model) {
				t.Fatalf("list %v, want %v", got, model)
			}
		}
	})
}

// TestAddTask: a child inherits its parent's wakee bookkeeping and starts with
// the parent's CPU as recent_used_cpu (mechanisms 2.3, 2.5).
func TestAddTask(t *testing.T) {
	s := smt(t, 4, 1)
	p := s.AddTask("parent", nil, None)
	p.CPU, p.WakeeFlips, p.LastWakee, p.WakeeDecay = 3, 9, 5, 77
	c := s.AddTask("child", nil, p.ID)
	if c.RecentUsed != 3 || c.WakeeFlips != 9 || c.LastWakee != 5 || c.WakeeDecay != 77 || c.NrAllowed != 4 {
		t.Errorf("child %+v", c)
	}
}
