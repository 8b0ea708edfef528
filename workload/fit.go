// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sibyl/fitted"
	"sibyl/machine"
)

// gemmFit is what was fitted of one library on one machine.
type gemmFit struct {
	mflops int64   // one thread alone
	share  int64   // kept in two-thread mode, millionths; 0: from the pipes
	jitter float64 // common run-to-run spread
}

// fittedGEMM returns the fitted numbers of a library, or those of a generic
// core of 50 GFLOP/s where none were fitted.
func fittedGEMM(name string, m *machine.Machine) gemmFit {
	p := fitted.Default()
	return gemmFit{
		mflops: p.Or(m.Model+"."+name+".mflops", 50_000),
		share:  p.Or(m.Model+"."+name+".share", 0),
		jitter: float64(p.Or(m.Model+".jitter", 0)) / 1e6,
	}
}

// fittedNoise returns the machine's fitted noise: wakeups a second and spread.
func fittedNoise(m *machine.Machine) (first, other, cv float64, ok bool) {
	p := fitted.Default()
	f, ok := p.Get(m.Model + ".noise-first")
	if !ok {
		return 0, 0, 0, false
	}
	return float64(f) / 1e3, float64(p.Or(m.Model+".noise-other", 0)) / 1e3,
		float64(p.Or(m.Model+".noise-cv", 0)) / 1e3, true
}
