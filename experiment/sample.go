// SPDX-License-Identifier: Apache-2.0

// Package experiment runs a configuration over many seeds and compares what was
// measured: jobs, samples, summaries, comparisons with a verdict, and their
// text, Markdown, CSV and JSON forms.
//
// It does not know the simulator: Run takes a function, Compare takes samples.
// Results do not depend on the order of samples, on the number of workers or
// on the machine that computes them. All functions may be called concurrently
// on different values; none keeps or changes its arguments.
package experiment

// Sample is one metric of one run.
type Sample struct {
	// Policy names the configuration: a policy, or a policy with what else
	// differs from the other configurations (a machine setting).
	Policy string  `json:"policy"`
	Seed   uint64  `json:"seed"`
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"` // as results.csv spells it: TFLOP/s, s, us, count
	Value  float64 `json:"value"`
	// LowerIsBetter orders two values of the metric.
	LowerIsBetter bool `json:"-"`
}

// Job is one run of a comparison.
type Job struct {
	Policy string
	Seed   uint64
}

// Jobs returns the runs of n seeds, first, first+1, …, under each policy. All
// policies of one seed stand together, so that what is done when a batch is
// stopped is mostly whole pairs.
func Jobs(policies []string, first uint64, n int) []Job {
	if n <= 0 || len(policies) == 0 {
		return nil
	}
	jobs := make([]Job, 0, n*len(policies))
	for i := range n {
		for _, p := range policies {
			jobs = append(jobs, Job{Policy: p, Seed: first + uint64(i)})
		}
	}
	return jobs
}
