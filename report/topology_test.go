// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
)

// TestTopology holds the table and the JSON form. Commands: table and json,
// with machine=NAME.
func TestTopology(t *testing.T) {
	datadriven.Walk(t, "testdata/topology", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name string
			d.ScanArgs(t, "machine", &name)
			m, h := named(t, name)
			if d.Cmd == "json" {
				data, err := TopologyJSON(m, h)
				if err != nil {
					t.Fatal(err)
				}
				return strings.ReplaceAll(strings.ReplaceAll(string(data), `,{"`, ",\n{\""), `"domains"`, "\n\"domains\"") + "\n"
			}
			var b strings.Builder
			if err := Topology(&b, m, h); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > columns {
					t.Errorf("line of %d columns: %s", n, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("blank at the end of %q", line)
				}
			}
			return b.String()
		})
	})
}

// TestTopologyJSONShape holds the keys that scripts rely on.
func TestTopologyJSONShape(t *testing.T) {
	m, h := named(t, "vera")
	data, err := TopologyJSON(m, h)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	keys := func(v any, want ...string) map[string]any {
		t.Helper()
		o := v.(map[string]any)
		if len(o) != len(want) {
			t.Errorf("%d keys, want %v", len(o), want)
		}
		for _, k := range want {
			if _, ok := o[k]; !ok {
				t.Errorf("no key %s", k)
			}
		}
		return o
	}
	keys(got, "cpus", "domains", "warnings")
	if got["warnings"] == nil {
		t.Error("warnings is null")
	}
	cpus, domains := got["cpus"].([]any), got["domains"].([]any)
	if len(cpus) != 352 || len(domains) != 352 {
		t.Fatalf("%d CPUs, %d chains", len(cpus), len(domains))
	}
	keys(cpus[0], "id", "online", "core", "siblings", "llc", "cluster", "node", "package", "capacity", "capacity_source", "priority", "priority_source")
	levels := keys(domains[0], "cpu", "levels")["levels"].([]any)
	mc := keys(levels[1], "name", "span", "flags", "groups")
	if mc["name"] != "MC" || mc["span"] != "0-87,176-263" || len(mc["groups"].([]any)) != 88 {
		t.Errorf("level 1 of CPU 0: %v %v, %d groups", mc["name"], mc["span"], len(mc["groups"].([]any)))
	}
}
