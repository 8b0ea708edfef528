// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	"sibyl/machine"
)

// hackbenchKind is rt-tests' hackbench with pipes: groups of senders and
// receivers; every sender writes loops messages to every receiver of its group.
func hackbenchKind() Kind {
	return Kind{
		Name:  "hackbench",
		About: "groups of senders and receivers over pipes, as rt-tests' hackbench",
		Settings: []Setting{
			{"groups", "10", "groups"},
			{"fds", "20", "senders, and receivers, in a group"},
			{"loops", "100", "messages from every sender to every receiver"},
			{"cpus", "", "CPU list that all are bound to; empty: all"},
			{"write", "1us", "CPU time of one write (assumed)"},
			{"read", "1us", "CPU time of one read (assumed)"},
			{"buffer", "16", "messages that a pipe holds (16 pages, one message each)"},
		},
		build: buildHackbench,
	}
}

func buildHackbench(s *settings, m *machine.Machine, _ uint64) (*Instance, error) {
	allowed := s.cpus("cpus", m)
	groups := int(s.integer("groups", 1, 1024))
	fds := int(s.integer("fds", 1, 256))
	loops := int(s.integer("loops", 1, 1<<30))
	write, read := s.duration("write"), s.duration("read")
	buffer := int(s.integer("buffer", 1, 65536))
	if s.err != nil {
		return nil, s.err
	}
	in := &Instance{Home: allowed, Noise: s.noise(m, allowed)}
	h := &hackbench{receivers: groups * fds}
	var children []*Task
	for g := range groups {
		first := len(in.Sems)
		for r := range fds {
			// Each receiver's pipe is two semaphores: messages and space.
			in.Sems = append(in.Sems, 0, buffer)
			children = append(children, &Task{
				Name: fmt.Sprintf("receiver-%d.%d", g, r), Allowed: allowed, Measured: true,
				Program: &receiver{hackbench: h, pipe: first + 2*r, left: fds * loops, work: read},
			})
		}
		for n := range fds {
			children = append(children, &Task{
				Name: fmt.Sprintf("sender-%d.%d", g, n), Allowed: allowed, Measured: true,
				Program: &sender{first: first, fds: fds, left: fds * loops, work: write},
			})
		}
	}
	in.Tasks = []*Task{{Name: "hackbench", Allowed: allowed, Program: &starter{launcher: launcher{children: children}}}}
	in.Metrics = func(r Measured) []Metric {
		if r.EndNS <= r.StartNS {
			return nil
		}
		return []Metric{{
			Name: "time", Unit: "s", Value: float64(r.EndNS-r.StartNS) / 1e9, LowerIsBetter: true,
		}}
	}
	return in, nil
}

// hackbench is what the tasks of one run share.
type hackbench struct{ receivers int }

// sender writes to the receivers of its group in turn.
type sender struct {
	first, fds, left, to, step int
	work                       int64
}

func (s *sender) Next(int64) Op {
	pipe := s.first + 2*s.to
	s.step++
	switch s.step {
	case 1:
		if s.left == 0 {
			return Op{Kind: Exit}
		}
		return Op{Kind: Take, Obj: pipe + 1}
	case 2:
		return Op{Kind: Run, NS: s.work}
	}
	s.step = 0
	s.left--
	s.to = (s.to + 1) % s.fds
	return Op{Kind: Give, Obj: pipe, N: 1, Sync: true}
}

// receiver reads until all messages of its group's senders are in.
type receiver struct {
	*hackbench
	pipe, left, step int
	work             int64
}

func (r *receiver) Next(int64) Op {
	r.step++
	switch r.step {
	case 1:
		if r.left == 0 {
			r.receivers--
			if r.receivers == 0 {
				return Op{Kind: Mark, Obj: End}
			}
			return Op{Kind: Exit}
		}
		return Op{Kind: Take, Obj: r.pipe}
	case 2:
		if r.left == 0 {
			return Op{Kind: Mark, Obj: Stop}
		}
		return Op{Kind: Run, NS: r.work}
	}
	r.step = 0
	if r.left == 0 {
		return Op{Kind: Exit}
	}
	r.left--
	return Op{Kind: Give, Obj: r.pipe + 1, N: 1, Sync: true}
}
