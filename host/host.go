// SPDX-License-Identifier: Apache-2.0

// Package host says what the kernel and the machine at hand have: the kernel's
// version and the placement mechanisms that it brings, the state of SMT,
// sched_ext, BTF, boot options, interrupts and this process's rights. Doctor
// makes findings and remedies of it.
//
// Everything is read from a file system whose root is /, so that a copy of one
// serves as well. Nothing needs root: what cannot be read is listed with what
// would help, and never guessed.
package host

import (
	"io/fs"
	"os"
)

// Live returns the file system of the running machine, for Read.
func Live() fs.FS { return os.DirFS("/") }

// Elsewhere returns the System of a machine whose kernel is not at hand: all of
// it is unknown, and nothing is listed as unread, since nothing was tried.
func Elsewhere() *System {
	s := Read(nothing{})
	s.Elsewhere, s.Unread = true, []Unread{}
	return s
}

// nothing is a file system without files.
type nothing struct{}

// Open finds no file.
func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Tri is an answer that may be missing.
type Tri string

// The answers.
const (
	Unknown Tri = "unknown"
	Yes     Tri = "yes"
	No      Tri = "no"
)

func tri(b bool) Tri {
	if b {
		return Yes
	}
	return No
}

// System is what was read. Make one by Read or Elsewhere.
type System struct {
	// Elsewhere tells that only a description of the machine is at hand.
	Elsewhere bool `json:"elsewhere"`
	// Release is the kernel's release as uname -r gives it; empty if unknown.
	Release string `json:"release"`
	// Version is parsed from Release.
	Version Version `json:"version"`
	SMT     SMT     `json:"smt"`
	// Olympus tells whether CPU 0 is NVIDIA's Olympus core, whose modes depend
	// on how many of its threads are awake; Unknown where no part number is
	// shown.
	Olympus Tri `json:"olympus"`
	// BootOption is the value of sched_smt_asym_packing= on the command line
	// of the kernel, empty without it.
	BootOption string `json:"boot_option"`
	// Isolated holds the command line's options that take CPUs away from the
	// scheduler or its balancing (isolcpus=, nohz_full=, nosmt, maxcpus=).
	Isolated []string `json:"isolated"`
	// EnergyAware tells whether the kernel may place wakeups by an energy model
	// (/proc/sys/kernel/sched_energy_aware); No also where it cannot.
	EnergyAware Tri      `json:"energy_aware"`
	SchedExt    SchedExt `json:"sched_ext"`
	BTF         BTF      `json:"btf"`
	Domains     Domains  `json:"domains"`
	IRQ         IRQ      `json:"irq"`
	// Guest tells whether the machine is virtual, where that can be seen
	// (x86): then CPUs and siblings are those that the hypervisor shows.
	Guest  Tri    `json:"guest"`
	Rights Rights `json:"rights"`
	// Unread lists what could not be read, in the order of reading.
	Unread []Unread `json:"unread"`
}

// SMT is the kernel's own view (/sys/devices/system/cpu/smt).
type SMT struct {
	Active Tri `json:"active"`
	// Control is on, off, forceoff, notsupported, notimplemented or a number of
	// threads; empty if unknown.
	Control string `json:"control"`
}

// SchedExt is the class of BPF schedulers (/sys/kernel/sched_ext).
type SchedExt struct {
	Present Tri    `json:"present"`
	State   string `json:"state"` // disabled, enabled, enabling, disabling; empty if unknown
	Ops     string `json:"ops"`   // name of the loaded scheduler
}

// BTF is the kernel's type information, which the recorder and the policy
// need. What it names is there for certain, also where a distribution took a
// change to an older version.
type BTF struct {
	Present Tri `json:"present"`
	// BalanceShared tells whether the per-CPU variable sd_balance_shared
	// exists, which came with SMT-aware asymmetric capacity (mechanisms 0.3,
	// row 2).
	BalanceShared Tri `json:"sd_balance_shared"`
	// IdleSMTCPU is Yes if the function select_idle_smt_cpu is named, which
	// came with preferred SMT siblings. A compiler may inline it, so its
	// absence says nothing.
	IdleSMTCPU Tri `json:"select_idle_smt_cpu"`
}

// Domains is what the kernel says of its sched domains (debugfs, for root only).
type Domains struct {
	// Readable is Yes if anything could be read.
	Readable Tri `json:"readable"`
	// SMTPacking tells whether any CPU's SMT domain has SD_ASYM_PACKING,
	// Asymmetric whether any domain has SD_ASYM_CPUCAPACITY.
	SMTPacking Tri `json:"smt_asym_packing"`
	Asymmetric Tri `json:"asym_cpucapacity"`
}

// IRQ says where interrupts and unbound kernel work may go.
type IRQ struct {
	// Default is the affinity of new interrupts, Workqueues that of unbound
	// kernel work, as CPU numbers; empty if unknown.
	Default    []int `json:"default"`
	Workqueues []int `json:"workqueues"`
	// Effective[c] is the number of interrupts that are delivered to CPU c
	// now; empty if unknown.
	Effective []int `json:"effective"`
}

// Unread is a fact that is missing.
type Unread struct {
	What   string `json:"what"`
	Why    string `json:"why"`
	Remedy string `json:"remedy"`
}
