// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"io"
	"strings"
)

// Path is the list of rules that led to one decision, in the order in which
// they were applied. Recording allocates; it never changes a decision.
type Path struct {
	Steps []Step
}

// Step is one rule's answer.
type Step struct {
	Rule Rule
	CPU  int // the CPU that the rule looked at or chose, -1 for none
	// Yes tells whether the rule accepted.
	Yes bool
	// Why is a short reason in words that name the kernel's functions.
	Why string
}

// Rule identifies a rule.
type Rule uint8

// The rules, in about the order in which a decision meets them.
const (
	RuleWrapper      Rule = iota + 1 // select_task_rq: one allowed CPU, or not
	RuleCurrentCPU                   // WF_CURRENT_CPU
	RuleWakeWide                     // wake_wide and the waker's CPU in the mask
	RuleWakeAffine                   // wake_affine: the waker's CPU or prev
	RuleSync                         // reciprocal WF_SYNC (mechanisms 8)
	RuleTarget                       // select_idle_sibling: target
	RulePrev                         // select_idle_sibling: prev
	RuleKthread                      // select_idle_sibling: per-CPU kthread stacking
	RuleRecent                       // select_idle_sibling: recent_used_cpu
	RuleIdleCapacity                 // select_idle_capacity
	RuleIdleSMT                      // select_idle_smt
	RuleIdleCore                     // select_idle_core, one core probed
	RuleIdleCPU                      // select_idle_cpu
	RuleLate                         // select_idle_sibling: prev or recent kept for the end
	RuleBusyTarget                   // select_idle_sibling: nothing idle
	RuleDstGroup                     // sched_balance_find_dst_group
	RuleDstCPU                       // sched_balance_find_dst_group_cpu
	RuleSlowPath                     // sched_balance_find_dst_cpu
	RuleNoDomain                     // no domain has the balance flag
	RuleRedirect                     // select_idle_smt_cpu
	RuleFallback                     // select_fallback_rq
	nrRules
)

var ruleNames = [nrRules]string{
	RuleWrapper:      "select_task_rq",
	RuleCurrentCPU:   "current-cpu",
	RuleWakeWide:     "wake_wide",
	RuleWakeAffine:   "wake_affine",
	RuleSync:         "sync",
	RuleTarget:       "target",
	RulePrev:         "prev",
	RuleKthread:      "kthread",
	RuleRecent:       "recent",
	RuleIdleCapacity: "idle-capacity",
	RuleIdleSMT:      "idle-smt",
	RuleIdleCore:     "idle-core",
	RuleIdleCPU:      "idle-cpu",
	RuleLate:         "late",
	RuleBusyTarget:   "busy-target",
	RuleDstGroup:     "dst-group",
	RuleDstCPU:       "dst-cpu",
	RuleSlowPath:     "slow-path",
	RuleNoDomain:     "no-domain",
	RuleRedirect:     "redirect",
	RuleFallback:     "fallback",
}

// String returns the rule's name, one word.
func (r Rule) String() string {
	if r > 0 && r < nrRules {
		return ruleNames[r]
	}
	return fmt.Sprintf("rule(%d)", uint8(r))
}

// ParseRule is the inverse of Rule.String; ok is false for an unknown name.
func ParseRule(name string) (r Rule, ok bool) {
	for r := Rule(1); r < nrRules; r++ {
		if ruleNames[r] == name {
			return r, true
		}
	}
	return 0, false
}

// String returns the step in one line: rule, CPU, yes or no, reason.
func (s Step) String() string {
	answer := "no"
	if s.Yes {
		answer = "yes"
	}
	return fmt.Sprintf("%s %d %s: %s", s.Rule, s.CPU, answer, s.Why)
}

// Reset empties the path and keeps its room.
func (p *Path) Reset() { p.Steps = p.Steps[:0] }

// Format writes the path, one numbered step a line.
func (p *Path) Format(w io.Writer) error {
	for i, s := range p.Steps {
		cpu, answer := "-", "no"
		if s.CPU >= 0 {
			cpu = fmt.Sprint(s.CPU)
		}
		if s.Yes {
			answer = "yes"
		}
		if _, err := fmt.Fprintf(w, "%2d  %-14s cpu %-4s %-3s  %s\n", i+1, s.Rule, cpu, answer, s.Why); err != nil {
			return fmt.Errorf("write path: %w", err)
		}
	}
	return nil
}

// String returns the path in one line, as trace.Event.Detail holds it: the
// rules with their CPUs, a refusal marked with an exclamation mark.
func (p *Path) String() string {
	var b strings.Builder
	for i, s := range p.Steps {
		if i > 0 {
			b.WriteByte(' ')
		}
		if !s.Yes {
			b.WriteByte('!')
		}
		fmt.Fprintf(&b, "%s:%d", s.Rule, s.CPU)
	}
	return b.String()
}

// step records one rule's answer if a path is wanted. Callers that build why
// do so only under recording().
func (p *Placer) step(r Rule, cpu int, yes bool, why string) {
	if p.Path != nil {
		p.Path.Steps = append(p.Path.Steps, Step{Rule: r, CPU: cpu, Yes: yes, Why: why})
	}
}

// recording tells whether a path is wanted.
func (p *Placer) recording() bool { return p.Path != nil }
