// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"github.com/spf13/cobra"

	"sibyl/host"
	"sibyl/machine"
)

func newDoctor(env Env) *cobra.Command {
	var (
		root   string
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "doctor [MACHINE]",
		Short: "what this machine and kernel have, lack and should do",
		Long: `Look at the running machine and kernel, say which placement mechanisms they have,
what of it is a problem here, and what can be done, the least invasive first.

Nothing needs root; what only root can read is listed with what would help.
MACHINE is live unless given; of another one only the machine is judged, since
its kernel is not at hand. --root looks at a copy of another machine's /sys and
/proc, kernel included.`,
		Example: "  sibyl doctor\n  sibyl doctor thunderx2\n  sibyl doctor --root copy-of-server --json",
		Args:    atMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, m, err := env.examine(root, args)
			if err != nil {
				return err
			}
			r := host.Doctor(s, m)
			if asJSON {
				return env.emit(r.WriteJSON)
			}
			return env.emit(r.WriteText)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(machine.Builtins(), machine.Live), cobra.ShellCompDirectiveDefault
		},
	}
	c.Flags().StringVar(&root, "root", "", "a directory to look at in place of /")
	addJSON(c, &asJSON)
	return c
}

// examine reads the system and the machine to judge: the live ones, a copy
// below root, or a described machine alone.
func (e Env) examine(root string, args []string) (*host.System, *machine.Machine, error) {
	name := machine.Live
	if len(args) > 0 {
		name = args[0]
	}
	switch {
	case root != "" && len(args) > 0:
		return nil, nil, usagef("--root and MACHINE exclude each other")
	case root != "":
		dir := e.path(root)
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			return nil, nil, usagef("--root %s: not a directory", root)
		}
		m, err := machine.Load(dir)
		if err != nil {
			return nil, nil, err
		}
		return host.Read(os.DirFS(dir)), m, nil
	}
	m, err := e.loadMachine(name)
	if err != nil {
		return nil, nil, err
	}
	if name == machine.Live {
		return host.Read(host.Live()), m, nil
	}
	return host.Elsewhere(), m, nil
}
