// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/state"
)

// maxMoves is sysctl_sched_nr_migrate: how many tasks of a source one pass
// looks at.
const maxMoves = 32

// Move is one task that a pass moves.
type Move struct {
	Task state.TaskID
	// Dst is where it goes: the CPU that the pass was for, or, for a task
	// that may not run there, another CPU of the local group.
	Dst int
}

// Plan is the outcome of a pass.
type Plan struct {
	// Continue is continue_balancing: higher levels may be tried. It is
	// false if another CPU is the one that balances for the local group.
	Continue bool
	// Src is the run queue that tasks are taken from, -1 if the domain is
	// balanced.
	Src int
	// Tasks are the tasks to move, in the order in which they are detached
	// from Src. The kernel detaches all that go to one destination first and
	// then attaches them in the reverse order.
	Tasks []Move
	// Active asks for an active balance: the stopper of Src is to call
	// ActiveTask and move its answer to the pass's CPU. Src's ActiveBalance
	// and PushCPU have been set.
	Active bool

	// How it came about: the busiest group (nil if there was none), its
	// type, what is counted and how much of it was to move.
	Busiest   *domain.Group
	Type      GroupType
	Local     GroupType
	Migration Migration
	Imbalance int64
}

// env is struct lb_env and the local variables of sched_balance_rq.
type env struct {
	d         *domain.Domain
	dst       int
	src       int
	idle      Idle
	now       int64
	jiffies   int64
	cpus      cpumask.Mask // domain span, minus what pinned tasks ruled out
	migration Migration
	imbalance int64

	loop, loopMax int

	active     bool // LBF_ACTIVE_LB
	allPinned  bool // LBF_ALL_PINNED
	somePinned bool // LBF_SOME_PINNED
	dstPinned  bool // LBF_DST_PINNED: newDst is set
	newDst     int
}

// maxPinnedInterval is MAX_PINNED_INTERVAL, ms.
const maxPinnedInterval = 512

// Pass is sched_balance_rq up to the moving of tasks: it decides whether dst is
// the one to balance d, finds the busiest group and run queue, and lists the
// tasks to be moved. The state changes as a pass changes it: balance interval
// and failures, group capacities, the imbalance flag, nr_idle_scan,
// rd.overloaded, the order of the source's MRU list.
//
// now is in ns, jiffies the number of the tick. The plan is valid until the
// next Pass or ActiveTask.
func (b *Balancer) Pass(d *domain.Domain, dst int, idle Idle, now, jiffies int64) *Plan {
	e := &b.env
	*e = env{d: d, dst: dst, src: -1, idle: idle, now: now, jiffies: jiffies, cpus: e.cpus}
	e.cpus.And(d.Span, b.s.H.Active)
	b.plan = Plan{Continue: true, Src: -1, Tasks: b.plan.Tasks[:0]}
	b.run(dst)
	b.plan.Migration = e.migration
	return &b.plan
}

// run is the body of the pass for self; it sets the plan.
func (b *Balancer) run(self int) {
	e, p := &b.env, &b.plan
	for {
		if !b.shouldBalance() {
			p.Continue = false
			b.balanced()
			return
		}
		b.sumDomain()
		found := b.imbalanced()
		p.Busiest, p.Type, p.Local = b.sds.busiest, b.sds.busiestStats.typ, b.sds.localStats.typ
		p.Imbalance = e.imbalance
		if !found {
			b.balanced()
			return
		}
		e.src = b.findSource(b.sds.busiest)
		if e.src < 0 {
			b.balanced()
			return
		}
		e.allPinned = true
		if b.s.CPUs[e.src].NrRunning > 1 {
			b.detachAll()
			if b.markPinned(); e.allPinned {
				// Without this source, is there another one left?
				e.cpus.Clear(e.src)
				if !e.cpus.SubsetOf(e.d.Groups[0].BalanceMask) {
					e.loop = 0
					continue
				}
				b.backOff(true)
				return
			}
		}
		break
	}
	p.Src = e.src
	st := &b.s.Domains[e.d.ID]
	if len(p.Tasks) > 0 {
		st.NrBalanceFailed = 0
	} else {
		if e.idle != NewlyIdle && e.migration != MigrateMisfit {
			st.NrBalanceFailed++
		}
		if b.needActive() && !b.activate(self) {
			b.backOff(false)
			return
		}
	}
	st.BalanceInterval = e.d.MinInterval
}

// detachAll fills the plan from the source, for dst and then for the other
// CPUs of the local group that take tasks which may not run on dst.
func (b *Balancer) detachAll() {
	e := &b.env
	e.loopMax = min(maxMoves, int(b.s.CPUs[e.src].NrRunning))
	for {
		b.detach()
		if !e.dstPinned || e.imbalance <= 0 {
			return
		}
		e.cpus.Clear(e.dst)
		e.dst, e.dstPinned = e.newDst, false
		e.loop = 0
	}
}

// markPinned sets the parent group's imbalance flag if affinity kept the pass
// from reaching balance, so that a wider pass takes part.
func (b *Balancer) markPinned() {
	e := &b.env
	if e.d.Parent != nil && e.somePinned && e.imbalance > 0 {
		b.s.Groups[e.d.Parent.Groups[0].ID].Imbalance = true
	}
}

// balanced is the exit out_balanced: nothing to do. The parent group's
// imbalance flag goes, unless it was this pass that met pinned tasks only.
func (b *Balancer) balanced() {
	e := &b.env
	if e.d.Parent != nil && !e.allPinned {
		b.s.Groups[e.d.Parent.Groups[0].ID].Imbalance = false
	}
	b.backOff(true)
}

// backOff is the exits out_all_pinned (reset: failures are forgotten) and
// out_one_pinned: nothing moved, and the next periodic pass may take longer.
func (b *Balancer) backOff(reset bool) {
	e := &b.env
	st := &b.s.Domains[e.d.ID]
	if reset {
		st.NrBalanceFailed = 0
	}
	if e.idle == NewlyIdle || e.migration == MigrateMisfit {
		return
	}
	if e.allPinned && st.BalanceInterval < maxPinnedInterval || st.BalanceInterval < e.d.MaxInterval {
		st.BalanceInterval *= 2
	}
}
