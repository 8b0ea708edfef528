// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// width is what List and Show keep within.
const width = 80

// List prints the editions and the switches, within 80 columns.
func List(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "A policy is EDITION[+SWITCH=VALUE...], such as v7.3+smt-asym-packing=on.\n\nEDITIONS\n")
	for _, e := range editions {
		fmt.Fprintf(out, "  %-6s %s\n", e.Name, e.Kernel)
		wrap(out, 9, e.Source)
	}
	fmt.Fprintf(out, "  %-6s %s\n", "sibyl", "the project's own policy; comes with `run`")
	fmt.Fprintf(out, "\nSWITCHES\n")
	for i := range switches {
		s := &switches[i]
		fmt.Fprintf(out, "  %s\n", s.Name)
		wrap(out, 4, s.What)
		wrap(out, 4, "in "+s.Function+"; mechanisms "+s.Section)
		for _, v := range s.Values {
			fmt.Fprintf(out, "    %-10s", v.Name)
			wrapAfter(out, 14, 15, v.What)
			wrap(out, 15, "kernels: "+v.Kernels)
		}
	}
	return out.Flush()
}

// Show prints what the policy named s does: its edition, the value of every
// switch, and the rules that differ from 7.3.4, within 80 columns. Errors are
// Parse's and the writer's.
func Show(w io.Writer, s string) error {
	p, err := Parse(s)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n\n", p.Name)
	for _, e := range editions {
		if e.Name == p.Edition {
			fmt.Fprintf(out, "edition   %s: %s\n", e.Name, e.Kernel)
			wrap(out, 10, e.Source)
		}
	}
	base, err := start(p.Edition)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nSWITCH             VALUE     FROM      RULE\n")
	for i := range switches {
		sw := &switches[i]
		now, from := sw.Current(&p), "edition"
		if now == "" {
			now = "-"
		}
		for _, set := range p.Set {
			if set.Switch == sw.Name {
				from = "switch"
			}
		}
		fmt.Fprintf(out, "%-18s %-9s %-9s ", sw.Name, now, from)
		what := "not in this edition"
		if v := sw.value(now); v != nil {
			what = v.What
		}
		wrapAfter(out, 39, 39, what)
	}
	fmt.Fprintf(out, "\nDIFFERENT FROM 7.3.4\n")
	any := false
	for i := range rules {
		r := &rules[i]
		if !r.on(&p) {
			continue
		}
		any = true
		known := r.in[p.Edition]
		if !r.on(&base) {
			known = "by switch"
		}
		row := "-"
		if r.row > 0 {
			row = fmt.Sprint(r.row)
		}
		fmt.Fprintf(out, "  %2s  %s (%s)\n", row, r.fn, known)
		wrap(out, 6, r.what)
	}
	if !any {
		fmt.Fprintf(out, "  no rule of the editions' table; see the switches above\n")
	} else {
		fmt.Fprintf(out, "numbers are rows of mechanisms 0.3\n")
	}
	return out.Flush()
}

// wrap prints text indented by indent columns, broken before column 80.
func wrap(w io.Writer, indent int, text string) { wrapAfter(w, 0, indent, text) }

// wrapAfter prints text from column at on (what stands before is printed
// already), later lines indented by indent.
func wrapAfter(w io.Writer, at, indent int, text string) {
	line, first := at, true
	if at < indent {
		fmt.Fprint(w, strings.Repeat(" ", indent-at))
		line = indent
	}
	for word := range strings.FieldsSeq(text) {
		if !first && line+1+len(word) > width {
			fmt.Fprintf(w, "\n%s", strings.Repeat(" ", indent))
			line, first = indent, true
		}
		if !first {
			fmt.Fprint(w, " ")
			line++
		}
		fmt.Fprint(w, word)
		line += len(word)
		first = false
	}
	fmt.Fprintln(w)
}
