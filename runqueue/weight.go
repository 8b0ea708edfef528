// SPDX-License-Identifier: Apache-2.0

package runqueue

import "math/bits"

// Weights of the fair class (sched_prio_to_weight): a step of nice is a factor
// of about 1.25.
const (
	NiceZero        = 1024
	SchedIdleWeight = 3
)

var weights = [40]int64{
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
	110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
}

// NiceWeight returns the load weight of a nice value, which is clamped to -20
// to 19.
func NiceWeight(nice int) int64 { return weights[min(max(nice, -20), 19)+20] }

// BaseSlice returns the request size in ns on a machine of n CPUs
// (sched_base_slice with logarithmic tunable scaling, mechanisms 9.1).
func BaseSlice(n int) int64 {
	n = min(max(n, 1), 8)
	return 700_000 * int64(bits.Len(uint(n)))
}
