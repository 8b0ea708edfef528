// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sibyl/cpumask"
	"sibyl/placement"
	"sibyl/state"
)

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
		{"task", &task, nil},
		{"prev", &prev, nil},
		{"flags", &flags, nil},
		{"here", &here, nil},
		{"waker", &waker, nil},
		{"now", &now, nil},
		{"in-task", nil, &d.Request.InTask},
		{"wrapped", nil, &d.Wrapped},
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
	for w := range strings.FieldsSeq(rest) {
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
