// SPDX-License-Identifier: Apache-2.0

package placement

import "sibyl/state"

// FitsMargin is fits_capacity: a utilisation u fits a capacity if it is
// strictly below four fifths of it (mechanisms 0.2). Both are on the scale of
// 1024.
func FitsMargin(u, capacity int64) bool { return u*1280 < capacity*1024 }

// CapGreater is capacity_greater: a is at least about 5.27 per cent above b
// (mechanisms 0.2).
func CapGreater(a, b int64) bool { return a*1024 > b*1078 }

// TaskUtil is task_util_est: the larger of the task's util_avg and util_est.
func TaskUtil(t *state.Task) int64 { return max(t.Avg.UtilAvg, t.UtilEst) }

// UtilFits is util_fits_cpu (mechanisms 3.1). It returns 1 if utilisation u
// under the clamps umin and umax fits CPU c, 0 if it does not, and -1 if only
// the performance floor umin is missed.
func UtilFits(s *state.State, u, umin, umax int64, c int) int {
	cpu := &s.CPUs[c]
	fits := FitsMargin(u, cpu.CapNow)
	if !s.UclampUsed {
		return truth(fits)
	}
	// A cap at or below the CPU's size makes any utilisation fit, except
	// that the default cap on a biggest CPU caps nothing.
	if umax <= cpu.CapMax && (cpu.CapMax != 1024 || umax != 1024) {
		fits = true
	}
	umin = min(umin, umax)
	if fits && u < umin && umin > cpu.CapActual {
		return -1
	}
	return truth(fits)
}

// TaskFits is task_fits_cpu: UtilFits of a task's utilisation and clamps says
// 1.
func TaskFits(s *state.State, t *state.Task, c int) bool {
	return UtilFits(s, TaskUtil(t), t.UclampMin, t.UclampMax, c) > 0
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fitInputs are the task's values that util_fits_cpu reads, taken once per
// decision as the kernel does.
type fitInputs struct{ util, umin, umax int64 }

// loadFit brings the task's averages up to date and reads them.
func (p *Placer) loadFit() {
	p.syncEntity()
	p.fit = fitInputs{util: TaskUtil(p.t), umin: p.t.UclampMin, umax: p.t.UclampMax}
}

// utilFits is util_fits_cpu for the task being placed.
func (p *Placer) utilFits(c int) int {
	return UtilFits(p.s, p.fit.util, p.fit.umin, p.fit.umax, c)
}

// asymFits is asym_fits_cpu, the test that steps 1 to 4 of
// select_idle_sibling make on top of idleness. The key AsymActive is global, so
// the idle-core half also applies to CPUs whose own domains are symmetric
// (mechanisms 3.2).
func (p *Placer) asymFits(c int) bool {
	h := p.s.H
	if !h.AsymActive {
		return true
	}
	if p.smtGate() && !p.s.RestIdle(c) {
		return false
	}
	return p.utilFits(c) > 0
}

// smtGate tells whether asym_fits_cpu asks for an idle core: on SMT systems
// from 7.2 on (mechanisms 0.3 row 2).
func (p *Placer) smtGate() bool { return p.s.H.SMTActive && !p.plainCapacity() }

// chooseIdlePolicy tells whether a run queue that holds only SCHED_IDLE tasks
// counts as idle for the task: not if the task is SCHED_IDLE itself, save in
// editions up to 7.0 (0.3 row 1).
func (p *Placer) chooseIdlePolicy() bool {
	return p.Rules.IdlePolicyAnyTask || p.t.Policy != state.IdlePolicy
}

// choose is choose_idle_cpu: c is available, or runs nothing but SCHED_IDLE
// tasks.
func (p *Placer) choose(c int) bool {
	return p.s.Avail.Has(c) || p.chooseIdleRQ(c)
}

// chooseIdleRQ is choose_sched_idle_rq: c runs only SCHED_IDLE tasks that the
// task may displace.
func (p *Placer) chooseIdleRQ(c int) bool {
	return p.s.IdlePolicy.Has(c) && p.chooseIdlePolicy()
}

// whyIdle says in words why choose or asymFits refused c, or why both
// accepted it.
func (p *Placer) whyIdle(c int) string {
	switch {
	case !p.choose(c):
		if p.s.Idle.Has(c) {
			return "is on a preempted vCPU (available_idle_cpu)"
		}
		if p.s.IdlePolicy.Has(c) {
			return "runs SCHED_IDLE work, and so is the task (choose_idle_cpu)"
		}
		if p.s.CPUs[c].TTWUPending {
			return "has a wakeup pending (idle_cpu)"
		}
		return "is busy (choose_idle_cpu)"
	case p.asymFits(c):
		if !p.s.Avail.Has(c) {
			return "runs only SCHED_IDLE work (choose_idle_cpu)"
		}
		return "is idle (choose_idle_cpu)"
	case p.smtGate() && !p.s.RestIdle(c):
		return "is idle (choose_idle_cpu) but its core is not (asym_fits_cpu)"
	}
	return "is idle (choose_idle_cpu) but too small for the task (util_fits_cpu)"
}
