// SPDX-License-Identifier: Apache-2.0

package fitted

import (
	"bytes"
	"testing"
)

// TestEmbedded: the embedded file parses, and is in the form that the fit
// writes, so that bytes can be compared.
func TestEmbedded(t *testing.T) {
	s, err := Parse(embedded)
	if err != nil {
		t.Fatal(err)
	}
	if len(s) < 10 || !bytes.Equal(s.Format(), embedded) {
		t.Errorf("%d parameters; the file must be what Format writes", len(s))
	}
	for _, p := range s {
		if p.Unit == "" || p.Source == "" {
			t.Errorf("%s has no unit or source", p.Name)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, in := range []string{
		"", "{", `[{"nam": "x"}]`, `[{"name": "x", "value": 1.5}]`,
		`[{"name": "x", "value": 1}, {"name": "x", "value": 2}]`,
	} {
		if _, err := Parse([]byte(in)); err == nil {
			t.Errorf("%s: no error", in)
		}
	}
}

// TestWith: a changed copy leaves the original as it was.
func TestWith(t *testing.T) {
	s := Set{{Name: "a", Value: 1}}
	changed := s.With("a", 2).With("b", 3)
	if v, _ := s.Get("a"); v != 1 || len(s) != 1 {
		t.Errorf("the original changed: %v", s)
	}
	if a, b := changed.Or("a", 0), changed.Or("b", 0); a != 2 || b != 3 {
		t.Errorf("changed: a %d, b %d", a, b)
	}
	if _, ok := s.Get("b"); ok || s.Or("b", 7) != 7 {
		t.Error("an unknown parameter has no value")
	}
}
