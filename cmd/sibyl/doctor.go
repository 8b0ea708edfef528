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
		Use:   "doctor",
		Short: "what this machine and kernel have, lack and should do",
		Long: `Look at the running machine and kernel, say which placement mechanisms they have,
what of it is a problem here, and what can be done, the least invasive first.

Nothing needs root; what only root can read is listed with what would help.
--root looks at a copy of another machine's /sys and /proc.`,
		Example: "  sibyl doctor\n  sibyl doctor --root copy-of-server --json",
		Args:    atMost(0),
		RunE: func(*cobra.Command, []string) error {
			system, name := host.Live(), machine.Live
			if root != "" {
				dir := env.path(root)
				if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
					return usagef("--root %s: not a directory", root)
				}
				system, name = os.DirFS(dir), dir
			}
			m, err := machine.Load(name)
			if err != nil {
				return err
			}
			r := host.Doctor(host.Read(system), m)
			if asJSON {
				return env.emit(r.WriteJSON)
			}
			return env.emit(r.WriteText)
		},
	}
	c.Flags().StringVar(&root, "root", "", "a directory to look at in place of /")
	addJSON(c, &asJSON)
	return c
}
