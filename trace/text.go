// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"sibyl/coremode"
)

// TextWriter is a Sink that writes the stream as text, one line an event, the
// same bytes for the same stream:
//
//	trace 1
//	source "sibyl simulate"
//	cpus 4
//	core 0 0 1 1
//	thread 0 1 0 1
//	task 100 "init"
//	begin 0
//	1000 0 fork task=0 by=- on=2
//	1000 2 switch prev=- next=0 runnable=0
//	end 2000
//
// An event is its time in ns, its CPU, its kind and the fields of the kind; - is
// none (idle, no waker). A task line is a PID and a name; before begin it is
// of the header, after it of NewTask. Fields that a kind does not use are not
// written. Names and paths are quoted as Go does.
type TextWriter struct {
	w    *bufio.Writer
	line []byte
	err  error
}

// NewTextWriter returns a writer to w, which the caller closes after End.
func NewTextWriter(w io.Writer) *TextWriter { return &TextWriter{w: bufio.NewWriterSize(w, 1<<16)} }

// Begin writes the header.
func (t *TextWriter) Begin(h Header) error {
	b := append(t.line[:0], "trace 1\nsource "...)
	b = strconv.AppendQuote(b, h.Source)
	b = fmt.Appendf(b, "\ncpus %d\n", h.NrCPUs)
	for _, list := range []struct {
		key    string
		values []int
	}{{"core", h.Core}, {"thread", h.Thread}} {
		if list.values == nil {
			continue
		}
		b = append(b, list.key...)
		for _, v := range list.values {
			b = append(b, ' ')
			b = strconv.AppendInt(b, int64(v), 10)
		}
		b = append(b, '\n')
	}
	if h.End != 0 {
		b = fmt.Appendf(b, "until %d\n", h.End)
	}
	if h.PerCPU {
		b = append(b, "percpu\n"...)
	}
	for _, task := range h.Tasks {
		b = appendTask(b, task)
	}
	b = fmt.Appendf(b, "begin %d\n", h.Start)
	t.write(b)
	return t.result()
}

func appendTask(b []byte, task Task) []byte {
	b = fmt.Appendf(b, "task %d ", task.PID)
	return append(strconv.AppendQuote(b, task.Name), '\n')
}

// NewTask writes a task.
func (t *TextWriter) NewTask(task Task) { t.write(appendTask(t.line[:0], task)) }

// Event writes an event.
func (t *TextWriter) Event(e Event) {
	if e.Kind == 0 || e.Kind >= nrKinds {
		if t.err == nil {
			t.err = fmt.Errorf("event at %d ns has no known kind: %d", e.Time, e.Kind)
		}
		return
	}
	t.write(append(e.AppendText(t.line[:0]), '\n'))
}

// AppendText appends the event as its line of text, without the end of line. The
// kind must be known.
func (e *Event) AppendText(b []byte) []byte {
	b = strconv.AppendInt(b, e.Time, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(e.CPU), 10)
	b = append(b, ' ')
	k := &kinds[e.Kind]
	b = append(b, k.name...)
	for _, f := range k.fields {
		v := e.get(f.slot)
		if f.slot == detailSlot && e.Detail == "" {
			continue
		}
		b = append(b, ' ')
		b = append(b, f.key...)
		b = append(b, '=')
		switch {
		case f.slot == detailSlot:
			b = strconv.AppendQuote(b, e.Detail)
		case f.slot == modeSlot && v >= 0 && v <= int64(coremode.Out):
			b = append(b, coremode.Mode(v).String()...)
		case f.none && v == -1:
			b = append(b, '-')
		default:
			b = strconv.AppendInt(b, v, 10)
		}
	}
	return b
}

// End writes the end of the stream and flushes.
func (t *TextWriter) End(last int64) error {
	t.write(fmt.Appendf(t.line[:0], "end %d\n", last))
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	return t.result()
}

func (t *TextWriter) write(b []byte) {
	t.line = b[:0]
	if t.err == nil {
		_, t.err = t.w.Write(b)
	}
}

func (t *TextWriter) result() error {
	if t.err != nil {
		return fmt.Errorf("write trace text: %w", t.err)
	}
	return nil
}
