// SPDX-License-Identifier: Apache-2.0

// Command sibyl sees, predicts and fixes where Linux puts tasks on SMT and
// asymmetric CPUs. docs/command-line.md describes its verbs and what scripts may
// rely on.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	// The first ^C asks the verb to end with what is done; the second one
	// kills, since stop restores the default.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	env := Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	if fd := int(os.Stderr.Fd()); term.IsTerminal(fd) {
		env.Width = 80
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			env.Width = w
		}
	}
	os.Exit(Run(ctx, env, os.Args[1:]))
}
