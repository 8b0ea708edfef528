// SPDX-License-Identifier: Apache-2.0

// Package sim runs a workload on a machine under a policy: clock, events, CPUs,
// ticks, interrupts and migration. What a rule decides is not here: placement,
// balance, runqueue, pelt and coremode are called for it.
//
// A run is single-threaded and deterministic: time is integer nanoseconds,
// events are ordered by (time, class, sequence), and every random draw comes
// from a named stream of the seed. Separate runs may go on concurrently.
package sim

import (
	"errors"
	"fmt"

	"sibyl/decision"
	"sibyl/domain"
	"sibyl/machine"
	"sibyl/policy"
	"sibyl/trace"
	"sibyl/workload"
)

// Config is one run.
type Config struct {
	Machine  *machine.Machine
	Policy   policy.Policy
	Workload workload.Spec
	Seed     uint64
	// Domains are the machine's sched domains under the policy's options, if
	// the caller has built them: runs may share them. nil builds them.
	Domains *domain.Hierarchy
	// DurationNS ends the run at this time after the workload's start if the
	// workload has not ended by then; 0 stands for MaxDuration.
	DurationNS int64
	// PastNS is how long the machine idles with its noise before the
	// workload starts, so that placement finds a history.
	PastNS int64
	Costs  Costs
	// ForceOther overrides the rules for an ablation: each measured task gets
	// a fixed draw, and with this probability its thread of a wholly idle
	// core is the second one, else the first. Negative: the rules decide.
	ForceOther float64
	// Trace receives the run's events; nil for none. Decisions are traced
	// with their path.
	Trace trace.Sink
	// Explain, when not nil, is asked about each placement decision, by its
	// number from 0 (the past included), time in ns since the workload's
	// start, and task. Those that it wants are given to Decision with their
	// inputs and path. Neither changes the run.
	Explain  func(n, now int64, task string) bool
	Decision func(d decision.Decision, task string, now int64)
}

// MaxDuration bounds a run, ns.
const MaxDuration int64 = 3600 * 1_000_000_000

// Costs are the times that kernel work takes, in ns. They are assumptions
// (docs/model.md); the rules do not depend on them.
type Costs struct {
	Switch   int64 // context switch, charged to the next task
	Wake     int64 // one wakeup, charged to the waker
	Fork     int64 // one fork, charged to the parent
	IPI      int64 // from sending to arriving
	IdleExit int64 // from the interrupt to running in an idle CPU
	Tick     int64 // one tick on a busy CPU
	Stopper  int64 // one active balance on the source CPU
	// One balance pass over one domain takes PassBase plus PassCPU for each
	// CPU of the span; the ILB's softirq starts with ILBBase.
	PassBase, PassCPU, ILBBase int64
}

// DefaultCosts are round numbers of the size that such work takes on a server
// core; none is fitted.
func DefaultCosts() Costs {
	return Costs{
		Switch: 1000, Wake: 1000, Fork: 20_000, IPI: 500, IdleExit: 1000,
		Tick: 500, Stopper: 3000, PassBase: 500, PassCPU: 10, ILBBase: 2000,
	}
}

// Default returns a run with the default past and costs.
func Default(m *machine.Machine, p policy.Policy, w workload.Spec, seed uint64) Config {
	return Config{
		Machine: m, Policy: p, Workload: w, Seed: seed,
		PastNS: 500_000_000, Costs: DefaultCosts(), ForceOther: -1,
	}
}

func (c *Config) check() error {
	switch {
	case c.Machine == nil:
		return errors.New("run simulation: no machine")
	case c.Machine.Online().Empty():
		return fmt.Errorf("run simulation: machine %s has no online CPU", c.Machine.Name)
	case c.DurationNS < 0 || c.DurationNS > MaxDuration:
		return fmt.Errorf("run simulation: duration %d ns: want 0 to %d", c.DurationNS, MaxDuration)
	case c.PastNS < 0 || c.PastNS > MaxDuration:
		return fmt.Errorf("run simulation: past %d ns: want 0 to %d", c.PastNS, MaxDuration)
	}
	return nil
}
