// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"sibyl/cpumask"
)

// Bounds on what is read: files of /proc and /sys are small.
const (
	maxFile = 1 << 20
	maxCPUs = 1 << 16
	maxIRQs = 1 << 14
)

// Implementer and part number of NVIDIA's Olympus core in MIDR_EL1 (hardware
// 1.1).
const (
	nvidia  = 0x4e
	olympus = 0x010
)

// reader is one reading.
type reader struct {
	root fs.FS
	s    System
}

// Read reads what a kernel and its machine say of themselves. It cannot fail:
// what is missing is in Unread.
func Read(root fs.FS) *System {
	r := &reader{root: root, s: System{Isolated: []string{}, Unread: []Unread{}}}
	r.kernel()
	r.smt()
	r.core()
	r.cmdline()
	r.energy()
	r.schedExt()
	r.btf()
	r.domains()
	r.irqs()
	r.guest()
	r.rights()
	return &r.s
}

func (r *reader) unread(what string, err error, remedy string) {
	why := "not there"
	switch {
	case errors.Is(err, fs.ErrPermission):
		why = "no permission"
		if remedy == "" {
			remedy = "run as root"
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		why = err.Error()
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			why = p.Err.Error()
		}
	}
	r.s.Unread = append(r.s.Unread, Unread{what, why, remedy})
}

// text returns the content of a small file, trimmed.
func (r *reader) text(name string) (text string, err error) {
	if err := regular(r.root, name); err != nil {
		return "", err
	}
	f, err := r.root.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", err
	}
	return strings.Trim(string(data), " \t\r\n\x00"), nil
}

// regular refuses what is no file: opening a FIFO in a copied tree would wait for
// a writer.
func regular(root fs.FS, name string) error {
	if fi, err := fs.Stat(root, name); err == nil && !fi.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	return nil
}

// absent says what the absence of a file means: No if its directory dir is
// there, Unknown if even that is missing.
func (r *reader) absent(dir string) Tri {
	if fi, err := fs.Stat(r.root, dir); err == nil && fi.IsDir() {
		return No
	}
	return Unknown
}

func (r *reader) kernel() {
	text, err := r.text("proc/sys/kernel/osrelease")
	if err != nil {
		var version string
		if version, err = r.text("proc/version"); err == nil {
			text = "" // "Linux version RELEASE (who built it)"
			if f := strings.Fields(version); len(f) > 2 {
				text = f[2]
			}
		}
	}
	if err != nil {
		r.unread("kernel release", err, "mount /proc; rules by version stay unknown without it")
		return
	}
	r.s.Release = clip(text)
	v, err := ParseVersion(text)
	if err != nil {
		r.unread("kernel version", err, "rules by version stay unknown")
		return
	}
	r.s.Version = v
}

func (r *reader) smt() {
	const dir = "sys/devices/system/cpu/smt"
	s := &r.s.SMT
	s.Active = Unknown
	text, err := r.text(dir + "/active")
	switch {
	case err == nil && (text == "0" || text == "1"):
		s.Active = tri(text == "1")
	case err == nil:
		r.unread("SMT state", fmt.Errorf("active is %q, not 0 or 1", clip(text)), "the machine's sibling lists are used instead")
	default:
		r.unread("SMT state", err, "the machine's sibling lists are used instead")
		return
	}
	if text, err = r.text(dir + "/control"); err != nil {
		r.unread("SMT control", err, "")
		return
	}
	s.Control = clip(text)
}

// core reads the part number of an arm64 core.
func (r *reader) core() {
	r.s.Olympus = Unknown
	text, err := r.text("sys/devices/system/cpu/cpu0/regs/identification/midr_el1")
	if err != nil {
		return // other architectures have none
	}
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		r.unread("part number of CPU 0", fmt.Errorf("midr_el1 is %q", clip(text)), "")
		return
	}
	r.s.Olympus = tri(v>>24&0xff == nvidia && v>>4&0xfff == olympus)
}

// cmdline looks for boot options; the last of several of one name holds.
func (r *reader) cmdline() {
	text, err := r.text("proc/cmdline")
	if err != nil {
		r.unread("kernel command line", err, "mount /proc; boot options stay unknown without it")
		return
	}
	for word := range strings.FieldsSeq(text) {
		if word == "--" {
			break // the rest is init's
		}
		key, value, _ := strings.Cut(word, "=")
		switch strings.ReplaceAll(key, "-", "_") {
		case "sched_smt_asym_packing":
			r.s.BootOption = clip(value)
		case "isolcpus", "nohz_full", "nosmt", "maxcpus", "nr_cpus":
			r.s.Isolated = append(r.s.Isolated, clip(word))
		}
	}
}

// energy reads the switch of energy-aware placement, which reads as nothing
// where the machine cannot have it (SMT, equal capacities).
func (r *reader) energy() {
	const file = "proc/sys/kernel/sched_energy_aware"
	text, err := r.text(file)
	switch {
	case err == nil:
		r.s.EnergyAware = tri(text == "1")
	case errors.Is(err, fs.ErrNotExist):
		r.s.EnergyAware = r.absent("proc/sys/kernel") // not built in
	default:
		r.s.EnergyAware = Unknown
		r.unread("whether energy-aware placement is on", err, "")
	}
}

func (r *reader) schedExt() {
	const dir = "sys/kernel/sched_ext"
	s := &r.s.SchedExt
	fi, err := fs.Stat(r.root, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s.Present = r.absent("sys/kernel"); s.Present == Unknown {
			r.unread("sched_ext", err, "read on the machine itself, with /sys mounted")
		}
		return
	case err != nil || !fi.IsDir():
		s.Present = Unknown
		r.unread("sched_ext", err, "")
		return
	}
	s.Present = Yes
	if text, err := r.text(dir + "/state"); err == nil {
		s.State = clip(text)
	} else {
		r.unread("state of sched_ext", err, "")
	}
	if text, err := r.text(dir + "/root/ops"); err == nil {
		s.Ops = clip(text)
	}
}

// domains reads the sched domains' flags of debugfs.
func (r *reader) domains() {
	const dir = "sys/kernel/debug/sched/domains"
	d := &r.s.Domains
	*d = Domains{Unknown, Unknown, Unknown}
	cpus, err := fs.ReadDir(r.root, dir)
	if err != nil || len(cpus) == 0 {
		r.unread("flags of the kernel's sched domains", err, "run as root with debugfs mounted and the verbose flag on: echo Y >/sys/kernel/debug/sched/verbose")
		return
	}
	*d = Domains{Yes, No, No}
	for _, cpu := range cpus[:min(len(cpus), maxCPUs)] {
		levels, err := fs.ReadDir(r.root, path.Join(dir, cpu.Name()))
		if err != nil {
			continue
		}
		for _, level := range levels {
			at := path.Join(dir, cpu.Name(), level.Name())
			flags, err := r.text(at + "/flags")
			if err != nil {
				continue
			}
			set := strings.Fields(flags)
			if slices.Contains(set, "SD_ASYM_CPUCAPACITY") {
				d.Asymmetric = Yes
			}
			if slices.Contains(set, "SD_ASYM_PACKING") && slices.Contains(set, "SD_SHARE_CPUCAPACITY") {
				d.SMTPacking = Yes
			}
		}
	}
}

func (r *reader) guest() {
	r.s.Guest = Unknown
	text, err := r.text("proc/cpuinfo")
	if err != nil {
		return // a note only: not worth a line of its own
	}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			r.s.Guest = tri(slices.Contains(strings.Fields(value), "hypervisor"))
			return
		}
	}
}

// parseMask parses the kernel's hexadecimal masks: words of 32 bits, the highest
// first, between commas.
func parseMask(s string) ([]int, error) {
	var cpus []int
	digits := strings.ReplaceAll(s, ",", "")
	if digits == "" || len(digits) > maxCPUs/4 {
		return nil, fmt.Errorf("parse mask %q: want hexadecimal digits", clip(s))
	}
	for i := range len(digits) {
		nibble := strings.IndexByte("0123456789abcdef", digits[len(digits)-1-i]|0x20)
		if c := digits[len(digits)-1-i]; c >= '0' && c <= '9' {
			nibble = int(c - '0')
		}
		if nibble < 0 {
			return nil, fmt.Errorf("parse mask %q: want hexadecimal digits", clip(s))
		}
		for b := range 4 {
			if nibble>>b&1 != 0 {
				cpus = append(cpus, 4*i+b)
			}
		}
	}
	return cpus, nil
}

func (r *reader) irqs() {
	q := &r.s.IRQ
	*q = IRQ{[]int{}, []int{}, []int{}}
	for _, f := range []struct {
		what, name string
		to         *[]int
	}{
		{"default affinity of interrupts", "proc/irq/default_smp_affinity", &q.Default},
		{"CPUs of unbound kernel work", "sys/devices/virtual/workqueue/cpumask", &q.Workqueues},
	} {
		text, err := r.text(f.name)
		var cpus []int
		if err == nil {
			cpus, err = parseMask(text)
		}
		if err != nil {
			r.unread(f.what, err, "")
			continue
		}
		*f.to = append(*f.to, cpus...)
	}
	entries, err := fs.ReadDir(r.root, "proc/irq")
	if err != nil {
		r.unread("where interrupts are delivered", err, "mount /proc")
		return
	}
	var seen int
	last := fs.ErrNotExist
	for _, e := range entries[:min(len(entries), maxIRQs)] {
		if !e.IsDir() {
			continue
		}
		text, err := r.text("proc/irq/" + e.Name() + "/effective_affinity_list")
		if err != nil {
			last = err
			continue
		}
		cpus, err := cpumask.ParseList(text)
		if err != nil || len(cpus) == 0 {
			continue // an interrupt that is not in use has an empty list
		}
		seen++
		for _, c := range cpus {
			if c < maxCPUs {
				q.Effective = append(q.Effective, make([]int, max(0, c+1-len(q.Effective)))...)
				q.Effective[c]++
			}
		}
	}
	if seen == 0 {
		r.unread("where interrupts are delivered", last, "")
	}
}

// clip bounds text from outside.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '?'
		}
		return c
	}, s)
	if r := []rune(s); len(r) > 120 {
		return string(r[:120]) + "…"
	}
	return s
}
