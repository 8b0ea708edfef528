// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"strconv"
	"strings"

	"sibyl/cpumask"
	"sibyl/machine"
)

func (rd *Reader) readHeader() error {
	s, ok, err := rd.next()
	if err != nil {
		return err
	}
	if !ok || s != magic {
		return fmt.Errorf("want %q, the first line of a decision text", magic)
	}
	m := &machine.Machine{}
	rd.Header.Machine = m
	for {
		s, ok, err := rd.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if strings.HasPrefix(s, "decision ") {
			rd.unread(s)
			break
		}
		if err := rd.headerLine(m, s); err != nil {
			return err
		}
	}
	if p := rd.Header.Options.Partition; p != nil {
		// The mask was read with room for all CPUs; cut it to the machine's.
		if c := p.Last(); c >= len(m.CPUs) {
			return fmt.Errorf("partition: CPU %d is not below %d", c, len(m.CPUs))
		}
		rd.Header.Options.Partition = p[:len(cpumask.New(len(m.CPUs)))]
	}
	for i, n := range m.Nodes {
		if len(n.Distance) != len(m.Nodes) {
			return fmt.Errorf("node %d: %d distances for %d nodes", i, len(n.Distance), len(m.Nodes))
		}
	}
	return nil
}

func (rd *Reader) headerLine(m *machine.Machine, s string) error {
	kind, rest, _ := strings.Cut(s, " ")
	switch kind {
	case "machine":
		return machineLine(m, rest)
	case "node":
		return nodeLine(m, rest)
	case "place":
		return placeLine(m, rest)
	case "domains":
		for w := range strings.FieldsSeq(rest) {
			if list, ok := strings.CutPrefix(w, "partition="); ok {
				p, err := cpumask.Parse(cpumask.MaxCPUs, list)
				if err != nil {
					return err
				}
				rd.Header.Options.Partition = p
			} else if err := setSwitch(&rd.Header.Options, w); err != nil {
				return err
			}
		}
		return nil
	case "rules":
		for w := range strings.FieldsSeq(rest) {
			if err := setSwitch(&rd.Header.Rules, w); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("unknown line %q", clip(s))
}

func machineLine(m *machine.Machine, rest string) error {
	var err error
	if m.Name, rest, err = quoted(rest); err != nil {
		return err
	}
	if arch, ok := strings.CutPrefix(rest, "arch="); ok {
		if m.Arch, rest, err = quoted(arch); err != nil {
			return err
		}
	}
	for w := range strings.FieldsSeq(rest) {
		if hz, ok := strings.CutPrefix(w, "hz="); ok {
			if m.HZ, err = strconv.Atoi(hz); err != nil || m.HZ < 0 || m.HZ > 10_000 {
				return fmt.Errorf("field %q: want ticks a second", clip(w))
			}
		} else if err := setSwitch(&m.Packing, w); err != nil {
			return err
		}
	}
	return nil
}

func nodeLine(m *machine.Machine, rest string) error {
	if len(m.Nodes) >= maxNodes {
		return fmt.Errorf("more than %d nodes", maxNodes)
	}
	var n machine.Node
	for i, w := range strings.Fields(rest) {
		v, err := strconv.Atoi(w)
		if err != nil || v < 0 || i > maxNodes {
			return fmt.Errorf("node: want a number and its distances, not %q", clip(w))
		}
		if i == 0 {
			n.ID = v
		} else {
			n.Distance = append(n.Distance, v)
		}
	}
	m.Nodes = append(m.Nodes, n)
	return nil
}

func placeLine(m *machine.Machine, rest string) error {
	words := strings.Fields(rest)
	if len(words) == 0 || words[0] != strconv.Itoa(len(m.CPUs)) || len(m.CPUs) >= cpumask.MaxCPUs {
		return fmt.Errorf("place: want CPU %d next, at most %d CPUs", len(m.CPUs), cpumask.MaxCPUs)
	}
	p := freshPlace()
	if err := setAll(p.fields(), words[1:]); err != nil {
		return err
	}
	for _, v := range []int64{p.core, p.thread, p.cluster, p.llc, p.die, p.pkg, p.nd} {
		if v < -1 || v >= cpumask.MaxCPUs {
			return fmt.Errorf("place %d: index %d is out of range", len(m.CPUs), v)
		}
	}
	if p.capacity < 0 || p.capacity > 1024 || p.priority != int64(int32(p.priority)) {
		return fmt.Errorf("place %d: want a capacity of at most 1024 and a 32-bit priority", len(m.CPUs))
	}
	m.CPUs = append(m.CPUs, machine.CPU{
		Possible: p.possible, Online: p.online,
		Core: int(p.core), Thread: int(p.thread), Cluster: int(p.cluster), LLC: int(p.llc),
		Die: int(p.die), Package: int(p.pkg), Node: int(p.nd), CoreID: -1,
		Capacity: int(p.capacity), Priority: int(p.priority),
	})
	return nil
}
