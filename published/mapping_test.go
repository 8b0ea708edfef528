// SPDX-License-Identifier: Apache-2.0

package published

import (
	"slices"
	"strings"
	"testing"

	"sibyl/fitted"
)

func data(t *testing.T) ([]Row, *Mapping) {
	t.Helper()
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Map()
	if err != nil {
		t.Fatal(err)
	}
	return rows, m
}

// everything is a result in which every run gave every metric.
func everything(rows []Row, m *Mapping) map[runKey][]values {
	v := values{"other_share": 0.5}
	for _, r := range rows {
		v[r.Metric] = 1
	}
	results := map[runKey][]values{}
	for name := range m.Runs {
		results[runKey{run: name}] = []values{v, v}
	}
	return results
}

// lines puts every published row beside what everything gives.
func lines(t *testing.T) []Line {
	rows, m := data(t)
	results := everything(rows, m)
	var out []Line
	for _, r := range rows {
		out = append(out, line(r, m, results))
	}
	return out
}

var roles = []Role{Fitted, Input, Derived, Ordinal, Predicted, Unmodelled}

// TestEveryRowHasARole: a row is mapped, or says why it is not.
func TestEveryRowHasARole(t *testing.T) {
	count := map[Role]int{}
	for _, l := range lines(t) {
		what := l.Table + " " + l.Workload + " " + l.Configuration + " " + l.Metric
		count[l.Role]++
		switch {
		case !slices.Contains(roles, l.Role):
			t.Errorf("%s: unknown role %q", what, l.Role)
		case l.Role == Unmodelled && (l.Why == "" || l.Simulated != nil || l.Error != nil || l.Within):
			t.Errorf("%s: unmodelled: want a reason and no numbers: %+v", what, l)
		case l.Role != Unmodelled && (l.Simulated == nil || l.Error == nil || l.Policy == ""):
			t.Errorf("%s: %s without numbers or policy", what, l.Role)
		case l.Role == Predicted && l.Published.SD == nil && !(l.Tolerance.Value > 0):
			t.Errorf("%s: predicted with neither a published sd nor a tolerance", what)
		case l.Role == Predicted && l.Tolerance.Source == "":
			t.Errorf("%s: who says that %g is tolerable?", what, l.Tolerance.Value)
		}
	}
	for _, r := range []Role{Fitted, Input, Derived, Predicted, Unmodelled} {
		if count[r] == 0 {
			t.Errorf("no row is %s", r)
		}
	}
}

// TestEveryCaseIsUsed: the mapping names no row, metric or run that does not
// exist, and no row twice.
func TestEveryCaseIsUsed(t *testing.T) {
	rows, m := data(t)
	used := map[string]bool{}
	for i := range m.Rows {
		c := &m.Rows[i]
		used[c.Run] = true
		metrics := map[string]bool{}
		for _, r := range rows {
			if m.find(r) == c {
				metrics[r.Metric] = true
			}
		}
		if len(metrics) == 0 {
			t.Errorf("%s %s %s: no published row", c.Table, c.Workload, c.Configuration)
		}
		for metric := range c.Roles {
			if !metrics[metric] {
				t.Errorf("%s %s: no published %s", c.Table, c.Configuration, metric)
			}
		}
	}
	for name, s := range m.Runs {
		if !used[name] {
			t.Errorf("run %s is not used", name)
		}
		if s.Seeds < 1 {
			t.Errorf("run %s: %d seeds", name, s.Seeds)
		}
		if _, err := config(s, fitted.Default(), change{}); err != nil {
			t.Errorf("run %s: %v", name, err)
		}
	}
	for _, a := range ablations() {
		for _, run := range a.runs {
			s, ok := m.Runs[run]
			if !ok {
				t.Errorf("ablation %s: no run %s", a.name, run)
				continue
			}
			if _, err := config(s, fitted.Default(), a.ch); err != nil {
				t.Errorf("ablation %s: %v", a.name, err)
			}
		}
	}
}

// names tells whether a parameter's FittedOn means the row. It is written apart
// from fittedOn, which the fit uses.
func names(text string, l Line) bool {
	w := strings.Fields(text)
	if len(w) < 2 || strings.Contains(text, " sd of ") || w[len(w)-1] != l.Metric {
		return false
	}
	if w[0] == "thunderx2-gemm" {
		letter, rest, _ := strings.Cut(l.Configuration, ":")
		return l.Table == w[0] && letter == w[1] && strings.HasSuffix(rest, ":"+w[2])
	}
	return w[0] == "olympus" && strings.HasPrefix(l.Table, "olympus-") && l.Workload == w[1] && l.Configuration == w[2]
}

// TestNothingFittedIsPredicted: a row that a parameter was chosen by, or that is
// given to the model, is shown as such, and each such row exists.
func TestNothingFittedIsPredicted(t *testing.T) {
	ls := lines(t)
	for _, p := range fitted.Default() {
		if p.FittedOn == "" || strings.Contains(p.FittedOn, " sd of ") {
			continue
		}
		n := 0
		for _, l := range ls {
			if !names(p.FittedOn, l) {
				continue
			}
			n++
			if l.Role != Fitted && l.Role != Input {
				t.Errorf("%s is fitted on %s, whose role is %s", p.Name, p.FittedOn, l.Role)
			}
			if fittedOn(l) != p.FittedOn {
				t.Errorf("%s: the fit finds no residual on %s (it calls the row %q)", p.Name, p.FittedOn, fittedOn(l))
			}
		}
		if n != 1 {
			t.Errorf("%s is fitted on %s: %d such rows", p.Name, p.FittedOn, n)
		}
	}
	// The other way round: what is called fitted or input has a parameter.
	for _, l := range ls {
		if (l.Role == Fitted || l.Role == Input) &&
			!slices.ContainsFunc(fitted.Default(), func(p fitted.Parameter) bool { return names(p.FittedOn, l) }) {
			t.Errorf("%s %s %s is %s, but no parameter is fitted on it", l.Table, l.Configuration, l.Metric, l.Role)
		}
	}
}

// TestStartingPoint: the embedded parameters are those that the fit begins
// with, in its order, with its sources.
func TestStartingPoint(t *testing.T) {
	start, now := startingPoint(), fitted.Default()
	if len(start) != len(now) {
		t.Fatalf("the fit has %d parameters, the file %d", len(start), len(now))
	}
	for i, p := range start {
		q := now[i]
		if p.Name != q.Name || p.Unit != q.Unit || p.Source != q.Source || p.FittedOn != q.FittedOn {
			t.Errorf("parameter %d: the fit has\n%+v\nthe file\n%+v", i, p, q)
		}
		if p.FittedOn == "" && p.Value != q.Value {
			t.Errorf("%s is not fitted, but %d became %d", p.Name, p.Value, q.Value)
		}
	}
}

func TestLine(t *testing.T) {
	m := &Mapping{
		Runs: map[string]Setup{"r": {Policy: "v7.3"}},
		Rows: []Case{{Table: "t", Configuration: "c", Run: "r", Roles: map[string]Role{"m": Predicted}, Tolerance: 0.02}},
	}
	for _, tc := range []struct {
		name      string
		row       Row
		simulated []float64
		within    bool
		withinSD  string
	}{
		{"inside the sd", Row{Mean: 100, SD: 5, HasSD: true}, []float64{104, 106}, true, "true"},
		{"inside the tolerance alone", Row{Mean: 100, SD: 0.5, HasSD: true}, []float64{101, 102}, true, "false"},
		{"outside", Row{Mean: 100, SD: 0.5, HasSD: true}, []float64{103, 103}, false, "false"},
		{"no sd, inside", Row{Mean: 100}, []float64{98.5}, true, "none"},
		{"no sd, outside", Row{Mean: 100}, []float64{97.5}, false, "none"},
	} {
		r := tc.row
		r.Table, r.Configuration, r.Metric = "t", "c", "m"
		results := map[runKey][]values{}
		for _, x := range tc.simulated {
			k := runKey{run: "r"}
			results[k] = append(results[k], values{"m": x})
		}
		l := line(r, m, results)
		sd := "none"
		if l.WithinSD != nil {
			sd = map[bool]string{true: "true", false: "false"}[*l.WithinSD]
		}
		if l.Role != Predicted || l.Within != tc.within || sd != tc.withinSD || (l.Simulated.SD == nil) != (len(tc.simulated) == 1) {
			t.Errorf("%s: %+v, within sd %s", tc.name, l, sd)
		}
	}
	// A run that ended without the metric predicts nothing.
	if l := line(Row{Table: "t", Configuration: "c", Metric: "m", Mean: 1}, m, map[runKey][]values{{run: "r"}: {{"other": 1}}}); l.Role != Unmodelled || l.Why == "" {
		t.Errorf("metric is missing: %+v", l)
	}
}

func TestDataErrors(t *testing.T) {
	head := strings.Join(columns, ",") + "\n"
	for in, want := range map[string]string{
		"":                                         "EOF",
		strings.Replace(head, "mean", "avg", 1):    `line 1: column 7 is "avg": want "mean"`,
		head + "t,m,w,c,x,u,many,,1,s\n":           `line 2: mean "many"`,
		head + "t,m,w,c,x,u,1,few,1,s\n":           `line 2: sd "few"`,
		head + "t,m,w,c,x,u,1,,0,s\n":              `line 2: runs "0"`,
		head + "t,m,w,c,x,u,1,,1,s\nt,m,w,c,x,u\n": "wrong number of fields",
	} {
		if _, err := parseRows(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "read published results: ") {
			t.Errorf("%q: error %v, want %s", in, err, want)
		}
	}
	for in, want := range map[string]string{
		"runs: [":  "read mapping of published rows: ",
		"runz: {}": "runz",
		"rows: [{table: t, configuration: c, run: nowhere}]": `run "nowhere" is not described`,
	} {
		if _, err := parseMapping([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", in, err, want)
		}
	}
}
