// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sibyl/domain"
	"sibyl/fitted"
	"sibyl/machine"
	"sibyl/policy"
	"sibyl/sim"
	"sibyl/workload"
)

// runFlags are the flags that say what a simulation runs: machine, workload,
// seed, how long. Policies are each verb's own.
type runFlags struct {
	machine, machineSet string
	workload            string
	set                 settings
	duration            durationFlag
	past                time.Duration
}

func (f *runFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.machine, "machine", "vera", "MACHINE: a built-in name, live, a sysfs tree, an hwloc or YAML file")
	c.Flags().StringVar(&f.machineSet, "machine-set", "", machineSetAbout)
	c.Flags().StringVar(&f.workload, "workload", "openblas-sgemm", "WORKLOAD: "+strings.Join(workloadNames(), ", "))
	addSettings(c, &f.set, "set", "a setting of the workload, such as threads=88 (repeatable)")
	addDuration(c, &f.duration, "duration", "end the run after this much simulated time (default: when the workload ends, or 10s for one that does not)")
	c.Flags().DurationVar(&f.past, "past", defaultPast, "simulated idling with background noise before the workload starts; 0 for none")
	complete(c, "workload", workloadNames)
}

// defaultPast is that of sim.Default.
const defaultPast = 500 * time.Millisecond

func workloadNames() []string {
	var names []string
	for _, k := range workload.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// variant is one configuration of a run, as --policy names it: a policy and,
// after spaces, what else differs, key by key: settings of the machine (smt,
// offline, capacity) or of the workload.
type variant struct {
	name string
	cfg  sim.Config
}

// variant builds the configuration that text names.
func (f *runFlags) variant(env Env, text string) (variant, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return variant{}, usagef("empty policy: want one such as v7.3")
	}
	pol, err := policy.Parse(words[0])
	if err != nil {
		return variant{}, usage(err)
	}
	w := workload.Spec{Name: f.workload, Set: slices.Clone(f.set)}
	changes := []string{}
	if f.machineSet != "" {
		changes = append(changes, f.machineSet)
	}
	for _, kv := range words[1:] {
		key, _, ok := strings.Cut(kv, "=")
		switch {
		case !ok:
			return variant{}, usagef("policy %q: %q: want key=value", text, kv)
		case slices.Contains(machineKeys, key):
			changes = append(changes, kv)
		default:
			w.Set = append(w.Set, kv)
		}
	}
	limit := time.Duration(sim.MaxDuration)
	if time.Duration(f.duration) > limit {
		return variant{}, usagef("--duration %v: want at most %v", time.Duration(f.duration), limit)
	}
	if f.past < 0 || f.past > limit {
		return variant{}, usagef("--past %v: want 0 to %v", f.past, limit)
	}
	m, err := env.loadMachine(f.machine)
	if err != nil {
		return variant{}, err
	}
	m.ApplyFitted(fitted.Default())
	for _, ch := range changes {
		if m, err = machine.Set(m, ch); err != nil {
			return variant{}, usage(err)
		}
	}
	// A workload that does not fit is wrong use; better now than after a
	// long run of others.
	if _, err := w.Build(m, 1); err != nil {
		if len(words) > 1 {
			err = fmt.Errorf("policy %q: %w", text, err)
		}
		return variant{}, usage(err)
	}
	cfg := sim.Default(m, pol, w, 1)
	if cfg.Domains, err = domain.Build(m, pol.Options); err != nil {
		return variant{}, err
	}
	cfg.DurationNS = int64(f.duration)
	if f.duration == 0 && f.workload == "hogs" {
		cfg.DurationNS = 10_000_000_000
	}
	cfg.PastNS = int64(f.past)
	return variant{name: text, cfg: cfg}, nil
}

// machineSetAbout is the help of --machine-set.
const machineSetAbout = "changes to the machine: smt=off|on, offline=LIST, online=LIST, capacity=equal, hz=N, separated by commas"

// machineKeys are the keys of --machine-set.
var machineKeys = []string{"smt", "offline", "online", "capacity", "hz"}
