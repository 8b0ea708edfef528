// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// textWidth is what a terminal and a cover letter hold.
const textWidth = 80

// pair holds the comparisons of one policy with the base.
type pair struct {
	base, next string
	rows       []Comparison
}

// pairs splits comparisons by policy, in their order.
func pairs(cs []Comparison) []pair {
	var out []pair
	for _, c := range cs {
		if k := len(out); k == 0 || out[k-1].base != c.Base || out[k-1].next != c.New {
			out = append(out, pair{base: c.Base, next: c.New})
		}
		p := &out[len(out)-1]
		p.rows = append(p.rows, c)
	}
	return out
}

// writeText writes a table a pair of policies, no wider than textWidth unless
// a name is. Nothing is said by colour.
func (r *Report) writeText(w io.Writer) error {
	var b strings.Builder
	used := map[Verdict]bool{} // looked up by verdict, never ranged over
	for i, p := range pairs(r.Comparisons) {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "base  %s\nnew   %s\nruns  %s\n\n", p.base, p.next, runs(p.rows))
		table := [][]string{{"metric", "base", "new", "delta", "95% interval", "verdict"}}
		for _, c := range p.rows {
			used[c.Verdict] = true
			table = append(table, []string{
				label(&c), meanSD(c.BaseMean, c.BaseSD), meanSD(c.NewMean, c.NewSD),
				delta(&c), interval(&c), mark(c.Verdict),
			})
		}
		writeTable(&b, table)
	}
	if used[Indistinguishable] || used[Identical] {
		b.WriteByte('\n')
	}
	if used[Indistinguishable] {
		fmt.Fprintf(&b, "~ indistinguishable: the interval is not wholly beyond %s either way\n", percent(r.minEffect, false))
	}
	if used[Identical] {
		b.WriteString("= identical: every run gave the same value\n")
	}
	if len(r.Warnings) > 0 && b.Len() > 0 {
		b.WriteByte('\n')
	}
	for _, x := range r.Warnings {
		wrap(&b, "warning: "+x, textWidth)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// label names a metric with its unit, if that says more than the name.
func label(c *Comparison) string {
	switch c.Unit {
	case "", "count", "share":
		return c.Metric
	}
	return c.Metric + " " + c.Unit
}

func mark(v Verdict) string {
	switch v {
	case Indistinguishable:
		return "~"
	case Identical:
		return "="
	}
	return string(v)
}

// runs says how many runs stand behind a pair's rows.
func runs(rows []Comparison) string {
	low, high, paired := rows[0].N, rows[0].N, 0
	for _, c := range rows {
		low, high = min(low, c.N), max(high, c.N)
		if c.Paired {
			paired++
		}
	}
	s := strconv.Itoa(low)
	if high != low {
		s += " to " + strconv.Itoa(high)
	}
	switch {
	case paired == len(rows):
		return s + " of each, paired by seed"
	case paired == 0:
		return s + " of each, not paired"
	}
	return s + " of each, some paired by seed"
}

// writeTable aligns columns, the first and the last to the left. If the rows
// do not fit, each becomes a paragraph.
func writeTable(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	total := 2 * (len(width) - 1)
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, n := range width {
		total += n
	}
	if total > textWidth {
		writeList(b, rows)
		return
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i == 0 || i == len(row)-1 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func writeList(b *strings.Builder, rows [][]string) {
	for _, row := range rows[1:] {
		b.WriteString(row[0] + "\n")
		for i, cell := range row[1:] {
			fmt.Fprintf(b, "    %-14s %s\n", rows[0][i+1], cell)
		}
	}
}

// wrap breaks a line at blanks, with an indent for what follows.
func wrap(b *strings.Builder, s string, width int) {
	col := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case col+1+n > width:
			b.WriteString("\n    ")
			col = 4
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
	}
	b.WriteByte('\n')
}

// number gives four significant digits.
func number(x float64) string {
	a := math.Abs(x)
	switch {
	case x == 0:
		return "0"
	case a >= 1e6 || a < 1e-4:
		return strconv.FormatFloat(x, 'e', 3, 64)
	case a >= 1000:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	decimals := 3
	for limit := 10.0; a >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	for limit := 1.0; a < limit && decimals < 8; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// meanSD gives a mean with its sd in per cent of it.
func meanSD(mean, sd float64) string {
	switch {
	case sd == 0:
		return number(mean) + "±0%"
	case mean == 0:
		return "0±" + number(sd)
	}
	rel := math.Abs(sd/mean) * 100
	digits := 1
	if rel >= 9.95 {
		digits = 0
	}
	if rel > 999 {
		return number(mean) + "±" + number(sd)
	}
	return number(mean) + "±" + strconv.FormatFloat(rel, 'f', digits, 64) + "%"
}

func percent(x float64, sign bool) string {
	x *= 100
	a := math.Abs(x)
	s := ""
	switch {
	case a >= 1e6:
		s = strconv.FormatFloat(x, 'e', 2, 64)
	case a >= 99.95:
		s = strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 9.995:
		s = strconv.FormatFloat(x, 'f', 1, 64)
	default:
		s = strconv.FormatFloat(x, 'f', 2, 64)
	}
	if sign && x >= 0 {
		s = "+" + s
	}
	return s + "%"
}

func delta(c *Comparison) string {
	if !c.DeltaDefined {
		return "n/a"
	}
	return percent(c.Delta, true)
}

func interval(c *Comparison) string {
	if !c.DeltaDefined || !c.IntervalDefined {
		return "n/a"
	}
	return strings.TrimSuffix(percent(c.CILow, true), "%") + " " + percent(c.CIHigh, true)
}

func pValue(c *Comparison) string {
	switch {
	case !c.IntervalDefined:
		return "n/a"
	case c.P < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(c.P, 'f', 3, 64)
}
