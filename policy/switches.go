// SPDX-License-Identifier: Apache-2.0

package policy

import "sibyl/domain"

// Switch is one thing that a policy can change.
type Switch struct {
	Name     string
	What     string
	Function string // the kernel function that holds the rule
	Section  string // of the mechanisms document
	Values   []Value
}

// Value is one value of a switch.
type Value struct {
	Name    string
	What    string
	Kernels string // which have it
	set     func(*Policy)
	on      func(*Policy) bool
}

// Switches returns the known switches in the order of canonical names.
func Switches() []Switch {
	out := append([]Switch(nil), switches...)
	for i := range out {
		out[i].Values = append([]Value(nil), out[i].Values...)
	}
	return out
}

// Current returns the value of the switch under p, "" if the policy's edition
// does something that no value describes.
func (s *Switch) Current(p *Policy) string {
	for i := range s.Values {
		if s.Values[i].on(p) {
			return s.Values[i].Name
		}
	}
	return ""
}

// later are values that exist in the design, but not in the simulator yet.
var later = map[string]string{"core-mode": "aware"}

var switches = []Switch{
	{
		"smt-asym-packing", "idle selection honours SD_ASYM_PACKING at the SMT level; auto: only where the architecture sets the flag",
		"sd_init, select_idle_smt_cpu", "5",
		[]Value{
			packing("auto", "the architecture's flag stays; ordered siblings are honoured", "tip (the default there)", domain.PackingAuto),
			packing("on", "the flag is set on every SMT domain", "tip (boot option)", domain.PackingOn),
			packing("off", "the flag is cleared on every SMT domain", "none (v6 of the series only)", domain.PackingOff),
		},
	},
	addon("revalidate-fitness", "the preferred sibling must fit the task too", "select_idle_smt_cpu", "5.4",
		"none (review question)", func(p *Policy) *bool { return &p.Rules.RevalidateFitness }),
	{"asym-capacity", "wakeup path on systems with different CPU capacities", "select_idle_capacity", "3", []Value{
		{
			"off", "domains are built as if all capacities were equal", "none (firmware or boot change)",
			func(p *Policy) { p.Rules.AsymCapacity, p.Options.NoAsymCapacity = AsymOff, true },
			func(p *Policy) bool { return p.Options.NoAsymCapacity },
		},
		{
			"plain", "capacity scan that does not look at siblings", "up to 7.1", setPlain,
			func(p *Policy) bool { return p.Rules.AsymCapacity == AsymPlain },
		},
		{
			"smt", "fit ranks with fully idle cores first, own idle-core hint, SIS_UTIL cap", "from 7.2", setSMT,
			func(p *Policy) bool { return p.Rules.AsymCapacity == AsymSMT },
		},
	}},
	feature("sis-util", "scheduler feature SIS_UTIL: the scan length follows the LLC's utilisation", "select_idle_cpu", "2.6",
		func(p *Policy) *bool { return &p.Rules.NoSISUtil }),
	{"asym-lb", "load balance between different capacities", "update_sd_lb_stats", "7", []Value{
		{
			"7.2", "no SD_PREFER_SIBLING below asymmetric domains; a lone task needs a bigger CPU (rows 13, 16, 17)", "up to 7.2",
			func(p *Policy) { setAsymLB(p, true) },
			func(p *Policy) bool { return p.Options.DropPreferSibling },
		},
		{
			"7.3", "SD_PREFER_SIBLING stays; SMT-degraded and equal sources are not skipped", "from 7.3",
			func(p *Policy) { setAsymLB(p, false) },
			func(p *Policy) bool { return !p.Options.DropPreferSibling },
		},
	}},
	{"nohz-ilb", "which idle CPU balances for those whose tick is stopped", "find_new_ilb", "6.4", []Value{
		{
			"first", "the first idle CPU by number", "up to 7.2",
			func(p *Policy) { p.Rules.NohzILB, p.Rules.ILBSkipsSelf = ILBFirst, true },
			func(p *Policy) bool { return p.Rules.NohzILB == ILBFirst },
		},
		{
			"idle-core", "the first CPU of a fully idle core, else the first idle CPU", "from 7.3",
			func(p *Policy) { p.Rules.NohzILB, p.Rules.ILBSkipsSelf = ILBIdleCore, false },
			func(p *Policy) bool { return p.Rules.NohzILB == ILBIdleCore },
		},
	}},
	{"sync-wakeup", "what a reciprocal WF_SYNC wakeup does", "select_task_rq_fair, select_idle_sibling", "8", []Value{
		sync("idle", "any idle CPU, as for other wakeups", "all", SyncIdle),
		sync("waker", "back to the waker's CPU from the wake-affine step, without SMT only", "none (v5 of Oct 2026)", SyncWaker),
		sync("sis", "back to the waker's CPU if no core is idle, decided in select_idle_sibling", "none (30 Jul 2026)", SyncSIS),
		sync("sibling", "the waker's core counts as idle, so a sibling may take the wakee", "none (1 Aug 2026)", SyncSibling),
	}},
	{"core-mode", "the project's own rule: placement that knows the core's ST and SMT modes", "no kernel function", "5.1", []Value{
		{"off", "no such rule", "all", func(*Policy) {}, func(*Policy) bool { return true }},
	}},
	feature("wa-idle", "scheduler feature WA_IDLE: wake_affine prefers an idle CPU", "wake_affine_idle", "2.4",
		func(p *Policy) *bool { return &p.Rules.NoWAIdle }),
	feature("wa-weight", "scheduler feature WA_WEIGHT: wake_affine compares loads", "wake_affine_weight", "2.4",
		func(p *Policy) *bool { return &p.Rules.NoWAWeight }),
	feature("wa-bias", "scheduler feature WA_BIAS: the comparison favours the waker's CPU", "wake_affine_weight", "2.4",
		func(p *Policy) *bool { return &p.Rules.NoWABias }),
	feature("ttwu-queue", "scheduler feature TTWU_QUEUE: remote wakeups are queued to the target", "ttwu_queue_wakelist", "2.1",
		func(p *Policy) *bool { return &p.Rules.NoTTWUQueue }),
	feature("ni-random", "scheduler feature NI_RANDOM: newidle passes are drawn by their success", "sched_balance_newidle", "7.1",
		func(p *Policy) *bool { return &p.Rules.NoNewidleRandom }),
}

// addon is an on/off switch for a rule that no kernel has unless told.
func addon(name, what, fn, section, kernels string, f func(*Policy) *bool) Switch {
	return Switch{name, what, fn, section, []Value{
		{"off", "the rule does not apply", "all", func(p *Policy) { *f(p) = false }, func(p *Policy) bool { return !*f(p) }},
		{"on", "the rule applies", kernels, func(p *Policy) { *f(p) = true }, func(p *Policy) bool { return *f(p) }},
	}}
}

// feature is a scheduler feature that is on in all kernels; no is the rule
// that turns it off.
func feature(name, what, fn, section string, no func(*Policy) *bool) Switch {
	return Switch{name, what, fn, section, []Value{
		{"on", "the feature is on", "all", func(p *Policy) { *no(p) = false }, func(p *Policy) bool { return !*no(p) }},
		{"off", "the feature is off", "all, if told", func(p *Policy) { *no(p) = true }, func(p *Policy) bool { return *no(p) }},
	}}
}

// packing is a value of smt-asym-packing. To name the switch at all asks for
// the series, so the redirect comes with every value.
func packing(name, what, kernels string, v domain.SMTPacking) Value {
	return Value{
		name, what, kernels,
		func(p *Policy) { p.Rules.SMTRedirect, p.Options.SMTPacking = true, v },
		func(p *Policy) bool { return p.Rules.SMTRedirect && p.Options.SMTPacking == v },
	}
}

func sync(name, what, kernels string, v SyncWakeup) Value {
	return Value{
		name, what, kernels,
		func(p *Policy) { p.Rules.SyncWakeup = v },
		func(p *Policy) bool { return p.Rules.SyncWakeup == v },
	}
}

// setSMT adds the SMT-aware asymmetric capacity series (seed 002) to an
// edition that lacks it: rows 2 to 5, 8 and 14 are its parts.
func setSMT(p *Policy) { setSeries(p, false) }

// setPlain takes the series away from an edition that has it.
func setPlain(p *Policy) {
	if p.Rules.AsymCapacity != AsymPlain { // 6.12.117 is plain, but has row 14
		setSeries(p, true)
	}
}

func setSeries(p *Policy, lacks bool) {
	p.Rules.AsymCapacity = AsymSMT
	if lacks {
		p.Rules.AsymCapacity = AsymPlain
	}
	p.Rules.LLCHintOnAsym = lacks
	p.Rules.IdleScanLLCPassOnly = lacks
	p.Options.IdleScanStartsAtZero = lacks
	p.Options.NoAsymShared = lacks
	p.Rules.MisfitPullAnyCore = lacks
}

// setAsymLB chooses between the editions' forms of rows 13, 15, 16 and 17.
func setAsymLB(p *Policy, old bool) {
	p.Options.DropPreferSibling = old
	p.Rules.MisfitLoadAnyDst = old
	p.Rules.LoneTaskNeedsCapacity = old
	p.Rules.MinCapacityTestLast = false // 7.2.6 and later
}

// find returns the switch of that name, nil if there is none.
func find(name string) *Switch {
	for i := range switches {
		if switches[i].Name == name {
			return &switches[i]
		}
	}
	return nil
}

func switchNames() []string {
	names := make([]string, len(switches))
	for i := range switches {
		names[i] = switches[i].Name
	}
	return names
}

func (s *Switch) value(name string) *Value {
	for i := range s.Values {
		if s.Values[i].Name == name {
			return &s.Values[i]
		}
	}
	return nil
}

func (s *Switch) valueNames() []string {
	names := make([]string, len(s.Values))
	for i := range s.Values {
		names[i] = s.Values[i].Name
	}
	return names
}
