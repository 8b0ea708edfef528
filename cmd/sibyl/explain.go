// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sibyl/decision"
	"sibyl/domain"
	"sibyl/placement"
	"sibyl/sim"
)

func newExplain(env Env) *cobra.Command {
	var (
		f     runFlags
		pol   string
		seed  uint64
		task  string
		n     int64
		limit int
		out   string
	)
	c := &cobra.Command{
		Use:   "explain [FILE]",
		Short: "why a task went where it went: the rules in order",
		Long: `Show the rules that led to a placement decision, in the kernel's order and with
the names of the kernel's functions.

Without FILE the decisions of a simulated run are listed; --decision picks one
and shows its path, --out writes it with its inputs. FILE holds such decisions:
the rules are applied to them again, and a difference is an error.`,
		Example: `  sibyl explain --set cpus=0-87,176-263 --task openblas-sgemm-3
  sibyl explain --set cpus=0-87,176-263 --decision 1234 --out decision.txt
  sibyl explain decision.txt`,
		Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("decision") && n < 0 {
				return usagef("--decision %d: want a number from 0", n)
			}
			if len(args) == 1 {
				var other []string
				c.Flags().Visit(func(f *pflag.Flag) {
					if f.Name != "decision" {
						other = append(other, "--"+f.Name)
					}
				})
				if len(other) > 0 {
					return usagef("FILE and %s exclude each other: the file holds the machine, the policy and the inputs", strings.Join(other, ", "))
				}
				return env.explainFile(args[0], n)
			}
			v, err := f.variant(env, pol)
			if err != nil {
				return err
			}
			if limit < 1 {
				return usagef("--limit %d: want at least 1", limit)
			}
			v.cfg.Seed = seed
			return env.explainRun(c, v, task, n, limit, out)
		},
	}
	f.add(c)
	c.Flags().StringVar(&pol, "policy", "v7.3", "the policy: an edition and switches")
	c.Flags().Uint64Var(&seed, "seed", 1, "the seed of all random draws")
	c.Flags().StringVar(&task, "task", "", "only decisions about tasks whose name starts so")
	c.Flags().Int64Var(&n, "decision", -1, "show the decision of this number with its path")
	c.Flags().IntVar(&limit, "limit", 20, "list at most so many decisions")
	c.Flags().StringVar(&out, "out", "", "write the decisions with their inputs to this file (- for standard output, alone)")
	return c
}

// explained is a decision with its task's name and its time, ns: since the
// workload's start, or on the kernel's clock if it comes from a file.
type explained struct {
	d    decision.Decision
	task string
	now  int64
}

func (e Env) explainRun(c *cobra.Command, v variant, task string, n int64, limit int, out string) error {
	var got []explained
	// The run is over when it has what was asked for.
	ctx, enough := context.WithCancel(c.Context())
	defer enough()
	v.cfg.Explain = func(seq, now int64, name string) bool {
		if n >= 0 {
			return seq == n
		}
		return now >= 0 && len(got) < limit && strings.HasPrefix(name, task)
	}
	v.cfg.Decision = func(d decision.Decision, name string, now int64) {
		got = append(got, explained{d, name, now})
		if n >= 0 || len(got) == limit {
			enough()
		}
	}
	if _, err := sim.Run(ctx, v.cfg); err != nil && (c.Context().Err() != nil || ctx.Err() == nil) {
		return err
	}
	if len(got) == 0 {
		if n >= 0 {
			return fmt.Errorf("no decision has the number %d in this run", n)
		}
		return fmt.Errorf("no decision about a task whose name starts with %q in this run", task)
	}
	if out != "" {
		log := &decision.Log{Header: decision.Header{
			Machine: v.cfg.Machine, Options: v.cfg.Policy.Options, Rules: v.cfg.Policy.Rules,
		}}
		for _, x := range got {
			log.Decisions = append(log.Decisions, x.d)
		}
		if err := e.save(out, log.WriteText); err != nil || out == "-" {
			return err
		}
	}
	return e.emit(func(w io.Writer) error {
		if n >= 0 {
			return printDecision(w, &got[0])
		}
		for i := range got {
			printDecisionLine(w, &got[i])
		}
		_, err := fmt.Fprintf(w, "\nshow one with --decision NUMBER\n")
		return err
	})
}

func printDecisionLine(w io.Writer, x *explained) {
	last := ""
	if s := x.d.Path.Steps; len(s) > 0 {
		last = s[len(s)-1].Rule.String()
	}
	_, _ = fmt.Fprintf(w, "%8d %12.6f s  %-22s %-5s %4d -> %-4d %s\n",
		x.d.Seq, float64(x.now)/1e9, x.task, what(x.d.Request.Flags), x.d.Request.Prev, x.d.Result, last)
}

func what(f placement.Flags) string {
	switch {
	case f&placement.Fork != 0:
		return "fork"
	case f&placement.Exec != 0:
		return "exec"
	case f&placement.Sync != 0:
		return "sync"
	}
	return "wake"
}

func printDecision(w io.Writer, x *explained) error {
	r := x.d.Request
	from := "the idle task or an interrupt"
	if r.Waker >= 0 {
		from = fmt.Sprintf("task %d", r.Waker)
	}
	_, err := fmt.Fprintf(w, "decision %d at %.6f s: %s of %s (task %d)\n  made on CPU %d by %s; previous CPU %d\n  chosen: CPU %d\n\n",
		x.d.Seq, float64(x.now)/1e9, what(r.Flags), x.task, r.Task, r.Here, from, r.Prev, x.d.Result)
	if err != nil {
		return err
	}
	return x.d.Path.Format(w)
}

// explainFile applies the rules again to recorded decisions, or to the one of
// number n if that is not negative.
func (e Env) explainFile(name string, n int64) error {
	file, err := os.Open(e.path(name))
	if err != nil {
		err = fmt.Errorf("read decisions %s: %w", name, cause(err))
		if errors.Is(err, fs.ErrNotExist) {
			return usage(err)
		}
		return err
	}
	defer func() { _ = file.Close() }()
	log, err := decision.ReadText(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if n >= 0 {
		log.Decisions = slices.DeleteFunc(log.Decisions, func(d decision.Decision) bool { return d.Seq != n })
		if len(log.Decisions) == 0 {
			return fmt.Errorf("%s: no decision has the number %d", name, n)
		}
	}
	h, err := domain.Build(log.Header.Machine, log.Header.Options)
	if err != nil {
		return fmt.Errorf("read decisions %s: %w", name, err)
	}
	different := 0
	err = e.emit(func(w io.Writer) error {
		for i := range log.Decisions {
			d := &log.Decisions[i]
			got, err := decision.Replay(h, log.Header.Rules, d)
			if err != nil {
				return err
			}
			shown := explained{d: *d, task: taskName(d), now: d.Request.Now}
			shown.d.Path = got.Path
			if err := printDecision(w, &shown); err != nil {
				return err
			}
			note := ""
			switch {
			case got.Result != d.Result:
				note = fmt.Sprintf("differs: recorded is CPU %d, the rules say CPU %d", d.Result, got.Result)
			case len(d.Path.Steps) > 0 && !slices.Equal(d.Path.Steps, got.Path.Steps):
				note = "differs: the recorded path is another one"
			}
			if note != "" {
				different++
				_, _ = fmt.Fprintf(w, "\n  %s\n", note) // emit's buffer takes all
			}
			if i < len(log.Decisions)-1 {
				_, _ = fmt.Fprintln(w)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if different > 0 {
		return fmt.Errorf("%s: %d of %d decisions differ from the rules", name, different, len(log.Decisions))
	}
	return nil
}

// taskName is the name of the task that a recorded decision places.
func taskName(d *decision.Decision) string {
	for i := range d.Before.Tasks {
		if t := &d.Before.Tasks[i]; t.ID == int64(d.Request.Task) {
			return t.Name
		}
	}
	return "a task"
}
