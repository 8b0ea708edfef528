// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sibyl/cpumask"
	"sibyl/machine"
	"sibyl/placement"
	"sibyl/state"
)

const (
	maxLine = 1 << 20
	// maxLoaded bounds the CPU entries that ReadText keeps: about 3,000
	// decisions of a machine with 352 CPUs.
	maxLoaded = 1 << 20
	maxNodes  = 1024
	maxSteps  = 1 << 16
)

// Reader reads the text form one decision at a time. It is not safe for
// concurrent use.
type Reader struct {
	Header Header

	sc      *bufio.Scanner
	line    int
	pending string // a line that was read ahead
	have    bool
}

// NewReader reads the header of a text log.
func NewReader(r io.Reader) (*Reader, error) {
	rd := &Reader{sc: bufio.NewScanner(r)}
	rd.sc.Buffer(nil, maxLine)
	if err := rd.readHeader(); err != nil {
		return nil, rd.wrap(err)
	}
	return rd, nil
}

// ReadText reads a whole text log. Logs too long to be held are refused; they
// are read with a Reader.
func ReadText(r io.Reader) (*Log, error) {
	rd, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	l := &Log{Header: rd.Header}
	for loaded := 0; ; {
		d, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return nil, err
		}
		if loaded += len(d.Before.CPUs); loaded > maxLoaded {
			return nil, rd.wrap(errors.New("too many decisions to hold (read them one by one)"))
		}
		l.Decisions = append(l.Decisions, d)
	}
}

func (rd *Reader) wrap(err error) error {
	return fmt.Errorf("read decisions: line %d: %w", rd.line, err)
}

// next returns the next line that is not blank or a comment; false at the end.
func (rd *Reader) next() (string, bool, error) {
	if rd.have {
		rd.have = false
		return rd.pending, true, nil
	}
	for rd.sc.Scan() {
		rd.line++
		if s := strings.TrimSpace(rd.sc.Text()); s != "" && s[0] != '#' {
			return s, true, nil
		}
	}
	if err := rd.sc.Err(); err != nil {
		rd.line++
		return "", false, err
	}
	return "", false, nil
}

func (rd *Reader) unread(s string) { rd.pending, rd.have = s, true }

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
		for _, w := range strings.Fields(rest) {
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
		for _, w := range strings.Fields(rest) {
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
	for _, w := range strings.Fields(rest) {
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

// Next reads one decision. The error is io.EOF at the end.
func (rd *Reader) Next() (Decision, error) {
	s, ok, err := rd.next()
	if err != nil {
		return Decision{}, rd.wrap(err)
	}
	if !ok {
		return Decision{}, io.EOF
	}
	var d Decision
	seq, ok := strings.CutPrefix(s, "decision ")
	if d.Seq, err = strconv.ParseInt(seq, 10, 64); err != nil || !ok {
		return Decision{}, rd.wrap(fmt.Errorf("want decision and its number, not %q", clip(s)))
	}
	d.Request.Waker = state.None
	d.Before.Idle.Last, d.After.Waker.Last = -1, -1
	for {
		s, ok, err := rd.next()
		if err == nil && ok && !strings.HasPrefix(s, "decision ") {
			if err = rd.blockLine(&d, s); err == nil {
				continue
			}
		}
		if err != nil {
			return Decision{}, rd.wrap(err)
		}
		if ok {
			rd.unread(s)
		}
		if d.Before.CPUs == nil {
			return Decision{}, rd.wrap(fmt.Errorf("decision %d has no system line", d.Seq))
		}
		return d, nil
	}
}

// blockLine reads one line of a decision's block.
func (rd *Reader) blockLine(d *Decision, s string) error {
	kind, rest, _ := strings.Cut(s, " ")
	b := &d.Before
	switch kind {
	case "request":
		return requestLine(d, rest)
	case "system":
		return rd.systemLine(b, rest)
	case "task":
		return taskLine(b, rest)
	case "cpu":
		i, words, err := indexed(rest, len(b.CPUs))
		if err != nil {
			return err
		}
		return setAll(b.CPUs[i].fields(), words)
	case "shared":
		i, words, err := indexed(rest, len(b.Shared))
		if err != nil {
			return err
		}
		return setAll(b.Shared[i].fields(), words)
	case "group":
		i, words, err := indexed(rest, 1<<20)
		if err != nil {
			return err
		}
		g := Group{ID: int64(i)}
		b.Groups = append(b.Groups, g)
		return setAll(b.Groups[len(b.Groups)-1].fields(), words)
	case "idle-task":
		return setAll(b.Idle.fields(), strings.Fields(rest))
	case "step":
		return stepLine(&d.Path, rest)
	case "result":
		c, err := strconv.Atoi(rest)
		if err != nil {
			return fmt.Errorf("result %q: want a CPU number", clip(rest))
		}
		d.Result = c
		return nil
	case "after":
		return afterLine(&d.After, rest)
	}
	return fmt.Errorf("unknown line %q", clip(s))
}

func (rd *Reader) systemLine(b *Snapshot, rest string) error {
	if b.CPUs != nil {
		return errors.New("second system line")
	}
	var cpus, shared int64
	fs := []field{{"tick", &b.TickNS, nil}, {"uclamp", nil, &b.UclampUsed}, {"cpus", &cpus, nil}, {"shared", &shared, nil}}
	if err := setAll(fs, strings.Fields(rest)); err != nil {
		return err
	}
	if n := len(rd.Header.Machine.CPUs); cpus != int64(n) || n == 0 {
		return fmt.Errorf("system line has %d CPUs, the header %d", cpus, n)
	}
	if shared < 0 || shared > 2*cpus {
		return fmt.Errorf("system line has %d shared objects for %d CPUs", shared, cpus)
	}
	b.CPUs = make([]CPU, cpus)
	for c := range b.CPUs {
		b.CPUs[c] = freshCPU()
	}
	b.Shared = make([]Shared, shared)
	return nil
}

func requestLine(d *Decision, rest string) error {
	var task, prev, flags, here, waker, now int64
	fs := []field{
		{"task", &task, nil}, {"prev", &prev, nil}, {"flags", &flags, nil}, {"here", &here, nil}, {"waker", &waker, nil}, {"now", &now, nil},
		{"in-task", nil, &d.Request.InTask}, {"wrapped", nil, &d.Wrapped},
	}
	if err := setAll(fs, strings.Fields(rest)); err != nil {
		return err
	}
	const most = 1<<31 - 1
	if task < 0 || task > most || waker < -1 || waker > most || flags < 0 || flags > 255 ||
		prev < 0 || prev >= cpumask.MaxCPUs || here < 0 || here >= cpumask.MaxCPUs {
		return errors.New("request: a number is out of range")
	}
	r := &d.Request
	r.Task, r.Waker, r.Flags = state.TaskID(task), state.TaskID(waker), placement.Flags(flags)
	r.Prev, r.Here, r.Now = int(prev), int(here), now
	return nil
}

func taskLine(b *Snapshot, rest string) error {
	id, rest, _ := strings.Cut(rest, " ")
	t := freshTask()
	var err error
	if t.ID, err = strconv.ParseInt(id, 10, 32); err != nil || t.ID < 0 || len(b.Tasks) >= 2 {
		return errors.New("task: want the placed task and its waker, with their numbers")
	}
	if t.Name, rest, err = quoted(rest); err != nil {
		return err
	}
	words := strings.Fields(rest)
	if len(words) == 0 || !strings.HasPrefix(words[0], "allowed=") {
		return errors.New("task: want allowed=CPUs after the name")
	}
	if t.Allowed, err = cpumask.ParseList(strings.TrimPrefix(words[0], "allowed=")); err != nil {
		return err
	}
	if err := setAll(t.fields(), words[1:]); err != nil {
		return err
	}
	b.Tasks = append(b.Tasks, t)
	return nil
}

func stepLine(p *placement.Path, rest string) error {
	w := strings.SplitN(rest, " ", 4)
	if len(w) != 4 || len(p.Steps) >= maxSteps {
		return errors.New("step: want rule, CPU, yes or no, and a quoted reason")
	}
	r, ok := placement.ParseRule(w[0])
	if !ok {
		return fmt.Errorf("step: unknown rule %q", clip(w[0]))
	}
	c, err := strconv.ParseInt(w[1], 10, 32)
	if err != nil || w[2] != "yes" && w[2] != "no" {
		return errors.New("step: want a CPU number, then yes or no")
	}
	why, rest, err := quoted(w[3])
	if err != nil || rest != "" {
		return errors.New("step: want the reason in quotes at the end")
	}
	p.Steps = append(p.Steps, placement.Step{Rule: r, CPU: int(c), Yes: w[2] == "yes", Why: why})
	return nil
}

func afterLine(e *Effects, rest string) error {
	fs := append([]field{{"recent", &e.RecentUsed, nil}}, e.Waker.fields()...)
	for _, w := range strings.Fields(rest) {
		if list, ok := strings.CutPrefix(w, "idle-cores="); ok {
			var err error
			if e.IdleCores, err = cpumask.ParseList(list); err != nil {
				return err
			}
		} else if err := setField(fs, w); err != nil {
			return err
		}
	}
	return nil
}

// indexed reads the number that a line begins with, below n.
func indexed(rest string, n int) (int, []string, error) {
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0, nil, errors.New("want a number after the line's first word")
	}
	i, err := strconv.Atoi(words[0])
	if err != nil || i < 0 || i >= n {
		return 0, nil, fmt.Errorf("number %q: want 0 to %d", clip(words[0]), n-1)
	}
	return i, words[1:], nil
}

func setAll(fs []field, words []string) error {
	for _, w := range words {
		if err := setField(fs, w); err != nil {
			return err
		}
	}
	return nil
}

// quoted takes a Go string literal off the front of s.
func quoted(s string) (value, rest string, err error) {
	q, err := strconv.QuotedPrefix(s)
	if err == nil {
		value, err = strconv.Unquote(q)
	}
	if err != nil {
		return "", "", fmt.Errorf("want a quoted string at %q", clip(s))
	}
	return value, strings.TrimLeft(s[len(q):], " "), nil
}
