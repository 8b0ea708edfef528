// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"

	"sibyl/domain"
	"sibyl/state"
)

// Select is select_task_rq_fair (mechanisms 2.2): the CPU that the fair class
// wants for the request, which may lie outside the task's mask. Exec balancing
// calls it directly; wakeup and fork go through SelectTaskRQ.
//
// It applies the kernel's side effects to the state: wakee bookkeeping,
// recent_used_cpu, has_idle_cores, and the decay of the task's averages.
func (p *Placer) Select(req Request) int {
	s := p.s
	p.begin(req)
	here, prev := req.Here, req.Prev
	want := domain.Flags(req.Flags & 0xf)
	target, affine := prev, false
	if req.Flags&TTWU != 0 {
		p.noteWakee()
		allowed := p.t.Allowed.Has(here)
		if req.Flags&CurrentCPU != 0 && allowed {
			p.step(RuleCurrentCPU, here, true, "select_task_rq_fair: WF_CURRENT_CPU")
			return here
		}
		wide := wakeWide(p.wakerFlips(), p.t.WakeeFlips, s.H.LLCSize[here])
		affine = !wide && allowed
		p.stepWide(wide, allowed)
	}
	var slow *domain.Domain
	for d := s.H.Base[here]; d != nil; d = d.Parent {
		if affine && d.Flags&domain.WakeAffine != 0 && d.Span.Has(prev) {
			if here != prev {
				target = p.wakeAffine(d, here, prev)
			}
			slow = nil
			if p.syncWaker(target) {
				return here
			}
			break
		}
		if d.Flags&want != 0 {
			slow = d
		} else if !affine {
			break
		}
	}
	if slow != nil {
		return p.redirect(p.slowPath(slow, want))
	}
	if req.Flags&TTWU != 0 {
		return p.selectIdleSibling(prev, target)
	}
	if p.recording() {
		p.step(RuleNoDomain, prev, true, fmt.Sprintf("select_task_rq_fair: no domain of CPU %d balances on exec or fork", here))
	}
	return prev
}

// begin takes over the request.
func (p *Placer) begin(req Request) {
	p.req = req
	p.t = p.s.Tasks[req.Task]
	p.fit = fitInputs{util: TaskUtil(p.t), umin: p.t.UclampMin, umax: p.t.UclampMax}
	p.sync = req.Flags&Sync != 0 && (req.Waker == state.None || !p.s.Tasks[req.Waker].Exiting)
}
