// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"sibyl/cpumask"
)

// FromSysfs reads a machine from a file system that holds a sysfs tree at its
// root, in sys, or some levels down; a proc directory beside sys is used if it
// is there. name is the machine's name and a hint of its architecture.
func FromSysfs(fsys fs.FS, name string) (*Machine, error) {
	root, err := findSysfs(fsys)
	if err != nil {
		return nil, err
	}
	return readSysfs(fsTree{fsys}, root, name)
}

// FromTar reads a machine from an archive (plain tar, gzip or bzip2) of a
// sysfs tree. Nothing is written to disk and no link is followed.
func FromTar(r io.Reader, name string) (*Machine, error) {
	t, root, err := readTar(r, maxArchive)
	if err != nil {
		return nil, err
	}
	return readSysfs(t, root, name)
}

// sysfs is one reading of a tree.
type sysfs struct {
	tree
	sys  string // path of the sys directory
	proc string // path of the proc directory
	m    *Machine
	w    warnings
	dirs []bool // which CPU numbers have a directory
}

func readSysfs(t tree, sys, name string) (*Machine, error) {
	s := &sysfs{tree: t, sys: sys, proc: path.Join(path.Dir(sys), "proc")}
	if sys == "." {
		s.proc = "proc"
	}
	if err := s.numbers(); err != nil {
		return nil, err
	}
	s.m.Name = name
	s.m.Arch = s.arch(name)
	for _, step := range []func() error{s.cores, s.clusters, s.dies, s.packages, s.caches, s.nodes, s.types, s.performance} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := s.m.finish(&s.w); err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(sys, cpuDir), err)
	}
	return s.m, nil
}

// cpuFile returns the path of a file of CPU c.
func (s *sysfs) cpuFile(c int, file string) string {
	return path.Join(s.sys, cpuDir, "cpu"+strconv.Itoa(c), file)
}

// set reads a set of CPUs from the first of the files that exists; a name that
// ends in list or is cpus, possible, present or online has list format, others
// are masks.
func (s *sysfs) set(files ...string) ([]int, bool, error) {
	for _, f := range files {
		text, ok, err := s.read(f)
		if err != nil {
			return nil, false, err
		}
		if !ok {
			continue
		}
		var cpus []int
		if isMask(path.Base(f)) {
			cpus, err = parseMask(text)
		} else {
			cpus, err = cpumask.ParseList(text)
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", f, err)
		}
		return cpus, true, nil
	}
	return nil, false, nil
}

func isMask(base string) bool {
	switch base {
	case "core_cpus", "thread_siblings", "cluster_cpus", "die_cpus", "package_cpus", "core_siblings", "shared_cpu_map", "cpumap":
		return true
	}
	return false
}

// number reads a decimal number between lo and hi.
func (s *sysfs) number(file string, lo, hi int) (int, bool, error) {
	text, ok, err := s.read(file)
	if err != nil || !ok || text == "" {
		return 0, false, err
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < lo || v > hi {
		return 0, false, fmt.Errorf("%s: got %q, want a number from %d to %d", file, clip(text), lo, hi)
	}
	return v, true, nil
}

// numbers finds the CPUs: which are there, which are online. A CPU that is
// only possible (a hot-plug slot without a CPU) is left out.
func (s *sysfs) numbers() error {
	base := path.Join(s.sys, cpuDir)
	s.dirs = make([]bool, cpumask.MaxCPUs)
	var here []int
	for _, name := range s.list(base) {
		digits, ok := strings.CutPrefix(name, "cpu")
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		c, err := strconv.Atoi(digits)
		if err != nil || c >= cpumask.MaxCPUs {
			return fmt.Errorf("%s: CPU number is not below %d", path.Join(base, clip(name)), cpumask.MaxCPUs)
		}
		s.dirs[c] = true
		here = append(here, c)
	}
	present, hasPresent, err := s.set(path.Join(base, "present"))
	if err != nil {
		return err
	}
	possible, hasPossible, err := s.set(path.Join(base, "possible"))
	if err != nil {
		return err
	}
	online, hasOnline, err := s.set(path.Join(base, "online"))
	if err != nil {
		return err
	}
	place := present
	if !hasPresent {
		place = here
		if len(here) == 0 && hasPossible {
			place = possible
		}
	}
	is := make([]bool, cpumask.MaxCPUs)
	for _, c := range place {
		is[c] = true
	}
	for _, c := range slices.Concat(here, online) {
		if !is[c] {
			is[c] = true
			s.w.cpu(c, "is not in %s", path.Join(base, "present"))
		}
	}
	n := 0
	for c := range is {
		if is[c] {
			n = c + 1
		}
	}
	if n == 0 {
		return fmt.Errorf("%s: no CPUs: want directories cpu0, cpu1, … or a file present", base)
	}
	s.m = newMachine(n)
	for c := range n {
		s.m.CPUs[c].Possible = is[c]
	}
	var absent []int
	for _, c := range possible {
		if c >= n || !is[c] {
			absent = append(absent, c)
		}
	}
	if len(absent) > 0 {
		s.w.add("CPU %s: possible but not present, left out", cpumask.FormatList(absent))
	}
	return s.online(online, hasOnline)
}

// online decides which CPUs are online: by the list, else by each CPU's own
// file, else by being there.
func (s *sysfs) online(list []int, known bool) error {
	for _, c := range list {
		s.m.CPUs[c].Online = true
	}
	for c := range s.m.CPUs {
		if !s.m.CPUs[c].Possible {
			continue
		}
		v, ok, err := s.number(s.cpuFile(c, "online"), 0, 1)
		if err != nil {
			return err
		}
		switch {
		case !known:
			s.m.CPUs[c].Online = s.dirs[c] && (!ok || v == 1)
		case ok && (v == 1) != s.m.CPUs[c].Online:
			s.w.cpu(c, "its own file online says %d, the list of online CPUs says otherwise; the list is used", v)
		}
	}
	return nil
}

// group forms the groups of a level from each CPU's own set. Sets that do not
// agree with each other are warned about; the lowest CPU's set counts.
func (s *sysfs) group(lv level, sets []cpumask.Mask) error {
	var groups [][]int
	taken := make([]bool, len(sets))
	for c := range sets {
		if sets[c] == nil || taken[c] || !s.m.CPUs[c].Possible {
			continue
		}
		g := []int{c}
		taken[c] = true
		if !sets[c].Has(c) {
			s.w.cpu(c, "its own %s mask does not hold it", levelNames[lv])
		}
		said := false // one complaint a CPU is enough
		for o := range sets[c].All() {
			switch {
			case o == c:
			case o < len(sets) && s.m.CPUs[o].Possible && !taken[o] && (sets[o] == nil || sets[o].Has(c)):
				g = append(g, o)
				taken[o] = true
			case !said && (o >= len(sets) || !s.m.CPUs[o].Possible):
				s.w.cpu(c, "its %s mask holds CPU %d, which is not there", levelNames[lv], o)
				said = true
			case !said:
				s.w.cpu(c, "its %s mask holds CPU %d, whose own mask disagrees", levelNames[lv], o)
				said = true
			}
		}
		groups = append(groups, g)
	}
	return s.m.setGroups(lv, groups)
}

// byKey forms the groups of a level from a key per CPU; CPUs with an empty key
// are in none.
func (s *sysfs) byKey(lv level, keys []string) error {
	index := map[string]int{}
	var groups [][]int
	for c, k := range keys {
		if k == "" {
			continue
		}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return s.m.setGroups(lv, groups)
}

// arch finds the architecture: from cpuinfo, from files that only one
// architecture has, from the name of the tree.
func (s *sysfs) arch(name string) string {
	info, _, _ := s.read(path.Join(s.proc, "cpuinfo"))
	said := archOfCPUInfo(info)
	hint := archOfName(name)
	if said == "" {
		for c := range s.m.CPUs {
			if !s.dirs[c] {
				continue
			}
			files := s.list(s.cpuFile(c, "."))
			switch {
			case slices.Contains(files, "regs"):
				said = archARM64
			case slices.Contains(files, "thermal_throttle"), slices.Contains(files, "microcode"):
				said = archAMD64
			}
			if said != "" {
				break
			}
		}
		if slices.Contains(s.list(path.Join(s.sys, cpuDir)), "intel_pstate") {
			said = archAMD64
		}
	}
	s.m.CounterHz = counterHz(said, info)
	switch {
	case said != "":
		if hint != "" && hint != said {
			s.w.add("the name suggests %s, the content says %s", hint, said)
		}
		return said
	case hint != "":
		s.w.add("architecture %s taken from the name: the source does not say", hint)
		return hint
	}
	s.w.add("architecture unknown (no proc/cpuinfo beside sys): capacities and priorities are assumptions")
	return archUnknown
}

// archOfCPUInfo knows the lines of /proc/cpuinfo that one architecture has.
func archOfCPUInfo(info string) string {
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(line, ":")
		switch key = strings.TrimSpace(key); {
		case key == "vendor_id" && strings.Contains(value, "S390"):
			return "s390x"
		case key == "vendor_id":
			return archAMD64
		case key == "CPU implementer":
			return archARM64
		case key == "cpu" && strings.Contains(value, "POWER"):
			return archPPC64
		case key == "isa" && strings.Contains(value, "rv64"):
			return archRISCV
		case key == "CPU Family" && strings.Contains(value, "Loongson"):
			return "loong64"
		}
	}
	return ""
}

// archOfName knows the spellings that makers of dumps use.
func archOfName(name string) string {
	lower := strings.ToLower(name)
	for _, k := range [][2]string{
		{"x86_64", archAMD64},
		{"amd64", archAMD64},
		{"em64t", archAMD64},
		{"intel64", archAMD64},
		{"x86-64", archAMD64},
		{"aarch64", archARM64},
		{"arm64", archARM64},
		{"ppc64", archPPC64},
		{"power", archPPC64},
		{"riscv64", archRISCV},
		{"s390x", "s390x"},
	} {
		if strings.Contains(lower, k[0]) {
			return k[1]
		}
	}
	return ""
}

// counterHz derives the rate of arm64's generic timer from BogoMIPS, which the
// kernel computes as twice that rate in MHz.
func counterHz(arch, info string) int64 {
	if arch != archARM64 {
		return 0
	}
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) != "BogoMIPS" {
			continue
		}
		whole, cents, _ := strings.Cut(strings.TrimSpace(value), ".")
		w, err1 := strconv.ParseInt(whole, 10, 32)
		f, err2 := strconv.ParseInt(cents, 10, 32)
		if err1 != nil || err2 != nil || len(cents) != 2 || w < 0 || f < 0 {
			return 0
		}
		return (w*100 + f) * 10_000 / 2
	}
	return 0
}
