// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Env is what the command uses of its surroundings.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer // data
	Stderr io.Writer // all else
	Getenv func(string) string
	// Dir is what relative file names are relative to; "" is the working
	// directory.
	Dir string
	// Width is that of the terminal on Stderr, 0 if it is none: then no
	// progress is shown.
	Width int
}

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is wrong use of the command, as opposed to a failure.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef returns a usageError.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// usage marks err, if it is one, as wrong use.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// Run runs the command with the arguments after its name and returns its exit
// code. An error is one line on Stderr. When ctx ends, long work stops and
// what is done is shown.
func Run(ctx context.Context, env Env, args []string) int {
	root := newRoot(env)
	cmd, err := unknownVerb(root, args)
	if err == nil {
		root.SetArgs(args)
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return exitDone
	}
	// The line may not be written either; the exit code still tells.
	_, _ = fmt.Fprintf(env.Stderr, "%s: %s\n", cmd.CommandPath(), oneLine(err.Error()))
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// newRoot returns the command tree. verbs lists it.
func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "sibyl",
		Short: "see, predict and fix where Linux puts tasks on SMT and asymmetric CPUs",
		Long: `Sibyl sees, predicts and fixes where Linux puts tasks on SMT and asymmetric CPUs.

Data goes to standard output, all else to standard error. The exit code is 0
when done, 1 when something failed, 2 when the command was used wrongly.`,
		Example:       "  sibyl topology vera\n  sibyl policy list",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          missingVerb,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(verbs(env)...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, missingVerb
		}
	}
	return root
}

// group returns a verb that only holds others.
func group(use, short, example string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ArbitraryArgs, RunE: missingVerb}
	c.AddCommand(subs...)
	return c
}

func missingVerb(c *cobra.Command, _ []string) error {
	return usagef("no verb: want one of %s (or --help)", strings.Join(verbNames(c), ", "))
}

func verbNames(c *cobra.Command) []string {
	var names []string
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() || s.Name() == "help" {
			names = append(names, s.Name())
		}
	}
	return names
}

// unknownVerb looks for a verb that does not exist before flags are read, since
// the flags of a misspelt verb would be reported in its place. It returns the
// verb that has no such verb below it.
func unknownVerb(root *cobra.Command, args []string) (*cobra.Command, error) {
	c := root
	for i, a := range args {
		if !c.HasSubCommands() || strings.HasPrefix(a, "-") || strings.HasPrefix(a, cobra.ShellCompRequestCmd) {
			return c, nil
		}
		if c == root && i == 0 && a == "help" {
			continue // help VERB: the rest are verbs too
		}
		var next *cobra.Command
		for _, s := range c.Commands() {
			if s.Name() == a || s.HasAlias(a) {
				next = s
			}
		}
		if next == nil {
			return c, usagef("unknown verb %q: want one of %s", a, strings.Join(verbNames(c), ", "))
		}
		c = next
	}
	return c, nil
}

// flagError names the wrong flag and lists the known ones.
func flagError(c *cobra.Command, err error) error {
	if _, ok := errors.AsType[*pflag.NotExistError](err); !ok {
		return usage(err)
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	return usagef("%w: want one of %s", err, strings.Join(known, ", "))
}

// atMost returns the check that there are no more than n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("unexpected argument %q", args[n])
		}
		return nil
	}
}

// exactly returns the check that there is one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("no %s given", names[len(args)])
		}
		return atMost(len(names))(c, args)
	}
}

// emit writes to Stdout what render gives, or nothing if it fails.
func (e Env) emit(render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	if _, err := e.Stdout.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// warn writes remarks about the data to Stderr.
func (e Env) warn(c *cobra.Command, warnings []string) {
	for _, w := range warnings {
		_, _ = fmt.Fprintf(e.Stderr, "%s: warning: %s\n", c.CommandPath(), oneLine(w))
	}
}
