// SPDX-License-Identifier: Apache-2.0

package published

import (
	"sibyl/fitted"
	"sibyl/machine"
)

// ablation is one departure from the model that `reproduce` shows beside the
// rows, so that a reader sees what the public constants explain by themselves
// and what the assumptions carry.
type ablation struct {
	name, about string
	table       string
	runs        []string // setups, by name
	ch          change
	seeds       int
	// whole simulates the whole run, as the rows' own runs do. Without it the
	// fill is cut short, which leaves throughput as it is, and transitions are
	// not shown.
	whole bool
}

// ablationSeeds is the number of runs of an ablation that does not say.
const ablationSeeds = 3

// ablations are the departures that hardware.md 3.5 and the design document
// ask for. With a forced q the wake rate is not fitted again: the row shows
// what that share of threads does to the same noise.
func ablations() []ablation {
	all := []string{"ob-main", "ob-series", "nvpl-main", "nvpl-series"}
	mains := []string{"ob-main", "nvpl-main"}
	const gemm = "olympus-gemm"
	clock := func(kHz int64) func(*machine.Machine) {
		return func(m *machine.Machine) { m.CoreMode.FreqKHz = kHz }
	}
	return []ablation{
		{
			name: "openblas-noise", about: "NVPL with the noise fitted on OpenBLAS alone: no NVPL row is used but its speed",
			table: gemm, runs: []string{"nvpl-main", "nvpl-series"}, ch: change{ownNoise: true}, seeds: 10, whole: true,
		},
		{
			name: "no-excursion-cost", about: "refill cost 0: what the published 10 Ki cycles explain by themselves",
			table: gemm, runs: all, ch: change{machine: func(m *machine.Machine) { m.CoreMode.RefillNS = 0 }},
		},
		{
			name: "no-library-scaling", about: "NVPL pays the same refill cost as OpenBLAS (kappa 1)",
			table: gemm, runs: []string{"nvpl-main", "nvpl-series"}, ch: change{machine: unscaled},
		},
		{name: "q=0.3", about: "three threads in ten forced to second threads, same noise", table: gemm, runs: mains, ch: change{forced: true, other: 0.3}},
		{name: "q=0.5", about: "half of the threads forced to second threads, same noise", table: gemm, runs: mains, ch: change{forced: true, other: 0.5}},
		{name: "q=0.7", about: "seven threads in ten forced to second threads, same noise", table: gemm, runs: mains, ch: change{forced: true, other: 0.7}},
		{
			name: "interrupts=0", about: "no interrupts: all noise is kthreads and daemons", table: gemm, runs: all,
			ch: change{set: []string{"noise-irq=0", "noise-kthread=0.995", "noise-daemon=0.005"}},
		},
		{
			name: "interrupts=1", about: "all noise is interrupts", table: gemm, runs: all,
			ch: change{set: []string{"noise-irq=1", "noise-kthread=0", "noise-daemon=0"}},
		},
		{
			name: "daemons=0.05", about: "ten times the daemons: they gather on one sibling", table: gemm, runs: []string{"ob-main", "ob-series"},
			ch: change{set: []string{"noise-irq=0.655", "noise-kthread=0.295", "noise-daemon=0.05"}},
		},
		{name: "clock=2.6GHz", about: "the same parameters at another clock", table: gemm, runs: all, ch: change{machine: clock(2_600_000)}},
		{name: "clock=3.0GHz", about: "the same parameters at another clock", table: gemm, runs: all, ch: change{machine: clock(3_000_000)}},
		{name: "no-noise", about: "no background activity: both policies must give the same", table: gemm, runs: all, ch: change{set: []string{"noise=off"}}, seeds: 2},
	}
}

// unscaled makes NVPL's refill cost what OpenBLAS's is: the cost is kept per
// unit of lost speed, so it is multiplied by the ratio of the two losses.
func unscaled(m *machine.Machine) {
	p := fitted.Default()
	c := &m.CoreMode
	pipes := c.FlopsSMT * c.FreqKHz / 1000 // MFLOP/s
	lossOB := 1_000_000 - pipes*1_000_000/p.Or(m.Model+".openblas-sgemm.mflops", pipes)
	lossNVPL := 1_000_000 - p.Or(m.Model+".nvpl-sgemm.share", 0)
	c.RefillNS = c.RefillNS * lossOB / max(1, lossNVPL)
}
