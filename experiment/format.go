// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Format is a form in which a report is written.
type Format string

// The formats. All but Text keep their columns and keys: more may be added,
// none is renamed.
const (
	Text     Format = "text"
	Markdown Format = "markdown"
	CSV      Format = "csv"
	JSON     Format = "json"
)

// Formats lists the formats.
func Formats() []Format { return []Format{Text, Markdown, CSV, JSON} }

// ParseFormat returns the format that s names.
func ParseFormat(s string) (Format, error) {
	if f := Format(s); slices.Contains(Formats(), f) {
		return f, nil
	}
	names := make([]string, 0, 4)
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("parse format %q: want one of %s", s, strings.Join(names, ", "))
}

// Write writes the report in one of the formats.
func (r *Report) Write(w io.Writer, f Format) error {
	switch f {
	case Markdown:
		return r.writeMarkdown(w)
	case CSV:
		return r.writeCSV(w)
	case JSON:
		return r.writeJSON(w)
	case Text, "":
		return r.writeText(w)
	}
	return fmt.Errorf("write comparison: unknown format %q", f)
}

// writeJSON writes what scripts rely on: samples, comparisons and warnings.
func (r *Report) writeJSON(w io.Writer) error {
	out := *r
	// A report that was not made by Compare may hold nil.
	out.Samples = append([]Sample{}, r.Samples...)
	out.Comparisons = append([]Comparison{}, r.Comparisons...)
	out.Warnings = append([]string{}, r.Warnings...)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(&out); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// writeCSV writes the comparisons with all digits, under the names of the
// JSON keys. It carries no warnings: a caller shows them elsewhere.
func (r *Report) writeCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	rows := [][]string{{
		"metric", "unit", "base", "new", "n", "base_mean", "base_sd", "new_mean", "new_sd",
		"delta", "ci_low", "ci_high", "p", "paired", "verdict",
	}}
	for _, c := range r.Comparisons {
		row := []string{
			c.Metric, c.Unit, c.Base, c.New, strconv.Itoa(c.N), num(c.BaseMean), num(c.BaseSD), num(c.NewMean), num(c.NewSD),
			num(c.Delta), num(c.CILow), num(c.CIHigh), num(c.P), strconv.FormatBool(c.Paired), string(c.Verdict),
		}
		// What is not known is empty, not a number.
		if !c.DeltaDefined {
			row[9], row[10], row[11] = "", "", ""
		}
		if !c.IntervalDefined {
			row[10], row[11], row[12] = "", "", ""
		}
		rows = append(rows, row)
	}
	if err := cw.WriteAll(rows); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// writeMarkdown writes one table a pair of policies.
func (r *Report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	esc := strings.NewReplacer("|", `\|`, "\n", " ")
	for i, p := range pairs(r.Comparisons) {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "**%s** against **%s**, %s\n\n", esc.Replace(p.next), esc.Replace(p.base), runs(p.rows))
		b.WriteString("| metric | unit | base | new | delta | 95% interval | p | verdict |\n")
		b.WriteString("|---|---|---:|---:|---:|---:|---:|---|\n")
		for _, c := range p.rows {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", esc.Replace(c.Metric), esc.Replace(c.Unit),
				meanSD(c.BaseMean, c.BaseSD), meanSD(c.NewMean, c.NewSD), delta(&c), interval(&c), pValue(&c), c.Verdict)
		}
	}
	if len(r.Warnings) > 0 {
		b.WriteByte('\n')
	}
	for _, x := range r.Warnings {
		fmt.Fprintf(&b, "- warning: %s\n", esc.Replace(x))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}
