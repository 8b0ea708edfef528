// SPDX-License-Identifier: Apache-2.0

// Package fitted holds the parameters that no public source gives and that were
// therefore fitted to published rows, each with the row that it was fitted on.
//
// The values are written by the fit (package published) and embedded here, low
// in the house, because machine descriptions and workloads take them as
// defaults. All are integers so that they are the same bits everywhere.
package fitted

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Parameter is one fitted, assumed or given number.
type Parameter struct {
	// Name is `model.what` or `model.workload.what`.
	Name  string `json:"name"`
	Value int64  `json:"value"`
	Unit  string `json:"unit"`
	// Source says how the value came about: fit, published, assumed.
	Source string `json:"source"`
	// FittedOn names the published rows that the value was chosen by; empty
	// if it was not fitted.
	FittedOn string `json:"fitted_on"`
	// Residual is simulated/published-1 on those rows, in millionths.
	Residual int64 `json:"residual_ppm,omitempty"`
}

// Set is a list of parameters in the order of the file.
type Set []Parameter

//go:embed parameters.json
var embedded []byte

// Default returns the embedded parameters. The caller owns the result.
func Default() Set {
	s, err := Parse(embedded)
	if err != nil {
		panic("fitted: embedded parameters.json: " + err.Error()) // held by a test
	}
	return s
}

// Parse reads parameters.json's form.
func Parse(data []byte) (Set, error) {
	var s Set
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("parse parameters: %w", err)
	}
	seen := map[string]bool{}
	for _, p := range s {
		if seen[p.Name] {
			return nil, fmt.Errorf("parse parameters: %s is given twice", p.Name)
		}
		seen[p.Name] = true
	}
	return s, nil
}

// Format writes parameters.json's form.
func (s Set) Format() []byte {
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("fitted: " + err.Error()) // plain values always marshal
	}
	return append(out, '\n')
}

// Get returns the parameter of that name.
func (s Set) Get(name string) (int64, bool) {
	for i := range s {
		if s[i].Name == name {
			return s[i].Value, true
		}
	}
	return 0, false
}

// Or returns the parameter of that name, or def if there is none.
func (s Set) Or(name string, def int64) int64 {
	if v, ok := s.Get(name); ok {
		return v
	}
	return def
}

// With returns a copy in which the named parameter has the value.
func (s Set) With(name string, value int64) Set {
	out := append(Set(nil), s...)
	for i := range out {
		if out[i].Name == name {
			out[i].Value = value
			return out
		}
	}
	return append(out, Parameter{Name: name, Value: value})
}
