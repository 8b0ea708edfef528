// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"sibyl/domain"
	"sibyl/machine"
	"sibyl/policy"
	"sibyl/report"
)

func newTopology(env Env) *cobra.Command {
	var (
		machineSet string
		pol        string
		asJSON     bool
		svg        string
	)
	c := &cobra.Command{
		Use:   "topology [MACHINE]",
		Short: "a machine and its sched domains",
		Long: `Print a machine's CPUs and the sched domains that a kernel builds for them.

MACHINE is a built-in name, live (the default), a directory or tarball with a
sysfs tree, an hwloc XML file, or a YAML machine file. --policy names the kernel
that builds the domains. --svg draws the machine instead of printing it.`,
		Example: `  sibyl topology thunderx2
  sibyl topology vera --policy v7.3+smt-asym-packing=on --json
  sibyl topology altra --machine-set offline=5 --svg altra.svg`,
		Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON && svg == "-" {
				return usagef("--json and --svg - both write to standard output")
			}
			name := machine.Live
			if len(args) > 0 {
				name = args[0]
			}
			m, h, err := env.build(name, machineSet, pol)
			if err != nil {
				return err
			}
			if svg != "" {
				if !asJSON {
					env.warn(c, m.Warnings)
					env.warn(c, h.Warnings)
				}
				if err := env.save(svg, func(w io.Writer) error { return report.TopologySVG(w, m, h) }); err != nil || !asJSON {
					return err
				}
			}
			return env.emit(func(w io.Writer) error {
				if !asJSON {
					return report.Topology(w, m, h)
				}
				data, err := report.TopologyJSON(m, h)
				if err != nil {
					return err
				}
				_, err = w.Write(append(data, '\n'))
				return err
			})
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(machine.Builtins(), machine.Live), cobra.ShellCompDirectiveDefault
		},
	}
	c.Flags().StringVar(&machineSet, "machine-set", "", machineSetAbout)
	c.Flags().StringVar(&pol, "policy", "v7.3", "the policy whose domains are built: an edition and switches")
	c.Flags().StringVar(&svg, "svg", "", "draw the machine to this file (- for standard output)")
	addJSON(c, &asJSON)
	complete(c, "policy", editionNames)
	return c
}

// build loads a machine, changes it and builds the policy's domains.
func (e Env) build(name, changes, pol string) (*machine.Machine, *domain.Hierarchy, error) {
	p, err := policy.Parse(pol)
	if err != nil {
		return nil, nil, usage(err)
	}
	m, err := e.loadMachine(name)
	if err != nil {
		return nil, nil, err
	}
	if changes != "" {
		if m, err = machine.Set(m, changes); err != nil {
			return nil, nil, usage(err)
		}
	}
	h, err := domain.Build(m, p.Options)
	return m, h, err
}

// loadMachine loads the MACHINE of that name. A name that is nothing is wrong
// use; a file or a live system that cannot be read is a failure.
func (e Env) loadMachine(name string) (*machine.Machine, error) {
	if name == machine.Live || slices.Contains(machine.Builtins(), name) {
		return machine.Load(name)
	}
	if _, err := os.Stat(e.path(name)); err != nil {
		_, err := machine.Load(name)
		return nil, usage(err)
	}
	return machine.Load(e.path(name))
}
