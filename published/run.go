// SPDX-License-Identifier: Apache-2.0

package published

import (
	"context"
	"fmt"
	"strconv"

	"sibyl/domain"
	"sibyl/experiment"
	"sibyl/fitted"
	"sibyl/machine"
	"sibyl/policy"
	"sibyl/sim"
	"sibyl/workload"
)

// change is how an ablation departs from a run; the zero value does not.
type change struct {
	set     []string // workload settings, over the setup's own
	params  func(fitted.Set) fitted.Set
	machine func(*machine.Machine)
	// other forces the share of threads on second threads; used if forced.
	forced bool
	other  float64
	// ownNoise takes the machine's noise even if the setup names another.
	ownNoise bool
}

// config turns a setup under the given parameters into a simulation, of which
// only the seed is missing.
func config(s Setup, p fitted.Set, ch change) (sim.Config, error) {
	if ch.params != nil {
		p = ch.params(p)
	}
	m, err := machine.Load(s.Machine)
	if err != nil {
		return sim.Config{}, err
	}
	m.ApplyFitted(p)
	if ch.machine != nil {
		ch.machine(m)
	}
	pol, err := policy.Parse(s.Policy)
	if err != nil {
		return sim.Config{}, err
	}
	w := workload.Spec{Name: s.Workload, Set: append([]string(nil), s.Set...)}
	model := m.Model
	if v, ok := p.Get(model + "." + s.Workload + ".mflops"); ok {
		w.Set = append(w.Set, fmt.Sprintf("mflops=%d", v))
	}
	if v, ok := p.Get(model + "." + s.Workload + ".share"); ok {
		w.Set = append(w.Set, "share="+decimal(v, 1_000_000))
	}
	if v, ok := p.Get(model + ".jitter"); ok {
		w.Set = append(w.Set, "jitter="+decimal(v, 1_000_000))
	}
	noise := model
	if s.Noise != "" && !ch.ownNoise {
		noise = s.Noise
	}
	if v, ok := p.Get(noise + ".noise-first"); ok {
		w.Set = append(w.Set,
			"noise-first="+decimal(v, 1000),
			"noise-other="+decimal(p.Or(noise+".noise-other", 0), 1000),
			"noise-cv="+decimal(p.Or(model+".noise-cv", 0), 1000))
	}
	w.Set = append(w.Set, ch.set...)
	c := sim.Default(m, pol, w, 0)
	if ch.forced {
		c.ForceOther = ch.other
	}
	if c.Domains, err = domain.Build(m, pol.Options); err != nil {
		return sim.Config{}, err
	}
	return c, nil
}

// decimal writes v/scale exactly.
func decimal(v, scale int64) string {
	width := len(strconv.FormatInt(scale, 10)) - 1
	return fmt.Sprintf("%d.%0*d", v/scale, width, v%scale)
}

// values are one simulated run's metrics by the names of results.csv.
type values map[string]float64 // looked up by name, never ranged over

// measure turns a result into published metrics. length is the published run
// length in seconds, or 0.
func measure(r *sim.Result, length float64) values {
	v := values{}
	for _, m := range r.Metrics {
		v[m.Name] = m.Value
	}
	c := r.Counters.Modes
	if length == 0 {
		length = float64(r.DurationNS) / 1e9
	}
	v["st_to_smt_completed"] = float64(c.STToSMT)
	v["smt_to_st_completed"] = float64(c.SMTToST)
	v["smt_to_st_aborted"] = float64(c.Aborted)
	v["st_to_smt_rate"] = float64(c.STToSMT) / length
	v["smt_to_st_rate"] = float64(c.SMTToST) / length
	v["st_to_smt_latency"] = float64(c.STToSMTCycles) / 1e6
	v["smt_to_st_latency"] = float64(c.SMTToSTCycles) / 1e6
	v["other_share"] = float64(r.Counters.OtherShare) / 1e6
	v["events"] = float64(r.Events)
	return v
}

// scale converts a simulated value into the unit of a published row.
func scale(v float64, unit string) float64 {
	switch unit {
	case "GFLOP/s":
		return v * 1e3
	case "MFLOP/s":
		return v * 1e6
	}
	return v
}

// job is one simulation of a batch. The runs of one configuration share cfg,
// which is only read.
type job struct {
	name   string
	cfg    *sim.Config
	length float64 // published run length in seconds, or 0
	seed   uint64
}

// jobs adds the runs of a setup on seeds 1 to n.
func jobs(list []job, name string, s Setup, p fitted.Set, ch change, n int) ([]job, error) {
	c, err := config(s, p, ch)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for seed := range n {
		list = append(list, job{name: name, cfg: &c, length: s.Length, seed: uint64(seed + 1)})
	}
	return list, nil
}

// batch runs jobs in parallel and returns their values in the jobs' order.
func batch(ctx context.Context, list []job, workers int, progress func(done, total int)) ([]values, error) {
	return experiment.Run(ctx, list, workers, func(ctx context.Context, j job) (values, error) {
		c := *j.cfg
		c.Seed = j.seed
		r, err := sim.Run(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s seed %d: %w", j.name, j.seed, err)
		}
		return measure(r, j.length), nil
	}, progress)
}
