// SPDX-License-Identifier: Apache-2.0

package published

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// JSON writes the report in the form that scripts rely on.
func (r *Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// sections order the roles as a reader should meet them: what was predicted
// first, then what the model was told.
var sections = []struct {
	role  Role
	title string
}{
	{Predicted, "predicted: computed without the row"},
	{Fitted, "fitted: a parameter was chosen so that the row comes out"},
	{Input, "input: the row was given to the model"},
	{Derived, "derived: an identity of other rows, counts nothing"},
	{Ordinal, "ordinal: only the order is scored"},
	{Unmodelled, "unmodelled"},
}

// Text writes the report as tables that fit 80 columns.
func (r *Report) Text(w io.Writer) error {
	p := &printer{w: w}
	var tables []string
	for _, l := range r.Rows {
		if len(tables) == 0 || tables[len(tables)-1] != l.Table {
			known := false
			for _, t := range tables {
				known = known || t == l.Table
			}
			if !known {
				tables = append(tables, l.Table)
			}
		}
	}
	for _, t := range tables {
		r.table(p, t)
	}
	r.gains(p)
	r.ablations(p)
	r.parameters(p)
	for _, warn := range r.Warnings {
		p.f("warning: %s\n", warn)
	}
	return p.err
}

func (r *Report) table(p *printer, table string) {
	p.f("%s\n%s\n", table, strings.Repeat("=", len(table)))
	for _, s := range sections {
		var lines []Line
		for _, l := range r.Rows {
			if l.Table == table && l.Role == s.role {
				lines = append(lines, l)
			}
		}
		if len(lines) == 0 {
			continue
		}
		p.f("\n%s\n", s.title)
		if s.role == Unmodelled {
			for _, l := range lines {
				p.f("  %s %s: %s\n", l.Configuration, l.Metric, l.Why)
			}
			continue
		}
		p.f("  %-37s %16s %16s %7s\n", "", "published", "simulated", "error")
		group := ""
		for _, l := range lines {
			if g := heading(l); g != group {
				group = g
				p.f("  %s\n", g)
			}
			mark := ""
			if s.role == Predicted && !l.Within {
				mark = " !"
			}
			p.f("    %-35s %16s %16s %6.2f%%%s\n", name(l), pm(l.Published), pm(*l.Simulated), 100**l.Error, mark)
			if l.OtherShare != nil && strings.HasPrefix(l.Table, "olympus") {
				p.f("      q, share on second threads: %s\n", pm(*l.OtherShare))
			}
		}
	}
	p.f("\n")
}

func heading(l Line) string {
	if strings.HasPrefix(l.Table, "thunderx2") {
		return l.Workload + ", " + l.Unit
	}
	return l.Workload + ", " + l.Configuration
}

func name(l Line) string {
	if strings.HasPrefix(l.Table, "thunderx2") {
		return l.Configuration
	}
	return l.Metric + ", " + l.Unit
}

// pm prints a mean with its spread.
func pm(s Stat) string {
	if s.SD == nil {
		return number(s.Mean)
	}
	return number(s.Mean) + " +-" + number(*s.SD)
}

// number prints about five digits.
func number(x float64) string {
	switch a := abs(x); {
	case a >= 10_000:
		return fmt.Sprintf("%.0f", x)
	case a >= 100:
		return fmt.Sprintf("%.1f", x)
	case a >= 1:
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.4f", x)
}

// gains prints what a reviewer looks for first: what the series brings.
func (r *Report) gains(p *printer) {
	find := func(w, c string) *Line {
		for i := range r.Rows {
			l := &r.Rows[i]
			if l.Table == "olympus-gemm" && l.Workload == w && l.Configuration == c && l.Simulated != nil {
				return l
			}
		}
		return nil
	}
	first := true
	for _, w := range []string{obMain[0], nvplMain[0]} {
		base, series := find(w, obMain[1]), find(w, obSeries[1])
		if base == nil || series == nil {
			continue
		}
		if first {
			p.f("gain of the series (olympus-gemm)\n")
			first = false
		}
		p.f("  %-28s published %+.2f%%  simulated %+.2f%%\n", w,
			100*(series.Published.Mean/base.Published.Mean-1), 100*(series.Simulated.Mean/base.Simulated.Mean-1))
	}
	if !first {
		p.f("\n")
	}
}

func (r *Report) ablations(p *printer) {
	if len(r.Ablations) == 0 {
		return
	}
	p.f("ablations: the same runs with one assumption changed\n")
	group := ""
	for _, a := range r.Ablations {
		if a.Metric != "throughput" && a.Name != "openblas-noise" {
			continue
		}
		if g := a.Name + ": " + a.About; g != group {
			group = g
			p.f("  %s\n", g)
		}
		p.f("    %-44s %16s  (%+.2f%%)\n", short(a), pm(a.Simulated), 100*(a.Simulated.Mean/a.Published-1))
	}
	p.f("\n")
}

func short(a AblationLine) string {
	lib, _, _ := strings.Cut(a.Workload, "-")
	s := lib + ", " + a.Configuration
	if a.Metric != "throughput" {
		s += ", " + a.Unit
	}
	return s
}

func (r *Report) parameters(p *printer) {
	simulated := false
	for i := range r.Rows {
		simulated = simulated || r.Rows[i].Simulated != nil
	}
	if !simulated {
		return // no parameter was used
	}
	p.f("parameters\n")
	for _, q := range r.Parameters {
		p.f("  %-34s %10d %-8s %s\n", q.Name, q.Value, q.Unit, kindOf(q.Source))
		if q.FittedOn != "" {
			p.f("    on %s", q.FittedOn)
			if q.Residual != 0 {
				p.f(" (residual %+.4f%%)", float64(q.Residual)/1e4)
			}
			p.f("\n")
		}
	}
}

func kindOf(source string) string {
	k, _, _ := strings.Cut(source, ":")
	k, _, _ = strings.Cut(k, " ")
	return k
}

// printer keeps the first error of many writes.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
