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
	// cannot be seen from here.
	ByVersion bool `json:"by_version"`
}

// Mechanisms tells which of the five systems the kernel has, from what version
// brought which (mechanisms 0.1) and from better evidence where there is some.
func Mechanisms(s *System) []Mechanism {
	return []Mechanism{smtSiblings(s), asymCapacity(s), nohzILB(s), syncWakeup(s), measuring(s)}
}

// Answer says in a word or two whether the mechanism is there and acts.
func (m *Mechanism) Answer() string {
	switch {
	case m.Key == "measure" && m.On == No:
		return "no right"
	case m.Key == "measure" && m.On == Unknown:
		return string(Unknown)
	case m.Has == Yes && m.On == No:
		return "yes, but off"
	case m.Has == Yes && m.On == Unknown:
		return "yes, perhaps off"
	default:
		return string(m.Has)
	}
}

// fact is the mechanism as evidence of a finding.
func (m *Mechanism) fact() string { return m.Title + ": " + m.Answer() }

// byVersion answers by the first version that has a change.
func byVersion(m Mechanism, s *System, major, minor int, what string) Mechanism {
	v := s.Version
	switch {
	case s.Elsewhere:
		m.Has, m.On = Unknown, Unknown
		m.Why = what + "; not this machine"
		return m
	case !v.Known():
		m.Has, m.On = Unknown, Unknown
		m.Why = what + "; this kernel's version is unknown"
		return m
	}
	m.Has = tri(v.AtLeast(major, minor))
	m.On = m.Has
	m.ByVersion = true
	m.Why = fmt.Sprintf("%s; this is %s", what, v)
	return m
}

func smtSiblings(s *System) Mechanism {
	m := byVersion(Mechanism{Key: "smt-siblings", Title: "preferred SMT siblings"}, s, 7, 4,
		"merged for the version after 7.3, where sched_smt_asym_packing=on at boot turns it on")
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
	m := byVersion(Mechanism{Key: "asym-capacity", Title: "SMT-aware asymmetric capacity"}, s, 7, 2, "since 7.2")
	switch s.BTF.BalanceShared {
	case Yes:
		m.Has, m.On, m.ByVersion, m.Why = Yes, Yes, false, "BTF names sd_balance_shared"
	case No:
		m.Has, m.On, m.ByVersion, m.Why = No, No, false, "BTF does not name sd_balance_shared (since 7.2)"
	}
	if m.Has == Yes && s.Domains.Asymmetric == No {
		m.On, m.Why = No, m.Why+"; no domain has SD_ASYM_CPUCAPACITY"
	}
	// One rule of it went to a stable series (mechanisms 0.3, row 14).
	if v := s.Version; m.Has == No && v.Major == 6 && v.Minor == 12 && v.Patch >= 117 {
		m.Why += fmt.Sprintf("; by its version, 6.12.%d, it has one rule of it (since 6.12.117): balancing pulls a misfit task only to an idle core", v.Patch)
	}
	return m
}

func nohzILB(s *System) Mechanism {
	return byVersion(Mechanism{Key: "nohz-ilb", Title: "NOHZ balancing from a fully idle core"}, s, 7, 3, "since 7.3")
}

func syncWakeup(s *System) Mechanism {
	return Mechanism{
		Key: "sync-wakeup", Title: "reciprocal synchronous wakeups", Has: No, On: No, ByVersion: !s.Elsewhere,
		Why: "posted for review only: no released kernel has it",
	}
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
	if s.Elsewhere {
		m.Why = "not this machine"
	}
	if s.Version.Known() {
		m.Has = Yes
		m.Why = "the scheduler's trace events are in every kernel; " + m.Why
	}
	return m
}
