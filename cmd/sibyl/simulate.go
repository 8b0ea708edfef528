// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"sibyl/sim"
	"sibyl/trace/perfetto"
)

func newSimulate(env Env) *cobra.Command {
	var (
		f         runFlags
		pol       string
		seed      uint64
		traceFile string
		asJSON    bool
	)
	c := &cobra.Command{
		Use:   "simulate",
		Short: "one run of a workload on a machine under a policy",
		Long: `Run a workload once and print what it measured.

The same seed gives the same output, byte for byte. --trace writes a Perfetto
trace: a track for each CPU, grouped by core, the mode of each core, and the
placement decisions with the rules that led to them.`,
		Example: `  sibyl simulate --machine vera --policy v7.3 --set cpus=0-87,176-263 --seed 1
  sibyl simulate --workload hogs --set threads=64 --duration 2s --trace run.pftrace`,
		Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			v, err := f.variant(env, pol)
			if err != nil {
				return err
			}
			v.cfg.Seed = seed
			if traceFile == "-" {
				return usagef("--trace -: want a file, since standard output has the result")
			}
			r, err := env.simulate(c, v.cfg, traceFile)
			if err != nil {
				return err
			}
			env.warn(c, r.Warnings)
			return env.emit(func(w io.Writer) error {
				if asJSON {
					enc := json.NewEncoder(w)
					enc.SetIndent("", "  ")
					return enc.Encode(r)
				}
				return printResult(w, &v, r)
			})
		},
	}
	f.add(c)
	c.Flags().StringVar(&pol, "policy", "v7.3", "the policy: an edition and switches, such as v7.3+smt-asym-packing=on")
	c.Flags().Uint64Var(&seed, "seed", 1, "the seed of all random draws")
	c.Flags().StringVar(&traceFile, "trace", "", "write a Perfetto trace to this file")
	addJSON(c, &asJSON)
	return c
}

// simulate runs cfg, with a trace to the named file if there is a name. A trace
// appears whole or not at all.
func (e Env) simulate(c *cobra.Command, cfg sim.Config, traceFile string) (*sim.Result, error) {
	if traceFile == "" {
		return sim.Run(c.Context(), cfg)
	}
	var r *sim.Result
	err := e.save(traceFile, func(w io.Writer) (err error) {
		cfg.Trace = perfetto.NewWriter(w)
		r, err = sim.Run(c.Context(), cfg)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func printResult(w io.Writer, v *variant, r *sim.Result) error {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) } // emit's buffer takes all
	p("machine   %s\nworkload  %s %v\npolicy    %s\nseed      %d\nduration  %.6f s simulated, %d events\n\n",
		v.cfg.Machine.Name, v.cfg.Workload.Name, v.cfg.Workload.Set, v.name, r.Seed, float64(r.DurationNS)/1e9, r.Events)
	for _, m := range r.Metrics {
		digits := "%12.5f"
		if m.Value < 0.01 {
			digits = "%12.5g"
		}
		p("%-24s "+digits+" %s\n", m.Name, m.Value, m.Unit)
	}
	k := &r.Counters
	rows := []struct {
		name string
		n    int64
	}{
		{"wakeups placed", k.Wakeups},
		{"forks", k.Forks},
		{"context switches", k.Switches},
		{"migrations", k.Migrations},
		{"pulled by load balance", k.Pulls},
		{"active balances", k.Active},
		{"NOHZ kicks", k.Kicks},
		{"balance passes", k.Passes},
		{"ticks", k.Ticks},
		{"background wakeups", k.Noise},
		{"ST->SMT completed", k.Modes.STToSMT},
		{"SMT->ST completed", k.Modes.SMTToST},
		{"SMT->ST aborted", k.Modes.Aborted},
	}
	for _, row := range rows {
		p("%-24s %12d\n", row.name, row.n)
	}
	if k.OtherShare >= 0 {
		p("%-24s %11.2f%%\n", "time on second threads", float64(k.OtherShare)/1e4)
	}
	return nil
}
