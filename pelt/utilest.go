// SPDX-License-Identifier: Apache-2.0

package pelt

// estMargin is UTIL_EST_MARGIN: a smaller fall of utilisation is noise.
const estMargin = 1024 / 100

// UtilEst is util_est_update at the end of an activation: the new estimate of
// a task whose estimate was est. util and runnable are its averages, capMax is
// the CPU's capacity. A rise counts at once, a fall by a quarter, rounded up.
// A fall is not believed if the task had to wait for the CPU (runnable is
// larger than util) and, with keepAbove (mechanisms 0.3 row 28), if util is
// more than the CPU has.
//
// The kernel skips the update if the averages did not change during the
// activation (UTIL_AVG_UNCHANGED); the caller must.
func UtilEst(est, util, runnable, capMax int64, keepAbove bool) int64 {
	fall := est - util
	switch {
	case fall <= 0:
		return util
	case fall < estMargin,
		keepAbove && util > capMax,
		util+estMargin < runnable:
		return est
	}
	return (4*est - fall) >> 2
}
