// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"slices"
	"testing"
)

// need is a JSON object whose keys scripts rely on. It fails the test for a key
// that is missing.
type need map[string]json.RawMessage

func (n need) has(t *testing.T, what string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if _, ok := n[k]; !ok {
			t.Errorf("%s: key %q is missing", what, k)
		}
	}
}

func object(t *testing.T, data []byte) need {
	t.Helper()
	var n need
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
	return n
}

// list decodes an array of objects; null is none.
func list(t *testing.T, data []byte) []need {
	t.Helper()
	var l []need
	if err := json.Unmarshal(data, &l); err != nil || l == nil {
		t.Fatalf("%.80s: want a list (%v)", data, err)
	}
	return l
}

// The keys of `reproduce --json` are there in every row, whatever its role.
func TestReproduceJSON(t *testing.T) {
	tables := []string{"nohz-ilb", "thunderx2-gemm"}
	if testing.Short() {
		tables = tables[:1] // no run of the simulator
	}
	for _, table := range tables {
		code, out, errOut := run(t, "reproduce", table, "--json", "-n", "1")
		if code != exitDone || errOut != "" {
			t.Fatalf("exit %d, %s", code, errOut)
		}
		rep := object(t, []byte(out))
		rep.has(t, table, "rows", "ablations", "parameters", "warnings")
		rows := list(t, rep["rows"])
		if len(rows) == 0 {
			t.Errorf("%s: no rows", table)
		}
		for _, r := range rows {
			r.has(t, table+" row", "table", "machine", "workload", "configuration", "metric", "unit", "policy",
				"published", "simulated", "error", "tolerance", "within_sd", "within", "role", "why")
			object(t, r["published"]).has(t, "published", "mean", "sd", "runs")
			object(t, r["tolerance"]).has(t, "tolerance", "value", "source")
			if string(r["table"]) != `"`+table+`"` {
				t.Errorf("row of %s in %s", r["table"], table)
			}
			unmodelled := string(r["role"]) == `"unmodelled"`
			if none := string(r["simulated"]) == "null"; none != unmodelled {
				t.Errorf("role %s, simulated %s", r["role"], r["simulated"])
			}
			if !unmodelled {
				object(t, r["simulated"]).has(t, "simulated", "mean", "sd", "runs")
			} else if string(r["why"]) == `""` {
				t.Errorf("%s %s: unmodelled without a reason", r["configuration"], r["metric"])
			}
		}
		list(t, rep["ablations"])
		for _, p := range list(t, rep["parameters"]) {
			p.has(t, "parameter", "name", "value", "unit", "source", "fitted_on")
		}
		if string(rep["warnings"]) == "null" {
			t.Error("warnings are null")
		}
	}
}

// The keys of `simulate --json` and `compare --json`.
func TestRunJSON(t *testing.T) {
	small := []string{"--machine", "smt2-x86", "--workload", "hackbench", "--set", "groups=1", "--set", "fds=2", "--set", "loops=3", "--json"}
	code, out, errOut := run(t, append([]string{"simulate"}, small...)...)
	if code != exitDone {
		t.Fatal(errOut)
	}
	r := object(t, []byte(out))
	r.has(t, "simulate", "seed", "duration_ns", "metrics", "counters", "events", "tasks", "warnings")
	object(t, r["metrics"]).has(t, "metrics", "time")
	object(t, r["counters"]).has(t, "counters", "st_to_smt_completed", "wakeups", "forks", "switches", "migrations")
	list(t, r["tasks"])

	code, out, errOut = run(t, slices.Concat([]string{"compare"}, small, []string{"--policy", "v7.3", "--policy", "v7.3 smt=off", "-n", "2"})...)
	if code != exitDone {
		t.Fatal(errOut)
	}
	r = object(t, []byte(out))
	r.has(t, "compare", "samples", "comparisons", "warnings")
	for _, s := range list(t, r["samples"]) {
		s.has(t, "sample", "policy", "seed", "metric", "unit", "value")
	}
	cs := list(t, r["comparisons"])
	for _, c := range cs {
		c.has(t, "comparison", "metric", "unit", "base", "new", "n", "base_mean", "base_sd", "new_mean", "new_sd",
			"delta", "ci_low", "ci_high", "p", "paired", "verdict")
	}
	if len(cs) == 0 || string(r["warnings"]) == "null" {
		t.Errorf("%d comparisons, warnings %s", len(cs), r["warnings"])
	}
}
