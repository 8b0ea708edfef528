// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sibyl/fitted"
	"sibyl/published"
)

func newReproduce(env Env) *cobra.Command {
	var (
		o       published.Options
		asJSON  bool
		fitFile string
		check   bool
	)
	c := &cobra.Command{
		Use:   "reproduce [TABLE...]",
		Short: "every published table: published, simulated, error, fitted or predicted",
		Long: `Simulate what the messages published and print both side by side.

What was predicted, what a parameter was fitted on, what was given to the model
and what follows from other rows stand apart. A predicted row that is outside
its tolerance is marked with "!". Ablations show the same runs with one
assumption changed.`,
		Example: `  sibyl reproduce
  sibyl reproduce thunderx2-gemm --json
  sibyl reproduce --fit parameters.json`,
		RunE: func(c *cobra.Command, args []string) error {
			o.Tables = args
			all, _, err := published.Tables()
			if err != nil {
				return err
			}
			for _, t := range args {
				if !slices.Contains(all, t) {
					return usagef("unknown table %q: want one of %s", t, strings.Join(all, ", "))
				}
			}
			if c.Flags().Changed("seeds") && (o.Seeds < 1 || o.Seeds > maxSeeds) {
				return usagef("--seeds %d: want 1 to %d", o.Seeds, maxSeeds)
			}
			if fitFile != "" || check {
				for _, name := range []string{"json", "seeds", "no-ablations"} {
					if c.Flags().Changed(name) {
						return usagef("--%s has no effect on a fit", name)
					}
				}
				if len(args) > 0 {
					return usagef("a fit takes no TABLE: %q", args[0])
				}
				return env.fit(c, fitFile, check, o.Workers)
			}
			bar := env.progress("runs")
			o.Progress = bar.update
			rep, err := published.Reproduce(c.Context(), o)
			bar.end()
			if rep == nil {
				return err
			}
			werr := env.emit(func(w io.Writer) error { // what is done, if it was stopped
				if asJSON {
					return rep.JSON(w)
				}
				return rep.Text(w)
			})
			if err == nil {
				err = werr
			}
			return err
		},
	}
	addJSON(c, &asJSON)
	c.Flags().IntVarP(&o.Seeds, "seeds", "n", 0, "runs of each configuration (default: 20 on Vera, 1 on ThunderX2)")
	c.Flags().BoolVar(&o.NoAblations, "no-ablations", false, "leave the ablations out")
	c.Flags().StringVar(&fitFile, "fit", "", "fit the parameters anew and write them to this file (- for standard output)")
	c.Flags().BoolVar(&check, "check-fit", false, "fit the parameters anew and fail unless they are the embedded ones, bit for bit")
	addWorkers(c, &o.Workers)
	return c
}

// fit fits the parameters anew, and writes or checks them.
func (e Env) fit(c *cobra.Command, file string, check bool, workers int) error {
	if file != "" && file != "-" {
		// A minute's work should not end in a name that cannot be written.
		if fi, err := os.Stat(filepath.Dir(e.path(file))); err != nil || !fi.IsDir() {
			return fmt.Errorf("write %s: no such directory", file)
		}
		if fi, err := os.Stat(e.path(file)); err == nil && fi.IsDir() {
			return fmt.Errorf("write %s: is a directory", file)
		}
	}
	p, err := published.Fit(c.Context(), published.FitOptions{
		Workers: workers,
		Log:     func(line string) { _, _ = fmt.Fprintln(e.Stderr, line) },
	})
	if err != nil {
		return err
	}
	if file != "" {
		err := e.save(file, func(w io.Writer) error { _, err := w.Write(p.Format()); return err })
		if err != nil {
			return err
		}
	}
	if check && !bytes.Equal(p.Format(), fitted.Default().Format()) {
		return fmt.Errorf("check fit: the fitted parameters are not the embedded ones (write them with --fit and compare)")
	}
	return nil
}
