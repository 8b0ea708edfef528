// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sibyl/cpumask"
)

// width is how wide the text may be.
const width = 80

// WriteJSON writes the report as JSON. Keys may be added, never renamed.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteText writes the report as text of at most 80 columns.
func (r *Report) WriteText(w io.Writer) error {
	var p page
	r.head(&p)
	p.title("What this kernel has")
	backports := false
	for _, m := range r.Mechanisms {
		star := ""
		if m.ByVersion && m.Has == No {
			star, backports = " *", true
		}
		fmt.Fprintf(&p, "  %-38s %s%s\n", m.Title, m.Answer(), star)
		p.wrap(strings.Repeat(" ", 6), strings.Repeat(" ", 6), m.Why)
	}
	if backports {
		p.wrap("  * ", "    ", "by version; a backport cannot be seen from here")
	}
	p.title("Findings")
	for _, f := range r.Findings {
		p.wrap(fmt.Sprintf("  %-8s", f.Level), strings.Repeat(" ", 10), f.Text)
		p.wrap(strings.Repeat(" ", 10)+"evidence: ", strings.Repeat(" ", 10), f.Why)
	}
	if len(r.Remedies) > 0 {
		p.title("Remedies, the least invasive first")
	} else {
		p.title("Remedies")
		p.wrap("  ", "  ", r.noRemedy())
	}
	for i, m := range r.Remedies {
		p.wrap(fmt.Sprintf("%3d. ", i+1), "     ", m.Text)
		p.wrap("     for ", "     ", strings.Join(m.For, ", ")+"; needs "+m.Needs+". "+m.Cost)
		for _, c := range m.Commands {
			p.command("         ", c)
		}
	}
	if len(r.System.Unread) > 0 {
		p.title("What could not be read")
	}
	for _, u := range r.System.Unread {
		text := u.What + ": " + u.Why
		if u.Remedy != "" {
			text += "; " + u.Remedy
		}
		p.wrap("  ", "    ", text)
	}
	if len(r.Warnings) > 0 {
		p.title("Warnings about the machine description")
	}
	for _, warning := range r.Warnings {
		p.wrap("  ", "    ", clip(warning))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// noRemedy says why there is none.
func (r *Report) noRemedy() string {
	worst := OK
	for _, f := range r.Findings {
		if f.Level == Problem || f.Level == Missing && worst != Problem {
			worst = f.Level
		}
	}
	switch {
	case worst == Problem:
		return "None is known for what was found."
	case r.System.Elsewhere:
		return "They depend on the kernel: run sibyl doctor on the machine itself, or with --root on a copy of its /sys and /proc."
	case worst == Missing:
		return "None is known to be needed; what is unknown above may hide a need."
	}
	return "None is needed."
}

func (r *Report) head(p *page) {
	m, s := &r.Machine, r.System
	line := func(key, format string, args ...any) {
		p.wrap(fmt.Sprintf("%-10s", key), strings.Repeat(" ", 10), fmt.Sprintf(format, args...))
	}
	threads := count(m.ThreadsPerCore, "thread")
	if m.MinThreadsPerCore < m.ThreadsPerCore {
		threads = fmt.Sprintf("%d to %s", m.MinThreadsPerCore, threads)
	}
	line("machine", "%s: %s, %s, %s a core, %s", clip(m.Name), count(m.CPUs, "CPU"), count(m.Cores, "core"), threads, count(m.Nodes, "node"))
	line("capacity", "%s (%s)", span(m.MinCapacity, m.MaxCapacity), strings.Join(m.CapacitySources, ", "))
	line("priority", "%s (%s)", span(m.MinPriority, m.MaxPriority), strings.Join(m.PrioritySources, ", "))
	for i, k := range m.Kinds {
		if len(m.Kinds) < 2 {
			break
		}
		key, name := "kinds", "CPUs "
		if i > 0 {
			key = ""
		}
		if k.Type != "" {
			name = clip(k.Type) + ": CPUs "
		}
		line(key, "%s%s, capacity %s, priority %s", name, cpumask.FormatList(k.CPUs), span(k.MinCapacity, k.MaxCapacity), span(k.MinPriority, k.MaxPriority))
	}
	if s.Elsewhere {
		line("kernel", "unknown: not this machine")
		return
	}
	line("kernel", "%s", orUnknown(s.Release))
	line("SMT", "active: %s, control: %s", s.SMT.Active, orUnknown(s.SMT.Control))
	ext := string(s.SchedExt.Present)
	if s.SchedExt.State != "" {
		ext += ", " + s.SchedExt.State
	}
	if s.SchedExt.Ops != "" {
		ext += " (" + s.SchedExt.Ops + ")"
	}
	line("sched_ext", "%s; BTF: %s", ext, s.BTF.Present)
	options := append([]string{}, s.Isolated...)
	if s.BootOption != "" {
		options = append(options, "sched_smt_asym_packing="+s.BootOption)
	}
	if len(options) > 0 {
		line("booted", "with %s", strings.Join(options, " "))
	}
	line("rights", "trace: %s; load BPF programs: %s", s.Rights.CanTrace(), s.Rights.CanLoad())
}

// span formats a range of numbers.
func span(lo, hi int) string {
	if lo == hi {
		return fmt.Sprint(hi)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orUnknown(s string) string {
	if s == "" {
		return string(Unknown)
	}
	return s
}

// page is text that is being laid out.
type page struct{ bytes.Buffer }

func (p *page) title(s string) { fmt.Fprintf(p, "\n%s\n", s) }

// wrap writes words after first and begins further lines with indent. A word
// that is wider than a line is cut.
func (p *page) wrap(first, indent, words string) {
	p.WriteString(first)
	at := utf8.RuneCountInString(first)
	empty := true
	for word := range strings.FieldsSeq(words) {
		for {
			n := utf8.RuneCountInString(word)
			space := 0
			if !empty {
				space = 1
			}
			if at+space+n <= width {
				p.WriteString(strings.Repeat(" ", space) + word)
				at += space + n
				empty = false
				break
			}
			if empty && at <= len(indent) { // not even on a line of its own
				runes := []rune(word)
				p.WriteString(string(runes[:width-at]))
				word = string(runes[width-at:])
			}
			p.WriteString("\n" + indent)
			at, empty = len(indent), true
		}
	}
	p.WriteByte('\n')
}

// command writes a shell command. One that is too long goes on at the first
// column of the next line after a backslash, so that it can be pasted.
func (p *page) command(indent, s string) {
	line := indent + s
	for len(line) > width {
		p.WriteString(line[:width-1] + "\\\n")
		line = line[width-1:]
	}
	p.WriteString(line + "\n")
}
