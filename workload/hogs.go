// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	"sibyl/machine"
)

// hogsKind is n tasks that only compute: forked one after another by a launcher
// that then exits.
func hogsKind() Kind {
	return Kind{
		Name:  "hogs",
		About: "tasks that only compute, forked one after another",
		Settings: []Setting{
			{"threads", "0", "number of hogs; 0: one for each allowed CPU"},
			{"cpus", "", "CPU list that all are bound to; empty: all"},
			{"gap", "1ms", "time between two forks"},
			{"run", "0s", "work of each hog; 0s: until the run ends"},
		},
		build: buildHogs,
	}
}

func buildHogs(s *settings, m *machine.Machine, _ uint64) (*Instance, error) {
	allowed := s.cpus("cpus", m)
	threads := int(s.integer("threads", 0, 65536))
	if threads == 0 {
		threads = allowed.Count()
	}
	gap, run := s.duration("gap"), s.duration("run")
	if s.err != nil {
		return nil, s.err
	}
	if run == 0 {
		run = Forever >> 24 // longer than any run that the clock allows
	}
	l := &launcher{gap: gap}
	for i := range threads {
		l.children = append(l.children, &Task{
			Name:     fmt.Sprintf("hog-%d", i),
			Allowed:  allowed,
			Measured: true,
			Program:  &once{work: run},
		})
	}
	return &Instance{
		Tasks: []*Task{{Name: "launcher", Allowed: allowed, Program: &starter{launcher: *l}}},
		Home:  allowed,
		Noise: s.noise(m, allowed),
	}, nil
}

// launcher forks its children with a sleep between two, then exits.
type launcher struct {
	children []*Task
	gap      int64
	n        int
	slept    bool
}

func (l *launcher) Next(int64) Op {
	if l.n == len(l.children) {
		return Op{Kind: Exit}
	}
	if !l.slept && l.gap > 0 {
		l.slept = true
		return Op{Kind: Sleep, NS: l.gap}
	}
	l.slept = false
	l.n++
	return Op{Kind: Fork, Child: l.children[l.n-1]}
}

// starter marks the start and then forks everything.
type starter struct {
	launcher
	started bool
}

func (s *starter) Next(now int64) Op {
	if !s.started {
		s.started = true
		return Op{Kind: Mark, Obj: Start}
	}
	return s.launcher.Next(now)
}

// once computes its work and exits.
type once struct {
	work int64
	done bool
}

func (o *once) Next(int64) Op {
	if o.done {
		return Op{Kind: Exit}
	}
	o.done = true
	return Op{Kind: Run, NS: o.work}
}
