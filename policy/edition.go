// SPDX-License-Identifier: Apache-2.0

package policy

// Edition is a kernel whose placement rules are known.
type Edition struct {
	Name   string
	Kernel string // the full version that the rules are taken from
	Source string // how they are known
}

var editions = []Edition{
	{"v6.12", "6.12.117", "read in Debian's linux-source-6.12 (point release 117: earlier ones differ in rows 9, 14 and 15)"},
	{"v7.1", "7.1.13", "Debian's cloud-amd64 image: BTF, symbols and disassembly, no source; rest inferred from 6.12 and 7.2"},
	{"v7.2", "7.2.13", "read in Debian's linux-source-7.2"},
	{"v7.3", "7.3.4", "read in Debian's linux-source-7.3; the reference"},
	{"tip", "tip/sched/core of 1 Oct 2026", "7.3.4 with the merged SMT asym-packing series (c8fc4136fd3c, 648d44bda731), from its public review"},
}

// Editions returns the known kernels, oldest first.
func Editions() []Edition { return append([]Edition(nil), editions...) }

func editionNames() []string {
	names := make([]string, len(editions))
	for i := range editions {
		names[i] = editions[i].Name
	}
	return names
}

// evidence says how it is known that an edition has a rule.
type evidence string

const (
	src evidence = "source"    // read in the edition's source
	bin evidence = "binary"    // seen in the edition's image
	inf evidence = "inferred"  // from its neighbours; a hypothesis
	pub evidence = "published" // public patches and review
)

// rule is one row of the table of editions (mechanisms 0.3): a rule that some
// editions have instead of 7.3.4's.
type rule struct {
	row  int    // 0: not from the table
	fn   string // the kernel function
	what string // what the editions do instead of 7.3.4
	in   map[string]evidence
	set  func(*Policy)
	on   func(*Policy) bool
}

func flag(row int, fn, what string, in map[string]evidence, field func(*Policy) *bool) rule {
	return rule{
		row, fn, what, in,
		func(p *Policy) { *field(p) = true },
		func(p *Policy) bool { return *field(p) },
	}
}

// The rows that these editions have in common.
var (
	only612 = map[string]evidence{"v6.12": src}
	to71    = map[string]evidence{"v6.12": src, "v7.1": inf}
	to71bin = map[string]evidence{"v6.12": src, "v7.1": bin}
	to72    = map[string]evidence{"v6.12": src, "v7.1": inf, "v7.2": src}
	only71  = map[string]evidence{"v7.1": bin}
	to72inf = map[string]evidence{"v7.1": inf, "v7.2": src}
)

// rules holds every difference between the editions that the simulator knows.
// Rows of mechanisms 0.3 without an entry: 10 (no energy-aware scheduling
// here), 23 and 29 (no task groups), 30 (numbering only); of row 22 only the
// "still queued" test, of row 21 only what 6.12 does.
var rules = []rule{
	flag(1, "choose_idle_cpu", "a CPU with only SCHED_IDLE tasks is taken whatever the wakee's own policy",
		only612, func(p *Policy) *bool { return &p.Rules.IdlePolicyAnyTask }),
	{
		2, "asym_fits_cpu, select_idle_capacity", "plain capacity scan, no fully idle core asked for (rows 2 and 3)", to71,
		func(p *Policy) { p.Rules.AsymCapacity = AsymPlain },
		func(p *Policy) bool { return p.Rules.AsymCapacity == AsymPlain },
	},
	flag(4, "test_idle_cores", "the idle-core hint is the LLC's, also on asymmetric systems",
		to71bin, func(p *Policy) *bool { return &p.Rules.LLCHintOnAsym }),
	flag(5, "update_idle_cpu_scan", "nr_idle_scan is written only by passes as wide as the LLC",
		to71bin, func(p *Policy) *bool { return &p.Rules.IdleScanLLCPassOnly }),
	flag(5, "select_idle_cpu", "nr_idle_scan starts at 0: no LLC scan before the first such pass",
		to71bin, func(p *Policy) *bool { return &p.Options.IdleScanStartsAtZero }),
	flag(6, "select_idle_cpu", "no early exit when the task may run on no CPU of the LLC",
		only612, func(p *Policy) *bool { return &p.Rules.NoEmptyMaskExit }),
	flag(7, "update_top_cache_domain", "CPUs share a cache if their LLC domain is the same, not the hardware's LLC",
		to71, func(p *Policy) *bool { return &p.Options.LLCIDFromDomain }),
	flag(8, "build_sched_domains", "no shared object on the asymmetric domain",
		to71bin, func(p *Policy) *bool { return &p.Options.NoAsymShared }),
	{
		11, "find_new_ilb", "the first idle CPU but the kicker, whatever its siblings do",
		map[string]evidence{"v6.12": src, "v7.1": bin, "v7.2": src},
		func(p *Policy) { p.Rules.NohzILB, p.Rules.ILBSkipsSelf = ILBFirst, true },
		func(p *Policy) bool { return p.Rules.NohzILB == ILBFirst },
	},
	flag(12, "nohz_balancer_kick", "the asym-packing kick counts delayed sleepers",
		only612, func(p *Policy) *bool { return &p.Rules.KickCountsDelayed }),
	flag(13, "sd_init", "SD_PREFER_SIBLING goes from the child of asymmetric domains",
		to72, func(p *Policy) *bool { return &p.Options.DropPreferSibling }),
	flag(14, "update_sd_pick_busiest", "a misfit pull does not ask for an idle destination core",
		only71, func(p *Policy) *bool { return &p.Rules.MisfitPullAnyCore }),
	flag(15, "update_sd_pick_busiest", "the minimum-capacity test comes after the comparison of types",
		map[string]evidence{"v7.1": inf}, func(p *Policy) *bool { return &p.Rules.MinCapacityTestLast }),
	flag(16, "update_sg_lb_stats", "misfit load counts even if the destination cannot help",
		to72, func(p *Policy) *bool { return &p.Rules.MisfitLoadAnyDst }),
	flag(17, "sched_balance_find_src_rq", "on asymmetric systems a lone task moves only to a bigger CPU",
		to72, func(p *Policy) *bool { return &p.Rules.LoneTaskNeedsCapacity }),
	flag(18, "update_sg_lb_stats", "balancing counts delayed sleepers as tasks",
		only612, func(p *Policy) *bool { return &p.Rules.CountsDelayed }),
	flag(19, "ttwu_do_activate", "avg_idle is sampled at wakeups only",
		only612, func(p *Policy) *bool { return &p.Rules.AvgIdleAtWakeup }),
	flag(19, "sched_balance_newidle", "no NI_RATE",
		only612, func(p *Policy) *bool { return &p.Rules.NoNewidleRate }),
	flag(20, "sched_balance_domains", "SD_SERIALIZE is taken before the interval test, and not for newidle",
		only612, func(p *Policy) *bool { return &p.Rules.SerializeOutside }),
	flag(21, "can_migrate_task", "delayed and ineligible tasks migrate like others",
		only612, func(p *Policy) *bool { return &p.Rules.PullsIneligible }),
	flag(22, "sched_balance_rq", "active balance does not test that the source's task is still queued",
		to72, func(p *Policy) *bool { return &p.Rules.ActiveAnyCurrent }),
	flag(24, "entity_lag", "the lag of a sleeper is bounded by twice its own slice",
		only612, func(p *Policy) *bool { return &p.Rules.SliceLagBound }),
	flag(25, "set_protect_slice", "a slice is protected until the deadline",
		only612, func(p *Policy) *bool { return &p.Rules.ProtectToDeadline }),
	flag(26, "wakeup_preempt_fair", "no exemption for forks and delayed sleepers",
		only612, func(p *Policy) *bool { return &p.Rules.OldPreempt }),
	flag(25, "set_protect_slice", "protection lasts for the shortest slice, from the current task's own time",
		to72inf, func(p *Policy) *bool { return &p.Rules.ProtectOwnTime }),
	flag(26, "wakeup_preempt_fair", "a short slice preempts only if picked; early refusals leave the protection alone",
		to72inf, func(p *Policy) *bool { return &p.Rules.PreemptByPick }),
	flag(27, "resched_curr_lazy", "rescheduling is immediate, not lazy",
		only612, func(p *Policy) *bool { return &p.Rules.NoLazyResched }),
	flag(27, "hrtick_start_fair", "HRTICK is off",
		map[string]evidence{"v6.12": src, "v7.1": inf}, func(p *Policy) *bool { return &p.Rules.NoHRTick }),
	flag(28, "util_est_update", "an estimate above the CPU's capacity is left alone also when falling",
		only612, func(p *Policy) *bool { return &p.Rules.KeepEstAboveCapacity }),
	flag(0, "select_idle_smt_cpu", "idle choices move to the preferred sibling where the SMT domain is ordered",
		map[string]evidence{"tip": pub}, func(p *Policy) *bool { return &p.Rules.SMTRedirect }),
}
