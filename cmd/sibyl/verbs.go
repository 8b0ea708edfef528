// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// verbs lists the command's verbs. Each has a file of its own.
func verbs(env Env) []*cobra.Command {
	return []*cobra.Command{
		newDoctor(env),
		newPolicy(env),
		newTopology(env),
		newCompare(env),
		newExplain(env),
		newReproduce(env),
		newSimulate(env),
		newVersion(env),
	}
}
