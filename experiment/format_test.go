// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// update rewrites the golden files: UPDATE_GOLDEN=1 go test ./experiment, then
// read the diff.
var update = os.Getenv("UPDATE_GOLDEN") != ""

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

// cover is a small comparison with every verdict and an undefined delta.
func cover() *Report {
	var ss []Sample
	add := func(policy, metric, unit string, lower bool, xs ...float64) {
		for i, x := range xs {
			ss = append(ss, Sample{Policy: policy, Seed: uint64(i + 1), Metric: metric, Unit: unit, Value: x, LowerIsBetter: lower})
		}
	}
	const on, sis = "v7.3+smt-asym-packing=on", "v7.3+sync-wakeup=sis"
	add("v7.3", "throughput", "TFLOP/s", false, 7.10, 7.05, 7.21, 7.08, 7.15)
	add(on, "throughput", "TFLOP/s", false, 7.34, 7.33, 7.36, 7.35, 7.35)
	add(sis, "throughput", "TFLOP/s", false, 7.11, 7.04, 7.20, 7.09, 7.16)
	add("v7.3", "st_to_smt_rate", "1/s", true, 812000, 809000, 820100, 815000, 811000)
	add(on, "st_to_smt_rate", "1/s", true, 41, 45, 38, 44, 40)
	add(sis, "st_to_smt_rate", "1/s", true, 912000, 909000, 925100, 915000, 911500)
	add("v7.3", "latency_p99", "s", true, 0.000125, 0.000125, 0.000125, 0.000125, 0.000125)
	add(on, "latency_p99", "s", true, 0.000125, 0.000125, 0.000125, 0.000125, 0.000125)
	add(sis, "latency_p99", "s", true, 0.000125, 0.00013, 0.000125, 0.000125, 0.000121)
	add("v7.3", "pulls", "count", true, 0, 0, 0, 0, 0)
	add(on, "pulls", "count", true, 1, 0, 2, 3, 1)
	add(sis, "pulls", "count", true, 4, 4, 4, 4, 4)
	return Compare([]string{"v7.3", on, sis}, ss, Options{MinEffect: DefaultMinEffect, First: []string{"throughput"}})
}

func TestGolden(t *testing.T) {
	for _, f := range Formats() {
		t.Run(string(f), func(t *testing.T) {
			var b bytes.Buffer
			if err := cover().Write(&b, f); err != nil {
				t.Fatal(err)
			}
			golden(t, "cover."+string(f), b.Bytes())
		})
	}
}

func TestGoldenLongNames(t *testing.T) {
	var ss []Sample
	for i := range 2 {
		for _, p := range []string{"a", "bb"} {
			ss = append(ss, Sample{
				Policy: p, Seed: uint64(i), Metric: "a_metric_with_quite_a_long_name_of_its_own", Unit: "Mcycles/run",
				Value: float64(1000*i) + float64(len(p)+i)*1.5,
			})
		}
	}
	var b bytes.Buffer
	if err := Compare([]string{"a", "bb"}, ss, Options{}).Write(&b, Text); err != nil {
		t.Fatal(err)
	}
	golden(t, "long.text", b.Bytes())
}

// An empty report has empty lists, never null, in JSON.
func TestEmptyReport(t *testing.T) {
	for _, r := range []*Report{Compare(nil, nil, Options{}), {}} {
		var b bytes.Buffer
		if err := r.Write(&b, JSON); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := json.Compact(&got, b.Bytes()); err != nil {
			t.Fatal(err)
		}
		if want := `{"samples":[],"comparisons":[],"warnings":[]}`; got.String() != want {
			t.Errorf("got %s", got.String())
		}
		b.Reset()
		if err := r.Write(&b, Text); err != nil || b.Len() != 0 {
			t.Errorf("text %q, %v", b.String(), err)
		}
	}
}

// Scripts rely on the keys; every value is JSON, whatever was compared.
func TestJSONKeys(t *testing.T) {
	var b bytes.Buffer
	if err := cover().Write(&b, JSON); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Samples, Comparisons []map[string]any
		Warnings             []string
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	has := func(m map[string]any, keys string) {
		t.Helper()
		for k := range strings.FieldsSeq(keys) {
			if v, ok := m[k]; !ok || v == nil {
				t.Errorf("no %q in %v", k, m)
			}
		}
	}
	if len(doc.Samples) != 60 || len(doc.Comparisons) != 8 {
		t.Errorf("%d samples, %d comparisons", len(doc.Samples), len(doc.Comparisons))
	}
	for _, s := range doc.Samples {
		has(s, "policy seed metric unit value")
		if len(s) != 5 {
			t.Errorf("sample %v", s)
		}
	}
	for _, c := range doc.Comparisons {
		has(c, "metric unit base new n base_mean base_sd new_mean new_sd delta ci_low ci_high p paired verdict")
	}
}

// Whatever the values, every format is written, JSON is valid and text fits.
func TestFormatsTakeAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ss []Sample
		for _, p := range []string{"b", "n"} {
			for _, x := range rapid.SliceOfN(rapid.Float64(), 0, 6).Draw(t, p) {
				ss = append(ss, Sample{Policy: p, Seed: rapid.Uint64Range(0, 6).Draw(t, "seed"), Metric: "throughput", Unit: "MFLOP/s", Value: x})
			}
		}
		r := Compare([]string{"b", "n"}, ss, Options{MinEffect: DefaultMinEffect})
		for _, f := range Formats() {
			var b bytes.Buffer
			if err := r.Write(&b, f); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			if f == JSON && !json.Valid(b.Bytes()) {
				t.Fatalf("not JSON: %s", b.String())
			}
			for line := range strings.Lines(b.String()) {
				if f == Text && utf8.RuneCountInString(line) > textWidth+1 {
					t.Fatalf("wide line %q", line)
				}
			}
		}
	})
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 7.11876: "7.119", 71.1876: "71.19", 711.876: "711.9", 7118.76: "7119", 812000: "812000",
		1234567: "1.235e+06", 0.711876: "0.7119", 0.000125: "0.0001250", 0.00001: "1.000e-05", -42.5: "-42.50",
		math.MaxFloat64: "1.798e+308",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%g) = %q, want %q", x, got, want)
		}
	}
}

func TestParseFormat(t *testing.T) {
	if f, err := ParseFormat("csv"); f != CSV || err != nil {
		t.Errorf("%q, %v", f, err)
	}
	if _, err := ParseFormat("yaml"); err == nil || err.Error() != `parse format "yaml": want one of text, markdown, csv, json` {
		t.Errorf("%v", err)
	}
}
