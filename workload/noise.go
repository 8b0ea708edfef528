// SPDX-License-Identifier: Apache-2.0

package workload

import "sibyl/cpumask"

// Noise is the background activity that no workload asked for. It has three
// kinds because they act differently on the history that placement reads:
// interrupts leave no trace on the idle stamps, per-CPU kthreads do, and
// daemons are placed by the rules themselves.
//
// A core's wakeups of thread 0 arrive at RateFirst times a factor that differs
// between cores; those of the other threads at RateOther. Arrivals are
// Poisson.
type Noise struct {
	// CPUs has noise; nil means none.
	CPUs cpumask.Mask
	// RateFirst and RateOther are wakeups a second of each core's first
	// thread and of each other thread.
	RateFirst, RateOther float64
	// CV is the coefficient of variation over cores of the gamma-distributed factor
	// on RateFirst.
	CV float64
	// Interrupts, Kthreads and Daemons are the shares of the three kinds;
	// they sum to 1.
	Interrupts, Kthreads, Daemons float64
	// BurstNS is the mean length of one burst, exponential.
	BurstNS int64
	// QuietFrom and QuietTo bound a time after the workload's start in which
	// noise reaches only cores that are busy at the arrival before. A workload
	// sets them where nothing is placed for a long time: of the noise on idle
	// cores only the last before the next placement leaves a trace.
	QuietFrom, QuietTo int64
}

// Off tells whether there is no noise at all.
func (n *Noise) Off() bool {
	return n.CPUs == nil || n.CPUs.Empty() || (n.RateFirst <= 0 && n.RateOther <= 0)
}
