// SPDX-License-Identifier: Apache-2.0

package host

import "fmt"

// Mechanism is one of the five systems that this project is about, as this
// kernel has it.
type Mechanism struct {
	// Key is a stable name: smt-siblings, asym-capacity, nohz-ilb,
	// sync-wakeup, measure.
	Key   string `json:"key"`
	Title string `json:"title"`
	// Has tells whether the kernel has it, On whether it acts now.
	Has Tri `json:"has"`
	On  Tri `json:"on"`
	// Why says how this is known.
	Why string `json:"why"`
	// ByVersion marks an answer that rests on the version number alone: a
	// distribution may have taken the change to an older version, which
	// cannot be seen.
	ByVersion bool `json:"by_version"`
}

// Mechanisms tells which of the five systems the kernel has, from what version
// brought which (mechanisms 0.1) and from better evidence where there is some.
func Mechanisms(s *System) []Mechanism {
	return []Mechanism{smtSiblings(s), asymCapacity(s), nohzILB(s), syncWakeup(s), measuring(s)}
}

// byVersion answers by the first version that has a change.
func byVersion(m Mechanism, v Version, major, minor int, what string) Mechanism {
	if !v.Known() {
		m.Has, m.On = Unknown, Unknown
		m.Why = fmt.Sprintf("%s; this kernel's version is unknown", what)
		return m
	}
	m.Has = tri(v.AtLeast(major, minor))
	m.On = m.Has
	m.ByVersion = true
	m.Why = fmt.Sprintf("%s; this is %s", what, v)
	if m.Has == No {
		m.Why += "; by version: a backport cannot be seen"
	}
	return m
}

func smtSiblings(s *System) Mechanism {
	m := byVersion(Mechanism{Key: "smt-siblings", Title: "preferred SMT siblings"}, s.Version, 7, 4,
		"merged for the version after 7.3, with the boot option sched_smt_asym_packing=on")
	if s.BTF.IdleSMTCPU == Yes {
		m.Has, m.ByVersion, m.Why = Yes, false, "BTF names select_idle_smt_cpu"
	}
	switch {
	case s.Domains.SMTPacking == Yes && m.Has == Yes:
		m.On, m.Why = Yes, m.Why+"; SMT domains have SD_ASYM_PACKING"
	case m.Has != Yes && s.BootOption != "":
		m.Why += "; the boot option is given all the same"
	case m.Has != Yes:
	case s.Domains.SMTPacking == No:
		m.On, m.Why = No, m.Why+"; no SMT domain has SD_ASYM_PACKING"
	case s.BootOption == "on":
		m.On, m.Why = Yes, m.Why+"; the boot option is on"
	default:
		// POWER7 has the flag without the option.
		m.On, m.Why = Unknown, m.Why+"; without the option, the architecture decides"
		if s.Olympus == Yes {
			m.On = No // arm64 has no SMT packing of its own (mechanisms 1.6)
		}
	}
	return m
}

func asymCapacity(s *System) Mechanism {
	m := byVersion(Mechanism{Key: "asym-capacity", Title: "SMT-aware asymmetric capacity"}, s.Version, 7, 2, "since 7.2")
	switch s.BTF.BalanceShared {
	case Yes:
		m.Has, m.On, m.ByVersion, m.Why = Yes, Yes, false, "BTF names sd_balance_shared"
	case No:
		m.Has, m.On, m.ByVersion, m.Why = No, No, false, "BTF does not name sd_balance_shared (since 7.2)"
	}
	if m.Has == Yes && s.Domains.Asymmetric == No {
		m.On, m.Why = No, m.Why+"; no domain has SD_ASYM_CPUCAPACITY"
	}
	return m
}

func nohzILB(s *System) Mechanism {
	return byVersion(Mechanism{Key: "nohz-ilb", Title: "NOHZ balancing from a fully idle core"}, s.Version, 7, 3, "since 7.3")
}

func syncWakeup(*System) Mechanism {
	return Mechanism{Key: "sync-wakeup", Title: "reciprocal synchronous wakeups", Has: No, On: No, ByVersion: true,
		Why: "posted for review only: no released kernel has it"}
}

func measuring(s *System) Mechanism {
	m := Mechanism{Key: "measure", Title: "measuring placement on this machine", Has: Unknown, On: s.Rights.CanTrace()}
	switch m.On {
	case Yes:
		m.Why = "this process may trace"
	case No:
		m.Why = "tracing needs root or CAP_PERFMON"
	default:
		m.Why = "the rights of this process are unknown"
	}
	if s.Version.Known() {
		m.Has = Yes
		m.Why = "the scheduler's trace events are in every kernel; " + m.Why
	}
	return m
}
