// SPDX-License-Identifier: Apache-2.0

package published

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sibyl/experiment"
	"sibyl/fitted"
)

// Stat is a mean with its spread over runs.
type Stat struct {
	Mean float64  `json:"mean"`
	SD   *float64 `json:"sd"` // nil: not known
	Runs int      `json:"runs"`
}

// Tolerance is how far a row may be off and who says so.
type Tolerance struct {
	Value  float64 `json:"value"` // relative
	Source string  `json:"source"`
}

// Line is one published row beside the simulated one.
type Line struct {
	Table         string    `json:"table"`
	Machine       string    `json:"machine"`
	Workload      string    `json:"workload"`
	Configuration string    `json:"configuration"`
	Metric        string    `json:"metric"`
	Unit          string    `json:"unit"`
	Policy        string    `json:"policy"`
	Published     Stat      `json:"published"`
	Simulated     *Stat     `json:"simulated"` // nil if unmodelled
	Error         *float64  `json:"error"`     // simulated/published-1
	Tolerance     Tolerance `json:"tolerance"`
	// WithinSD tells whether the simulated mean is within the published sd;
	// nil if none was published.
	WithinSD *bool  `json:"within_sd"`
	Within   bool   `json:"within"` // within the published sd or the tolerance
	Role     Role   `json:"role"`
	Why      string `json:"why"`
	// OtherShare is the share q of running time on second threads, and its
	// sd over runs: an output of the simulated scheduler.
	OtherShare *Stat `json:"other_share,omitempty"`
}

// AblationLine is one metric of one ablation.
type AblationLine struct {
	Name          string  `json:"name"`
	Table         string  `json:"table"`
	Workload      string  `json:"workload"`
	Configuration string  `json:"configuration"`
	Metric        string  `json:"metric"`
	Unit          string  `json:"unit"`
	Simulated     Stat    `json:"simulated"`
	Published     float64 `json:"published"`
	About         string  `json:"about"`
}

// Report is what `reproduce` gives.
type Report struct {
	Rows       []Line             `json:"rows"`
	Ablations  []AblationLine     `json:"ablations"`
	Parameters []fitted.Parameter `json:"parameters"`
	Warnings   []string           `json:"warnings"`
}

// Options choose what is reproduced. The zero value is every modelled table
// with its ablations.
type Options struct {
	Tables      []string
	NoAblations bool
	Seeds       int // per run; 0: as the mapping says
	Workers     int
	Parameters  fitted.Set // nil: the embedded ones
	Progress    func(done, total int)
}

// Tables lists the tables of results.csv in its order and tells which of them
// the mapping has runs for.
func Tables() (all, modelled []string, err error) {
	rows, err := Rows()
	if err != nil {
		return nil, nil, err
	}
	m, err := Map()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		if !slices.Contains(all, r.Table) {
			all = append(all, r.Table)
		}
		if m.find(r) != nil && !slices.Contains(modelled, r.Table) {
			modelled = append(modelled, r.Table)
		}
	}
	return all, modelled, nil
}

// runKey orders results: one entry a setup, or a setup under an ablation.
type runKey struct{ ablation, run string }

// Reproduce simulates the published rows of the chosen tables. If ctx ends
// first, what is done comes as a report together with the error.
func Reproduce(ctx context.Context, o Options) (*Report, error) {
	rows, err := Rows()
	if err != nil {
		return nil, err
	}
	m, err := Map()
	if err != nil {
		return nil, err
	}
	all, modelled, err := Tables()
	if err != nil {
		return nil, err
	}
	if len(o.Tables) == 0 {
		o.Tables = modelled
	}
	for _, t := range o.Tables {
		if !slices.Contains(all, t) {
			return nil, fmt.Errorf("reproduce table %q: unknown; known are %s", t, strings.Join(all, ", "))
		}
	}
	if o.Parameters == nil {
		o.Parameters = fitted.Default()
	}
	results, stopped := simulate(ctx, o, m, rows)
	if results == nil {
		return nil, stopped
	}
	rep := &Report{Rows: []Line{}, Ablations: []AblationLine{}, Parameters: o.Parameters, Warnings: []string{}}
	if stopped != nil {
		rep.Warnings = append(rep.Warnings, "not complete: "+stopped.Error())
	}
	for _, r := range rows {
		if slices.Contains(o.Tables, r.Table) {
			rep.Rows = append(rep.Rows, line(r, m, results))
		}
	}
	rep.Ablations = append(rep.Ablations, ablationLines(o, m, rows, results)...)
	return rep, stopped
}

// simulate runs what the chosen tables need, all in one batch so that every
// core is busy to the end, longest runs first.
func simulate(ctx context.Context, o Options, m *Mapping, rows []Row) (map[runKey][]values, error) {
	var list []job
	var keys []runKey
	var err error
	add := func(k runKey, ch change, seeds int) {
		s := m.Runs[k.run]
		switch {
		case seeds == 0 && o.Seeds > 0:
			seeds = o.Seeds
		case seeds == 0:
			seeds = s.Seeds
		case o.Seeds > 0:
			seeds = min(seeds, o.Seeds)
		}
		if err != nil {
			return
		}
		list, err = jobs(list, k.run, s, o.Parameters, ch, seeds)
		for len(keys) < len(list) {
			keys = append(keys, k)
		}
	}
	seen := map[string]bool{}
	for _, r := range rows {
		if c := m.find(r); c != nil && slices.Contains(o.Tables, r.Table) && !seen[c.Run] {
			seen[c.Run] = true
			add(runKey{run: c.Run}, change{}, 0)
		}
	}
	if !o.NoAblations {
		for _, a := range ablations() {
			if !slices.Contains(o.Tables, a.table) {
				continue
			}
			for _, run := range a.runs {
				seeds, ch := a.seeds, a.ch
				if seeds == 0 {
					seeds = ablationSeeds
				}
				if !a.whole {
					ch.set = append([]string{"fill=1.5s"}, ch.set...)
				}
				add(runKey{a.name, run}, ch, seeds)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	got, err := batch(ctx, list, o.Workers, o.Progress)
	if stopped, ok := errors.AsType[*experiment.StoppedError](err); err != nil && (!ok || len(stopped.Done) == 0) {
		return nil, err
	}
	results := map[runKey][]values{}
	for i, v := range got {
		if v != nil { // nil: not run, because the batch was stopped
			results[keys[i]] = append(results[keys[i]], v)
		}
	}
	return results, err
}

// missing says why the model has no run for a table.
func missing(table string) string {
	switch table {
	case "altra-pipe":
		return "the workload sched-pipe and its per-kernel path lengths are not in this version"
	case "verarubin-gemm":
		return "no run is described: the rules stack threads under v7.1, but NO ASYM's 3.5 per cent has no cause in them"
	case "verarubin-mediawiki":
		return "the workload web is not in this version"
	case "nohz-ilb":
		return "the simulator does not raise misfit status, without which the balancer's kicks on Vera are too few"
	}
	return "no run of the simulator is described for this row"
}

// stat summarises one metric over runs; ok is false where a run lacks it.
func stat(vs []values, metric, unit string) (s Stat, ok bool) {
	var xs []float64
	for _, v := range vs {
		x, has := v[metric]
		if !has {
			return Stat{}, false
		}
		xs = append(xs, scale(x, unit))
	}
	if len(xs) == 0 {
		return Stat{}, false
	}
	sum := experiment.Summarize(xs)
	s = Stat{Mean: sum.Mean, Runs: sum.N}
	if sum.N > 1 {
		s.SD = &sum.SD
	}
	return s, true
}

// line puts a published row beside what was simulated for it.
func line(r Row, m *Mapping, results map[runKey][]values) Line {
	l := Line{
		Table: r.Table, Machine: r.Machine, Workload: r.Workload, Configuration: r.Configuration,
		Metric: r.Metric, Unit: r.Unit, Role: Unmodelled,
		Published: Stat{Mean: r.Mean, Runs: r.Runs},
	}
	if r.HasSD {
		l.Published.SD = &r.SD
	}
	c := m.find(r)
	if c == nil {
		l.Why = missing(r.Table)
		return l
	}
	role, ok := c.Roles[r.Metric]
	if !ok {
		l.Why = "the run does not give this metric"
		return l
	}
	l.Policy, l.Why = m.Runs[c.Run].Policy, c.Why
	s, ok := stat(results[runKey{run: c.Run}], r.Metric, r.Unit)
	if !ok {
		l.Why = "no run that is done gives this metric"
		return l
	}
	l.Role, l.Simulated = role, &s
	if r.Mean != 0 {
		e := s.Mean/r.Mean - 1
		l.Error = &e
	}
	l.Tolerance = Tolerance{Value: c.Tolerance, Source: "hardware.md 3.4"}
	if r.HasSD {
		w := abs(s.Mean-r.Mean) <= r.SD
		l.WithinSD = &w
		l.Within = w
		if r.Mean != 0 && c.Tolerance == 0 {
			l.Tolerance = Tolerance{Value: r.SD / r.Mean, Source: "published sd"}
		}
	}
	if l.Error != nil && c.Tolerance > 0 && abs(*l.Error) <= c.Tolerance {
		l.Within = true
	}
	if q, ok := stat(results[runKey{run: c.Run}], "other_share", ""); ok && r.Metric == "throughput" {
		l.OtherShare = &q
	}
	return l
}

// ablationLines lists throughput and transition rate of every ablated run.
func ablationLines(o Options, m *Mapping, rows []Row, results map[runKey][]values) []AblationLine {
	var out []AblationLine
	if o.NoAblations {
		return nil
	}
	for _, a := range ablations() {
		if !slices.Contains(o.Tables, a.table) {
			continue
		}
		for _, run := range a.runs {
			for _, r := range rows {
				c := m.find(r)
				if c == nil || c.Run != run || (r.Metric != "throughput" && (r.Metric != "st_to_smt_rate" || !a.whole)) {
					continue
				}
				if s, ok := stat(results[runKey{a.name, run}], r.Metric, r.Unit); ok {
					out = append(out, AblationLine{
						Name: a.name, Table: r.Table, Workload: r.Workload, Configuration: r.Configuration,
						Metric: r.Metric, Unit: r.Unit, Simulated: s, Published: r.Mean, About: a.about,
					})
				}
			}
		}
	}
	return out
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
