// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"sibyl/policy"
)

func newPolicy(env Env) *cobra.Command {
	return group("policy", "editions, switches, what each rule is and which kernels have it",
		"  sibyl policy list\n  sibyl policy show v7.3+smt-asym-packing=on",
		newPolicyList(env), newPolicyShow(env))
}

func newPolicyList(env Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "the editions and the switches with their values",
		Example: "  sibyl policy list --json",
		Args:    atMost(0),
		RunE: func(*cobra.Command, []string) error {
			return env.emit(func(w io.Writer) error {
				if asJSON {
					return writePolicies(w)
				}
				return policy.List(w)
			})
		},
	}
	addJSON(c, &asJSON)
	return c
}

func newPolicyShow(env Env) *cobra.Command {
	return &cobra.Command{
		Use:     "show POLICY",
		Short:   "what a policy does: every switch and each rule that differs from Linux 7.3.4",
		Example: "  sibyl policy show v6.12\n  sibyl policy show v7.2+sync-wakeup=sis",
		Args:    exactly("POLICY"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return editionNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := policy.Parse(args[0]); err != nil {
				return usage(err)
			}
			return env.emit(func(w io.Writer) error { return policy.Show(w, args[0]) })
		},
	}
}

func editionNames() []string {
	var names []string
	for _, e := range policy.Editions() {
		names = append(names, e.Name)
	}
	return names
}

// writePolicies writes the tables of policy list as JSON.
func writePolicies(w io.Writer) error {
	type edition struct {
		Name   string `json:"name"`
		Kernel string `json:"kernel"`
		Source string `json:"source"`
	}
	type value struct {
		Name    string `json:"name"`
		What    string `json:"what"`
		Kernels string `json:"kernels"`
	}
	type aSwitch struct {
		Name     string  `json:"name"`
		What     string  `json:"what"`
		Function string  `json:"function"`
		Section  string  `json:"section"`
		Values   []value `json:"values"`
	}
	out := struct {
		Editions []edition `json:"editions"`
		Switches []aSwitch `json:"switches"`
	}{}
	for _, e := range policy.Editions() {
		out.Editions = append(out.Editions, edition{e.Name, e.Kernel, e.Source})
	}
	for _, s := range policy.Switches() {
		sw := aSwitch{Name: s.Name, What: s.What, Function: s.Function, Section: s.Section}
		for _, v := range s.Values {
			sw.Values = append(sw.Values, value{v.Name, v.What, v.Kernels})
		}
		out.Switches = append(out.Switches, sw)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(out)
}
