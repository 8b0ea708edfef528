// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"sibyl/cpumask"
	"sibyl/machine"
)

// magic is the first line of the text form.
const magic = "sibyl decisions 1"

// WriteText writes the log in its text form: a header that describes machine
// and rules, then a block of lines for each decision. Values equal to those of
// an idle CPU or a new task are left out. ReadText reads it back.
func (l *Log) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, magic)
	writeHeader(b, &l.Header)
	for i := range l.Decisions {
		l.Decisions[i].writeText(b)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write decisions: %w", err)
	}
	return nil
}

func writeHeader(b *bufio.Writer, h *Header) {
	m := h.Machine
	if m == nil {
		m = &machine.Machine{}
	}
	fmt.Fprintf(b, "machine %s arch=%s hz=%d", strconv.Quote(m.Name), strconv.Quote(m.Arch), m.HZ)
	b.Write(appendSwitches(nil, m.Packing))
	b.WriteByte('\n')
	for _, n := range m.Nodes {
		fmt.Fprintf(b, "node %d", n.ID)
		for _, d := range n.Distance {
			fmt.Fprintf(b, " %d", d)
		}
		b.WriteByte('\n')
	}
	for c := range m.CPUs {
		f := cpuPlace(&m.CPUs[c])
		fresh := freshPlace()
		fmt.Fprintf(b, "place %d%s\n", c, appendFields(nil, f.fields(), fresh.fields()))
	}
	fmt.Fprintf(b, "domains%s", appendSwitches(nil, h.Options))
	if h.Options.Partition != nil {
		fmt.Fprintf(b, " partition=%s", h.Options.Partition)
	}
	fmt.Fprintf(b, "\nrules%s\n", appendSwitches(nil, h.Rules))
}

// place is a machine.CPU in the text form.
type place struct {
	possible, online                         bool
	core, thread, cluster, llc, die, pkg, nd int64
	capacity, priority                       int64
}

func freshPlace() place {
	return place{cluster: -1, llc: -1, die: -1, pkg: -1, capacity: 1024}
}

func (p *place) fields() []field {
	return []field{
		{"possible", nil, &p.possible},
		{"online", nil, &p.online},
		{"core", &p.core, nil},
		{"thread", &p.thread, nil},
		{"cluster", &p.cluster, nil},
		{"llc", &p.llc, nil},
		{"die", &p.die, nil},
		{"package", &p.pkg, nil},
		{"node", &p.nd, nil},
		{"capacity", &p.capacity, nil},
		{"priority", &p.priority, nil},
	}
}

func cpuPlace(c *machine.CPU) place {
	return place{
		possible: c.Possible, online: c.Online,
		core: int64(c.Core), thread: int64(c.Thread), cluster: int64(c.Cluster), llc: int64(c.LLC),
		die: int64(c.Die), pkg: int64(c.Package), nd: int64(c.Node),
		capacity: int64(c.Capacity), priority: int64(c.Priority),
	}
}

// WriteText writes one decision as a block of the text form.
func (d *Decision) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	d.writeText(b)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write decision %d: %w", d.Seq, err)
	}
	return nil
}

func (d *Decision) writeText(b *bufio.Writer) {
	r := &d.Request
	fmt.Fprintf(b, "\ndecision %d\n", d.Seq)
	fmt.Fprintf(b, "request task=%d prev=%d flags=%d here=%d waker=%d now=%d", r.Task, r.Prev, r.Flags, r.Here, r.Waker, r.Now)
	flagWord(b, " in-task", r.InTask)
	flagWord(b, " wrapped", d.Wrapped)
	s := &d.Before
	fmt.Fprintf(b, "\nsystem tick=%d", s.TickNS)
	flagWord(b, " uclamp", s.UclampUsed)
	fmt.Fprintf(b, " cpus=%d shared=%d\n", len(s.CPUs), len(s.Shared))
	for i := range s.Tasks {
		t, fresh := &s.Tasks[i], freshTask()
		fmt.Fprintf(b, "task %d %s allowed=%s%s\n", t.ID, strconv.Quote(t.Name), cpumask.FormatList(t.Allowed),
			appendFields(nil, t.fields(), fresh.fields()))
	}
	for c := range s.CPUs {
		fresh := freshCPU()
		writeLine(b, "cpu", int64(c), s.CPUs[c].fields(), fresh.fields())
	}
	for i := range s.Shared {
		writeLine(b, "shared", int64(i), s.Shared[i].fields(), new(Shared).fields())
	}
	for i := range s.Groups {
		fmt.Fprintf(b, "group %d%s\n", s.Groups[i].ID, appendFields(nil, s.Groups[i].fields(), new(Group).fields()))
	}
	fresh := Wakee{Last: -1}
	if s.Idle != fresh {
		fmt.Fprintf(b, "idle-task%s\n", appendFields(nil, s.Idle.fields(), fresh.fields()))
	}
	for _, st := range d.Path.Steps {
		answer := "no"
		if st.Yes {
			answer = "yes"
		}
		fmt.Fprintf(b, "step %s %d %s %s\n", st.Rule, st.CPU, answer, strconv.Quote(st.Why))
	}
	fmt.Fprintf(b, "result %d\nafter recent=%d%s", d.Result, d.After.RecentUsed, appendFields(nil, d.After.Waker.fields(), fresh.fields()))
	if len(d.After.IdleCores) > 0 {
		fmt.Fprintf(b, " idle-cores=%s", cpumask.FormatList(d.After.IdleCores))
	}
	b.WriteByte('\n')
}

// writeLine writes a line unless all its fields are fresh.
func writeLine(b *bufio.Writer, kind string, id int64, fs, fresh []field) {
	if f := appendFields(nil, fs, fresh); len(f) > 0 {
		fmt.Fprintf(b, "%s %d%s\n", kind, id, f)
	}
}

func flagWord(b *bufio.Writer, word string, on bool) {
	if on {
		b.WriteString(word)
	}
}
