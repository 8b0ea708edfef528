// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

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
			if len(args) == 1 {
				return env.explainFile(args[0])
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
	c.Flags().StringVar(&out, "out", "", "write the decision with its inputs to this file")
	return c
}

// explained is one decision of a run with what the list says of it.
type explained struct {
	d    decision.Decision
	task string
	now  int64
}

func (e Env) explainRun(c *cobra.Command, v variant, task string, n int64, limit int, out string) error {
	var got []explained
	v.cfg.Explain = func(seq, now int64, name string) bool {
		if n >= 0 {
			return seq == n
		}
		return now >= 0 && len(got) < limit && strings.HasPrefix(name, task)
	}
	v.cfg.Decision = func(d decision.Decision, name string, now int64) {
		got = append(got, explained{d, name, now})
	}
	if _, err := sim.Run(c.Context(), v.cfg); err != nil {
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
		if err := e.save(out, log.WriteText); err != nil {
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

// explainFile applies the rules again to recorded decisions.
func (e Env) explainFile(name string) error {
	file, err := os.Open(e.path(name))
	if err != nil {
		return fmt.Errorf("read decisions %s: %w", name, cause(err))
	}
	defer func() { _ = file.Close() }()
	log, err := decision.ReadText(file)
	if err != nil {
		return fmt.Errorf("read decisions %s: %w", name, err)
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
			taskName := ""
			if len(d.Before.Tasks) > 0 {
				taskName = d.Before.Tasks[0].Name
			}
			shown := explained{d: *d, task: taskName, now: d.Request.Now}
			shown.d.Path = got.Path
			if err := printDecision(w, &shown); err != nil {
				return err
			}
			if got.Result != d.Result {
				different++
				_, _ = fmt.Fprintf(w, "  recorded: CPU %d, the rules say CPU %d\n", d.Result, got.Result)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if different > 0 {
		return fmt.Errorf("%d of %d decisions differ from the rules", different, len(log.Decisions))
	}
	return nil
}
