// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	"sibyl/domain"
)

// Policy is an edition with its switches: what a run is made under. The zero
// value is Linux 7.3.4 without a name; Parse makes named ones.
type Policy struct {
	// Name is the canonical spelling, that Parse reads back to an equal
	// Policy: the edition, then the switches that were given in the order
	// of Switches.
	Name string
	// Edition is the kernel that the policy starts from.
	Edition string
	// Set are the switches that were given, in the order of Switches.
	Set []Setting
	// Rules change how domains are used, Options how they are built.
	Rules   Rules
	Options domain.Options
}

// Setting is one switch with its value.
type Setting struct{ Switch, Value string }

// Parse reads EDITION[+SWITCH=VALUE...], such as v7.3+smt-asym-packing=on. An
// unknown edition, switch or value and a switch given twice are errors; they
// list what is known.
func Parse(s string) (Policy, error) {
	parts := strings.Split(s, "+")
	p, err := start(parts[0])
	if err != nil {
		return Policy{}, fmt.Errorf("parse policy %q: %w", clip(s), err)
	}
	given := map[string]string{}
	for _, part := range parts[1:] {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return Policy{}, fmt.Errorf("parse policy %q: switch %q: want NAME=VALUE", clip(s), clip(part))
		}
		sw := find(name)
		if sw == nil {
			return Policy{}, fmt.Errorf("parse policy %q: unknown switch %q; known: %s", clip(s), clip(name), strings.Join(switchNames(), ", "))
		}
		if sw.value(value) == nil {
			why := ""
			if later[name] == value {
				why = " yet: it comes with `run`"
			}
			return Policy{}, fmt.Errorf("parse policy %q: switch %s has no value %q%s; known: %s", clip(s), name, clip(value), why, strings.Join(sw.valueNames(), ", "))
		}
		if _, twice := given[name]; twice {
			return Policy{}, fmt.Errorf("parse policy %q: switch %s is given twice", clip(s), name)
		}
		given[name] = value
	}
	// The order of the table, not of the text, so that the result does not
	// depend on the spelling.
	for i := range switches {
		sw := &switches[i]
		value, ok := given[sw.Name]
		if !ok {
			continue
		}
		sw.value(value).set(&p)
		p.Set = append(p.Set, Setting{sw.Name, value})
		p.Name += "+" + sw.Name + "=" + value
	}
	return p, nil
}

// start returns an edition without switches.
func start(edition string) (Policy, error) {
	if edition == "sibyl" {
		return Policy{}, fmt.Errorf("sibyl is the project's own policy, which comes with `run`; the editions are %s", strings.Join(editionNames(), ", "))
	}
	for i := range editions {
		if editions[i].Name == edition {
			p := Policy{Name: edition, Edition: edition}
			for _, r := range rules {
				if _, deviates := r.in[edition]; deviates {
					r.set(&p)
				}
			}
			return p, nil
		}
	}
	return Policy{}, fmt.Errorf("unknown edition %q; known: %s", clip(edition), strings.Join(editionNames(), ", "))
}

// clip bounds what an error quotes of its input.
func clip(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}
