// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"sibyl/experiment"
	"sibyl/machine"
	"sibyl/sim"
)

func newCompare(env Env) *cobra.Command {
	var (
		f         runFlags
		policies  []string
		seeds     seedFlags
		format    formatFlags
		minEffect minEffectFlag
		workers   int
	)
	c := &cobra.Command{
		Use:   "compare",
		Short: "several policies or machine settings, n seeds each, with a verdict per row",
		Long: `Run a workload under several policies on the same seeds and compare them.

The first --policy is the base. A policy may be followed, after spaces, by what
else differs: smt=off, offline=LIST or capacity=equal change the machine, other
keys are settings of the workload. Policies share seeds and noise, so that the
comparison is paired; a verdict needs the whole 95 % interval beyond
--min-effect.`,
		Example: `  sibyl compare --set cpus=0-87,176-263 --set threads=88 \
    --policy v7.3 --policy v7.3+smt-asym-packing=on \
    --policy "v7.3 smt=off cpus=0-87" --policy "v7.3 cpus=0-87"`,
		Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := format.format(c)
			if err != nil {
				return err
			}
			if err := seeds.check(); err != nil {
				return err
			}
			if len(policies) < 2 {
				return usagef("%d policies given: want at least two --policy", len(policies))
			}
			variants := map[string]variant{}
			for _, p := range policies {
				if _, twice := variants[p]; twice {
					return usagef("policy %q is given twice", p)
				}
				if variants[p], err = f.variant(env, p); err != nil {
					return err
				}
			}
			rep, err := env.compare(c.Context(), policies, variants, seeds, workers, float64(minEffect))
			if rep != nil {
				if out == experiment.CSV {
					env.warn(c, rep.Warnings) // the other forms hold them
				}
				if werr := env.emit(func(w io.Writer) error { return rep.Write(w, out) }); err == nil {
					err = werr
				}
			}
			return err
		},
	}
	f.add(c)
	addPolicies(c, &policies, "a policy to compare, the base first (repeatable)")
	seeds.add(c, 10)
	format.add(c)
	addMinEffect(c, &minEffect)
	addWorkers(c, &workers)
	return c
}

// compare runs every variant on every seed. If it is stopped, the report of
// what is done comes with the error.
func (e Env) compare(ctx context.Context, policies []string, variants map[string]variant, seeds seedFlags, workers int, minEffect float64) (*experiment.Report, error) {
	jobs := experiment.Jobs(policies, seeds.first, seeds.n)
	bar := e.progress("runs")
	// Of each run only the samples are kept: there may be a million.
	type measured struct {
		samples  []experiment.Sample
		warnings []string
	}
	results, err := experiment.Run(ctx, jobs, workers, func(ctx context.Context, j experiment.Job) (measured, error) {
		cfg := variants[j.Policy].cfg
		cfg.Seed = j.Seed
		r, err := sim.Run(ctx, cfg)
		if err != nil {
			return measured{}, fmt.Errorf("%s seed %d: %w", j.Policy, j.Seed, err)
		}
		return measured{samplesOf(j, cfg.Machine, r), r.Warnings}, nil
	}, bar.update)
	bar.end()
	if stopped, ok := errors.AsType[*experiment.StoppedError](err); err != nil && (!ok || len(stopped.Done) == 0) {
		return nil, err
	}
	var samples []experiment.Sample
	var warnings []string
	for _, r := range results { // those that were not run are empty
		samples = append(samples, r.samples...)
		for _, w := range r.warnings {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	rep := experiment.Compare(policies, samples, experiment.Options{
		MinEffect: minEffect, First: []string{"throughput", "time"},
	})
	rep.Warnings = append(rep.Warnings, warnings...)
	return rep, err
}

// samplesOf are the metrics of a run that a comparison shows.
func samplesOf(j experiment.Job, m *machine.Machine, r *sim.Result) []experiment.Sample {
	var out []experiment.Sample
	for _, x := range r.Metrics {
		out = append(out, experiment.Sample{
			Policy: j.Policy, Seed: j.Seed, Metric: x.Name, Unit: x.Unit, Value: x.Value, LowerIsBetter: x.LowerIsBetter,
		})
	}
	add := func(name, unit string, v float64) {
		out = append(out, experiment.Sample{
			Policy: j.Policy, Seed: j.Seed, Metric: name, Unit: unit, Value: v, LowerIsBetter: true,
		})
	}
	k := &r.Counters
	add("migrations", "count", float64(k.Migrations))
	add("switches", "count", float64(k.Switches))
	if m.CoreMode.Qualify > 0 { // its cores have modes
		add("st_to_smt_completed", "count", float64(k.Modes.STToSMT))
		add("smt_mode_time", "s", float64(k.Modes.SMTTime)/1e9)
	}
	if k.OtherShare >= 0 {
		add("second_threads", "share", float64(k.OtherShare)/1e6)
	}
	return out
}
