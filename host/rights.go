// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"sibyl/cpumask"
)

// Rights is what this process may do.
type Rights struct {
	// Root tells whether the effective user is 0.
	Root Tri `json:"root"`
	// The capabilities that tracing and BPF need. CAP_SYS_ADMIN includes the
	// other two.
	SysAdmin Tri `json:"cap_sys_admin"`
	BPF      Tri `json:"cap_bpf"`
	Perfmon  Tri `json:"cap_perfmon"`
	// PerfParanoid is /proc/sys/kernel/perf_event_paranoid; nil if unknown.
	PerfParanoid *int `json:"perf_event_paranoid"`
	// TraceFS tells whether trace events can be listed.
	TraceFS Tri `json:"tracefs"`
	// Lockdown is the active level of the kernel's lockdown (none, integrity,
	// confidentiality); empty if unknown or not built in.
	Lockdown string `json:"lockdown"`
	// Allowed is the list of CPUs that this process may use; empty if
	// unknown.
	Allowed []int `json:"allowed"`
}

// Numbers of capabilities (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
	capBPF      = 39
)

// CanTrace tells whether this process can record scheduling events: through
// tracefs, or with perf events of all CPUs.
func (r *Rights) CanTrace() Tri {
	switch {
	case r.TraceFS == Yes || r.Perfmon == Yes || r.SysAdmin == Yes || r.PerfParanoid != nil && *r.PerfParanoid < 0:
		return Yes
	case r.Perfmon == Unknown:
		return Unknown
	}
	return No
}

// CanLoad tells whether this process can load BPF programs that trace and
// schedule.
func (r *Rights) CanLoad() Tri {
	switch {
	case r.Lockdown == "confidentiality":
		return No
	case r.SysAdmin == Yes || r.BPF == Yes && r.Perfmon == Yes:
		return Yes
	case r.SysAdmin == Unknown:
		return Unknown
	}
	return No
}

func (r *reader) rights() {
	t := &r.s.Rights
	*t = Rights{Root: Unknown, SysAdmin: Unknown, BPF: Unknown, Perfmon: Unknown, TraceFS: Unknown, Allowed: []int{}}
	if text, err := r.text("proc/self/status"); err != nil {
		r.unread("rights of this process", err, "mount /proc")
	} else {
		for line := range strings.Lines(text) {
			key, value, _ := strings.Cut(line, ":")
			r.status(key, strings.TrimSpace(value))
		}
	}
	if text, err := r.text("proc/sys/kernel/perf_event_paranoid"); err == nil {
		if n, err := strconv.Atoi(text); err == nil {
			t.PerfParanoid = &n
		}
	}
	if text, err := r.text("sys/kernel/security/lockdown"); err == nil {
		if _, rest, ok := strings.Cut(text, "["); ok {
			level, _, _ := strings.Cut(rest, "]")
			t.Lockdown = clip(level)
		}
	}
	r.tracefs()
}

func (r *reader) tracefs() {
	const event = "sys/kernel/tracing/events/sched/sched_switch/id"
	_, err := r.text(event)
	switch {
	case err == nil:
		r.s.Rights.TraceFS = Yes
	case errors.Is(err, fs.ErrPermission):
		r.s.Rights.TraceFS = No
	case r.absent("sys/kernel/tracing") == No:
		r.s.Rights.TraceFS = No
		r.unread("trace events", err, "as root: mount -t tracefs nodev /sys/kernel/tracing")
	}
}

// status takes one line of /proc/self/status.
func (r *reader) status(key, value string) {
	t := &r.s.Rights
	switch key {
	case "Uid":
		if ids := strings.Fields(value); len(ids) == 4 {
			t.Root = tri(ids[1] == "0")
		}
	case "CapEff":
		caps, err := strconv.ParseUint(value, 16, 64)
		if err != nil {
			r.unread("capabilities of this process", fmt.Errorf("CapEff is %q", clip(value)), "")
			return
		}
		t.SysAdmin = tri(caps>>capSysAdmin&1 != 0)
		t.Perfmon = tri(caps>>capPerfmon&1 != 0)
		t.BPF = tri(caps>>capBPF&1 != 0)
	case "Cpus_allowed_list":
		cpus, err := cpumask.ParseList(value)
		if err != nil {
			r.unread("CPUs that this process may use", err, "")
			return
		}
		t.Allowed = append(t.Allowed, cpus...)
	}
}
