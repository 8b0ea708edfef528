// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sibyl/coremode"
	"sibyl/cpumask"
)

// Bounds on text from outside.
const (
	maxLine  = 1 << 20 // bytes; a decision's path is the longest thing
	maxTasks = 1 << 22
)

// ReadText reads what TextWriter writes and passes it on. Blank lines and lines
// that begin with # are skipped. The stream is not judged (Validator does that),
// only its form: an error names the line and what was expected there. An error
// of to is returned as it is. Without an end line the text was cut, which is
// an error.
func ReadText(r io.Reader, to Sink) error {
	p := parser{to: to}
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 1<<16), maxLine)
	for s.Scan() {
		p.line++
		text := strings.TrimRight(s.Text(), " \t\r")
		if text == "" || text[0] == '#' {
			continue
		}
		if p.ended {
			return p.fail("text after the end line")
		}
		if err := p.take(text); err != nil {
			if sink, ok := errors.AsType[sinkError](err); ok {
				return sink.error
			}
			return p.fail("%w", err)
		}
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		p.line++
		return p.fail("the line is longer than %d bytes", maxLine)
	case err != nil:
		return fmt.Errorf("read trace text: %w", err)
	case !p.begun:
		return p.fail("no begin line")
	case !p.ended:
		return p.fail("no end line: the text was cut")
	}
	return nil
}

// sinkError carries an error of the sink out of the parser.
type sinkError struct{ error }

// parser holds what was read of the header and where it is.
type parser struct {
	to           Sink
	head         Header
	seen         map[string]bool
	line         int
	begun, ended bool
}

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("read trace text: line %d: %w", p.line, fmt.Errorf(format, args...))
}

// take reads one line.
func (p *parser) take(text string) error {
	key, rest, _ := strings.Cut(text, " ")
	switch {
	case p.seen == nil:
		p.seen = map[string]bool{}
		if text != "trace 1" {
			return fmt.Errorf("%q: want trace 1", clip(text))
		}
		return nil
	case key == "task":
		task, err := parseTask(rest)
		switch {
		case err != nil:
			return err
		case p.begun:
			p.to.NewTask(task)
		case len(p.head.Tasks) == maxTasks:
			return fmt.Errorf("more than %d tasks", maxTasks)
		default:
			p.head.Tasks = append(p.head.Tasks, task)
		}
		return nil
	case p.begun && key == "end":
		last, err := number(rest, 64)
		if err != nil {
			return fmt.Errorf("end: %w", err)
		}
		p.ended = true
		if err := p.to.End(last); err != nil {
			return sinkError{err}
		}
		return nil
	case p.begun:
		e, err := ParseEvent(text)
		if err != nil {
			return err
		}
		p.to.Event(e)
		return nil
	case p.seen[key]:
		return fmt.Errorf("%s: given twice", clip(key))
	}
	p.seen[key] = true
	return p.header(key, rest)
}

// header reads a line of the header.
func (p *parser) header(key, rest string) (err error) {
	switch key {
	case "source":
		p.head.Source, err = unquote(rest)
	case "cpus":
		var n int64
		if n, err = number(rest, 32); err == nil && (n < 1 || n > cpumask.MaxCPUs) {
			err = fmt.Errorf("%d: want 1 to %d", n, cpumask.MaxCPUs)
		}
		p.head.NrCPUs = int(n)
	case "core":
		p.head.Core, err = p.perCPU(rest)
	case "thread":
		p.head.Thread, err = p.perCPU(rest)
	case "until":
		p.head.End, err = number(rest, 64)
	case "percpu":
		if p.head.PerCPU = true; rest != "" {
			err = fmt.Errorf("%q: want nothing", clip(rest))
		}
	case "begin":
		if p.head.NrCPUs == 0 {
			return errors.New("begin: no cpus line before it")
		}
		if p.head.Start, err = number(rest, 64); err != nil {
			break
		}
		p.begun = true
		if err := p.to.Begin(p.head); err != nil {
			return sinkError{err}
		}
	default:
		return fmt.Errorf("%q: want source, cpus, core, thread, until, percpu, task or begin", clip(key))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// perCPU reads one number for each CPU: -1 or a small one.
func (p *parser) perCPU(rest string) ([]int, error) {
	if p.head.NrCPUs == 0 {
		return nil, errors.New("no cpus line before it")
	}
	words := strings.Fields(rest)
	if len(words) != p.head.NrCPUs {
		return nil, fmt.Errorf("%d numbers: want one for each of %d CPUs", len(words), p.head.NrCPUs)
	}
	out := make([]int, len(words))
	for i, w := range words {
		n, err := number(w, 32)
		if err != nil {
			return nil, err
		}
		if n < -1 || n >= int64(p.head.NrCPUs) {
			return nil, fmt.Errorf("%d: want -1 to %d", n, p.head.NrCPUs-1)
		}
		out[i] = int(n)
	}
	return out, nil
}

func parseTask(rest string) (Task, error) {
	pid, name, _ := strings.Cut(rest, " ")
	n, err := number(pid, 32)
	if err != nil {
		return Task{}, fmt.Errorf("task: %w", err)
	}
	text, err := unquote(name)
	if err != nil {
		return Task{}, fmt.Errorf("task: %w", err)
	}
	return Task{Name: text, PID: int32(n)}, nil
}

// ParseEvent reads one line of an event. Fields that its kind does not use are
// zero.
func ParseEvent(text string) (Event, error) {
	at, rest, _ := strings.Cut(text, " ")
	cpu, rest, _ := strings.Cut(rest, " ")
	name, rest, _ := strings.Cut(rest, " ")
	var e Event
	var err error
	if e.Time, err = number(at, 64); err != nil {
		return e, fmt.Errorf("time: %w", err)
	}
	n, err := number(cpu, 32)
	if err != nil {
		return e, fmt.Errorf("CPU: %w", err)
	}
	e.CPU = int32(n)
	for k := Kind(1); k < nrKinds; k++ {
		if kinds[k].name == name {
			e.Kind = k
		}
	}
	if e.Kind == 0 {
		return e, fmt.Errorf("%q: no such kind of event", clip(name))
	}
	for _, f := range kinds[e.Kind].fields {
		value, ok := strings.CutPrefix(rest, f.key+"=")
		if !ok {
			if f.slot == detailSlot {
				continue // empty
			}
			return e, fmt.Errorf("%s: want %s= at %q", name, f.key, clip(rest))
		}
		if f.slot == detailSlot {
			if e.Detail, err = unquote(value); err != nil {
				return e, fmt.Errorf("%s: %s: %w", name, f.key, err)
			}
			rest = ""
			continue
		}
		var word string
		word, rest, _ = strings.Cut(value, " ")
		v, err := f.parse(word)
		if err != nil {
			return e, fmt.Errorf("%s: %s: %w", name, f.key, err)
		}
		e.set(f.slot, v)
	}
	if rest != "" {
		return e, fmt.Errorf("%s: %q is too much", name, clip(rest))
	}
	return e, nil
}

// parse reads a field's number.
func (f *field) parse(word string) (int64, error) {
	if f.none && word == "-" {
		return -1, nil
	}
	if f.slot == modeSlot {
		for m := coremode.ST; m <= coremode.Out; m++ {
			if word == m.String() {
				return int64(m), nil
			}
		}
	}
	return number(word, f.slot.bits())
}

func number(s string, bits int) (int64, error) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%q: want a number of %d bits", clip(s), bits)
	}
	return n, nil
}

func unquote(s string) (string, error) {
	if strings.HasPrefix(s, `"`) {
		if text, err := strconv.Unquote(s); err == nil {
			return text, nil
		}
	}
	return "", fmt.Errorf("%q: want text between double quotes", clip(s))
}

// clip bounds text from outside in errors.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
