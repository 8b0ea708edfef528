// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sibyl/experiment"
)

// The flags that verbs share are declared here once, so that they are spelled
// and explained alike.

// addJSON declares --json.
func addJSON(c *cobra.Command, v *bool) {
	c.Flags().BoolVar(v, "json", false, "write JSON, whose keys scripts may rely on")
}

// formatFlags are --format and its short form --json.
type formatFlags struct {
	name string
	json bool
}

func (f *formatFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "format", string(experiment.Text), "output: "+formatNames())
	addJSON(c, &f.json)
	complete(c, "format", func() []string { return strings.Split(formatNames(), ", ") })
}

func formatNames() string {
	var names []string
	for _, f := range experiment.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// format returns the format asked for.
func (f *formatFlags) format(c *cobra.Command) (experiment.Format, error) {
	if f.json {
		if c.Flags().Changed("format") && f.name != string(experiment.JSON) {
			return "", usagef("--json and --format %s exclude each other", f.name)
		}
		return experiment.JSON, nil
	}
	v, err := experiment.ParseFormat(f.name)
	return v, usage(err)
}

// settings is a repeatable --name key=value. The order is kept, since later
// ones win.
type settings []string

func addSettings(c *cobra.Command, v *settings, name, about string) {
	c.Flags().Var(v, name, about)
}

// String is what help shows as the default.
func (s *settings) String() string { return strings.Join(*s, " ") }

// Type is what help shows for the value.
func (s *settings) Type() string { return "key=value" }

// Set adds a setting. Values may hold commas: they do not separate settings.
func (s *settings) Set(v string) error {
	if k, _, ok := strings.Cut(v, "="); !ok || k == "" {
		return usagef("want key=value")
	}
	*s = append(*s, v)
	return nil
}

// addPolicies declares a repeatable --policy; a value is one policy and may
// hold commas and plus signs.
func addPolicies(c *cobra.Command, v *[]string, about string) {
	c.Flags().StringArrayVar(v, "policy", nil, about)
}

// seedFlags are --seed and --seeds.
type seedFlags struct {
	first uint64
	n     int
}

func (f *seedFlags) add(c *cobra.Command, n int) {
	c.Flags().Uint64Var(&f.first, "seed", 1, "the first seed")
	c.Flags().IntVarP(&f.n, "seeds", "n", n, "runs of each configuration, on seeds that follow each other")
}

func (f *seedFlags) check() error {
	if f.n < 1 || f.n > maxSeeds {
		return usagef("--seeds %d: want 1 to %d", f.n, maxSeeds)
	}
	return nil
}

const maxSeeds = 1_000_000

// addWorkers declares --workers; 0, the default, stands for all CPUs.
func addWorkers(c *cobra.Command, v *int) {
	c.Flags().IntVarP(v, "workers", "j", 0, "runs at the same time (default: one a CPU); no effect on results")
}

// durationFlag is a duration as Go writes it, 0 for none, kept in ns.
type durationFlag int64

func addDuration(c *cobra.Command, v *durationFlag, name, about string) {
	c.Flags().Var(v, name, about)
}

// String is what help shows as the default.
func (d *durationFlag) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type is what help shows for the value.
func (d *durationFlag) Type() string { return "duration" }

// Set reads a duration above 0.
func (d *durationFlag) Set(s string) error {
	v, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return usagef("want a duration such as 500ms or 2s")
	case v <= 0:
		return usagef("want a duration above 0")
	}
	*d = durationFlag(v)
	return nil
}

// minEffectFlag is --min-effect, a share or a percentage.
type minEffectFlag float64

func addMinEffect(c *cobra.Command, v *minEffectFlag) {
	*v = experiment.DefaultMinEffect
	c.Flags().Var(v, "min-effect", "relative difference that an interval must clear for a verdict")
}

// String is what help shows as the default.
func (m *minEffectFlag) String() string {
	return strconv.FormatFloat(float64(*m)*100, 'g', -1, 64) + "%"
}

// Type is what help shows for the value.
func (m *minEffectFlag) Type() string { return "share" }

// Set reads 0.005 or 0.5%.
func (m *minEffectFlag) Set(s string) error {
	num, isPercent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v < 1) {
		return usagef("want a share such as 0.005 or 0.5%%, at least 0 and below 1")
	}
	*m = minEffectFlag(v)
	return nil
}

// complete gives the shell the values of a flag.
func complete(c *cobra.Command, flag string, values func() []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		vs := slices.DeleteFunc(values(), func(v string) bool { return !strings.HasPrefix(v, prefix) })
		return vs, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is not declared
	}
}
