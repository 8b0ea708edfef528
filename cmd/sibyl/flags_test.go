// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"sibyl/experiment"
)

// shared are all shared flags on one verb.
type shared struct {
	formatFlags
	seedFlags
	set       settings
	policies  []string
	duration  durationFlag
	minEffect minEffectFlag
}

func parse(args ...string) (*shared, *cobra.Command, error) {
	var s shared
	c := &cobra.Command{Use: "verb"}
	s.formatFlags.add(c)
	s.seedFlags.add(c, 5)
	addSettings(c, &s.set, "set", "a setting")
	addPolicies(c, &s.policies, "a policy")
	addDuration(c, &s.duration, "duration", "how long")
	addMinEffect(c, &s.minEffect)
	return &s, c, c.ParseFlags(args)
}

func TestSharedFlags(t *testing.T) {
	s, c, err := parse("--set", "cpus=0-3,8", "--set", "a=b=c", "--policy", "v7.3+sis-util=off,x", "--policy", "tip",
		"--duration", "1m30s", "--seed", "7", "-n", "20", "--min-effect", "1%", "--format", "csv")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(settings{"cpus=0-3,8", "a=b=c"}, s.set); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"v7.3+sis-util=off,x", "tip"}, s.policies); d != "" {
		t.Error(d)
	}
	if time.Duration(s.duration) != 90*time.Second || s.first != 7 || s.n != 20 || s.minEffect != 0.01 {
		t.Errorf("%+v", s)
	}
	if f, err := s.format(c); f != experiment.CSV || err != nil {
		t.Errorf("format %q, %v", f, err)
	}
}

func TestSharedFlagDefaults(t *testing.T) {
	s, c, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	if s.first != 1 || s.n != 5 || s.duration != 0 || s.minEffect != experiment.DefaultMinEffect || s.check() != nil {
		t.Errorf("%+v", s)
	}
	if f, err := s.format(c); f != experiment.Text || err != nil {
		t.Errorf("format %q, %v", f, err)
	}
	if u := c.Flags().FlagUsages(); !strings.Contains(u, "(default 0.5%)") {
		t.Errorf("usage does not tell the default effect:\n%s", u)
	}
}

func TestSharedFlagErrors(t *testing.T) {
	for _, tc := range []struct{ flag, value, want string }{
		{"--set", "novalue", "want key=value"},
		{"--set", "=v", "want key=value"},
		{"--duration", "5", "want a duration such as"},
		{"--duration", "-1s", "above 0"},
		{"--duration", "0s", "above 0"},
		{"--min-effect", "x", "want a share"},
		{"--min-effect", "NaN", "want a share"},
		{"--min-effect", "-0.1", "want a share"},
		{"--min-effect", "100%", "want a share"},
		{"--seed", "-1", "invalid argument"},
		{"-n", "1.5", "invalid argument"},
	} {
		if _, _, err := parse(tc.flag, tc.value); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: error %v: want %q", tc.flag, tc.value, err, tc.want)
		}
	}
	for _, n := range []string{"0", "-3", "1000001"} {
		if s, _, err := parse("--seeds", n); err != nil || s.check() == nil {
			t.Errorf("--seeds %s was taken (%v)", n, err)
		}
	}
	if s, c, err := parse("--json", "--format", "csv"); err != nil {
		t.Error(err)
	} else if _, err := s.format(c); err == nil {
		t.Error("--json --format csv was taken")
	}
	if s, c, err := parse("--format", "yaml"); err != nil {
		t.Error(err)
	} else if _, err := s.format(c); err == nil {
		t.Error("--format yaml was taken")
	}
}
