// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sibyl/cpumask"
)

var knownArchs = []string{archAMD64, archARM64, "loong64", archPPC64, archRISCV, "s390x", archUnknown}

// build makes the machine that a file describes.
func (f *file) build() (*Machine, error) {
	if f.Machine != schemaVersion {
		return nil, fmt.Errorf("key machine: got schema version %d, want %d", f.Machine, schemaVersion)
	}
	if !slices.Contains(knownArchs, f.Arch) {
		return nil, fmt.Errorf("arch %q: want one of %s", clip(f.Arch), strings.Join(knownArchs, ", "))
	}
	if i := strings.IndexFunc(f.Name, unicode.IsControl); i >= 0 {
		return nil, fmt.Errorf("name: control character at byte %d: want printable text", i)
	}
	m, err := f.start()
	if err != nil {
		return nil, err
	}
	m.Name, m.Model, m.Arch, m.Note, m.CounterHz = f.Name, f.Model, f.Arch, strings.TrimSpace(f.Note), f.CounterHz
	if m.CounterHz < 0 {
		return nil, fmt.Errorf("counter_hz %d: want 0 or more", m.CounterHz)
	}
	if f.HZ != 0 {
		m.HZ = f.HZ
	}
	if err := checkHZ(m.HZ); err != nil {
		return nil, err
	}
	m.Packing = Packing(f.Packing)
	m.CoreMode = CoreMode(f.CoreMode)
	if err := m.CoreMode.check(); err != nil {
		return nil, err
	}
	if err := m.each("offline", f.Offline, nil, func(c *CPU) { c.Online = false }); err != nil {
		return nil, err
	}
	for lv, lists := range [nrLevels][]cpuList{f.Cores, f.Clusters, f.LLCs, f.Dies, f.Packages} {
		if err := m.setLists(level(lv), lists); err != nil {
			return nil, err
		}
	}
	if err := f.setNodes(m); err != nil {
		return nil, err
	}
	if err := f.setCacheBytes(m); err != nil {
		return nil, err
	}
	if err := f.setValues(m); err != nil {
		return nil, err
	}
	m.Warnings = append(m.Warnings, f.Warnings...)
	var w warnings
	had := len(m.Warnings)
	if err := m.finish(&w); err != nil {
		return nil, err
	}
	// What finish finds may already stand in a file that was written after
	// loading.
	tail := m.Warnings[had:]
	m.Warnings = m.Warnings[:had:had]
	for _, t := range tail {
		if !slices.Contains(m.Warnings, t) {
			m.Warnings = append(m.Warnings, t)
		}
	}
	return m, nil
}

// maxHZ is above every CONFIG_HZ.
const maxHZ = 10_000

func checkHZ(hz int) error {
	if hz < 1 || hz > maxHZ {
		return fmt.Errorf("hz %d: want 1 to %d", hz, maxHZ)
	}
	return nil
}

// check refuses numbers that no core can have.
func (c *CoreMode) check() error {
	for _, v := range []struct {
		key   string
		value int64
	}{{"freq_khz", c.FreqKHz}, {"qualify", c.Qualify}, {"out", c.Out}, {"refill_ns", c.RefillNS}, {"flops_st", c.FlopsST}, {"flops_smt", c.FlopsSMT}} {
		if v.value < 0 || v.value > 1<<40 {
			return fmt.Errorf("core_mode: %s %d: want 0 to 2^40", v.key, v.value)
		}
	}
	for _, v := range c.In {
		if v < 0 || v > 1<<40 {
			return fmt.Errorf("core_mode: in %d: want 0 to 2^40", v)
		}
	}
	for _, v := range c.ThreadSpeed {
		if v < 1 || v > 1_000_000 {
			return fmt.Errorf("core_mode: thread_speed %d: want 1 to 1000000 (millionths)", v)
		}
	}
	if c.Qualify > 0 && c.FreqKHz == 0 {
		return fmt.Errorf("core_mode: qualify without freq_khz: cycles have no length")
	}
	return nil
}

// start makes the CPUs and, with a layout, their groups and nodes.
func (f *file) start() (*Machine, error) {
	switch {
	case f.Layout != nil && !f.CPUs.IsZero():
		return nil, fmt.Errorf("line %d: give either layout or cpus, not both", f.CPUs.line)
	case f.Layout != nil:
		return f.Layout.build()
	case f.CPUs.IsZero():
		return nil, fmt.Errorf("no CPUs: give layout or cpus")
	}
	cpus, err := f.CPUs.cpus()
	if err != nil {
		return nil, err
	}
	m := newMachine(slices.Max(cpus) + 1)
	for _, c := range cpus {
		m.CPUs[c].Possible, m.CPUs[c].Online = true, true
	}
	return m, nil
}

// build numbers a regular machine's CPUs.
func (l *layout) build() (*Machine, error) {
	for _, v := range []struct {
		key        string
		value, min int
	}{
		{"packages", l.Packages, 1},
		{"cores", l.Cores, 1},
		{"threads", l.Threads, 1},
		{"cores_per_cluster", l.CoresPerCluster, 0},
		{"cores_per_llc", l.CoresPerLLC, 0},
		{"cores_per_die", l.CoresPerDie, 0},
		{"cores_per_node", l.CoresPerNode, 0},
	} {
		if v.value < v.min || v.value > cpumask.MaxCPUs {
			return nil, fmt.Errorf("layout: %s %d: want %d to %d", v.key, v.value, v.min, cpumask.MaxCPUs)
		}
		if strings.HasPrefix(v.key, "cores_per_") && v.value > 0 && l.Cores%v.value != 0 {
			return nil, fmt.Errorf("layout: %s %d: does not divide the %d cores of a package", v.key, v.value, l.Cores)
		}
	}
	cores := l.Packages * l.Cores
	if n := cores * l.Threads; cores > cpumask.MaxCPUs || n > cpumask.MaxCPUs {
		return nil, fmt.Errorf("layout: %d CPUs, more than %d", n, cpumask.MaxCPUs)
	}
	if l.RemoteDistance != 0 && (l.RemoteDistance <= localDistance || l.RemoteDistance > 255) {
		return nil, fmt.Errorf("layout: remote_distance %d: want 11 to 255", l.RemoteDistance)
	}
	m := newMachine(cores * l.Threads)
	per := [nrLevels]int{levelCore: 1, levelCluster: l.CoresPerCluster, levelLLC: orElse(l.CoresPerLLC, l.Cores), levelDie: l.CoresPerDie, levelPackage: l.Cores}
	var groups [nrLevels][][]int
	for lv, n := range per {
		if n > 0 {
			groups[lv] = make([][]int, cores/n)
		}
	}
	nodeCores := orElse(l.CoresPerNode, l.Cores)
	nodes := cores / nodeCores
	for core := range cores {
		for t := range l.Threads {
			c := 0
			switch pkg, in := core/l.Cores, core%l.Cores; l.Numbering {
			case "smt-last":
				c = t*cores + core
			case "package-smt-last":
				c = pkg*l.Cores*l.Threads + t*l.Cores + in
			case "smt-first":
				c = core*l.Threads + t
			default:
				return nil, fmt.Errorf("layout: numbering %q: want smt-last, package-smt-last or smt-first", clip(l.Numbering))
			}
			cpu := &m.CPUs[c]
			cpu.Possible, cpu.Online, cpu.CoreID, cpu.Node = true, true, core%l.Cores, core/nodeCores
			for lv, n := range per {
				if n > 0 {
					groups[lv][core/n] = append(groups[lv][core/n], c)
				}
			}
		}
	}
	for lv := range groups {
		if err := m.setGroups(level(lv), groups[lv]); err != nil {
			return nil, err
		}
	}
	for i := range nodes {
		n := Node{ID: i, Distance: make([]int, nodes)}
		for j := range nodes {
			n.Distance[j] = orElse(l.RemoteDistance, remoteDistance)
		}
		n.Distance[i] = localDistance
		m.Nodes = append(m.Nodes, n)
	}
	return m, nil
}

func orElse(v, otherwise int) int {
	if v != 0 {
		return v
	}
	return otherwise
}

// setLists sets the groups of a level from a file's lists, which replace what
// the layout made.
func (m *Machine) setLists(lv level, lists []cpuList) error {
	if len(lists) == 0 {
		return nil
	}
	for i := range m.CPUs {
		*lv.at(&m.CPUs[i]) = -1
	}
	var groups [][]int
	seen := cpumask.New(cpumask.MaxCPUs)
	for _, l := range lists {
		some, err := l.groups()
		if err != nil {
			return err
		}
		for _, c := range slices.Concat(some...) {
			if seen.Has(c) {
				return fmt.Errorf("line %d: CPU %d is in two groups of level %s", l.line, c, levelNames[lv])
			}
			seen.Set(c)
		}
		groups = append(groups, some...)
	}
	if err := m.setGroups(lv, groups); err != nil {
		return fmt.Errorf("line %d: %w", lists[0].line, err)
	}
	return nil
}

func (f *file) setNodes(m *Machine) error {
	if len(f.Nodes) == 0 {
		if len(m.Nodes) == 0 {
			m.allToOne()
		}
		return nil
	}
	m.Nodes = nil
	for i := range m.CPUs {
		m.CPUs[i].Node = -1
	}
	if len(f.Nodes) > maxNodes {
		return fmt.Errorf("nodes: %d, more than %d", len(f.Nodes), maxNodes)
	}
	seen := cpumask.New(cpumask.MaxCPUs)
	for i, n := range f.Nodes {
		where := fmt.Sprintf("node %d", n.ID)
		if n.CPUs.line > 0 {
			where = fmt.Sprintf("line %d: node %d", n.CPUs.line, n.ID)
		}
		if n.ID < 0 || n.ID >= maxNodes || i > 0 && n.ID <= f.Nodes[i-1].ID {
			return fmt.Errorf("%s: want ascending ids from 0 to %d", where, maxNodes-1)
		}
		if len(n.Distance) != len(f.Nodes) {
			return fmt.Errorf("%s: %d distances for %d nodes", where, len(n.Distance), len(f.Nodes))
		}
		for _, d := range n.Distance {
			if d < 1 || d > 255 {
				return fmt.Errorf("%s: distance %d: want 1 to 255", where, d)
			}
		}
		m.Nodes = append(m.Nodes, Node{ID: n.ID, Distance: n.Distance})
		if err := m.each("nodes", n.CPUs, seen, func(c *CPU) { c.Node = i }); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) setCacheBytes(m *Machine) error {
	n := len(m.groupsOf(levelLLC))
	switch len(f.LLCBytes) {
	case 0:
		return nil
	case n:
		m.CacheBytes = f.LLCBytes
	case 1:
		m.CacheBytes = slices.Repeat(f.LLCBytes, n)
	default:
		return fmt.Errorf("llc_bytes: %d sizes for %d last-level caches", len(f.LLCBytes), n)
	}
	for _, b := range f.LLCBytes {
		if b < 0 {
			return fmt.Errorf("llc_bytes: %d: want 0 or more", b)
		}
	}
	return nil
}

// setValues sets what is given per CPU. Defaults are those of a kernel on that
// architecture that has no source of its own.
func (f *file) setValues(m *Machine) error {
	newPerformance(len(m.CPUs)).apply(m, new(warnings))
	m.Packing = Packing(f.Packing)
	err := m.perCPU("capacity", f.Capacity, 1, capacityScale, func(c *CPU, v int, source string) {
		c.Capacity, c.CapacitySource = v, source
	})
	if err != nil {
		return err
	}
	err = m.perCPU("priority", f.Priority, -maxPerf, maxPerf, func(c *CPU, v int, source string) {
		c.Priority, c.PrioritySource = v, source
	})
	if err != nil {
		return err
	}
	seen := cpumask.New(cpumask.MaxCPUs)
	for _, t := range f.Types {
		if err := m.each("types", t.CPUs, seen, func(c *CPU) { c.Type = t.Type }); err != nil {
			return err
		}
	}
	seen.Reset()
	for _, id := range f.CoreIDs {
		if id.ID < -1 || id.ID > maxID {
			return fmt.Errorf("line %d: core_ids: id %d: want -1 to %d", id.CPUs.line, id.ID, maxID)
		}
		if err := m.each("core_ids", id.CPUs, seen, func(c *CPU) { c.CoreID = id.ID }); err != nil {
			return err
		}
	}
	return nil
}

// each calls set for the CPUs of a list. None of them may be in seen, which
// gathers what the lists of one key name; nil if there is only one list.
func (m *Machine) each(key string, l cpuList, seen cpumask.Mask, set func(*CPU)) error {
	cpus, err := l.cpus()
	if err != nil {
		return err
	}
	for _, c := range cpus {
		if c >= len(m.CPUs) || !m.CPUs[c].Possible {
			return fmt.Errorf("line %d: %s: the machine has no CPU %d", l.line, key, c)
		}
		if seen.Has(c) {
			return fmt.Errorf("line %d: %s: CPU %d is named twice", l.line, key, c)
		}
		if seen != nil {
			seen.Set(c)
		}
		set(&m.CPUs[c])
	}
	return nil
}

func (m *Machine) perCPU(key string, v valueFile, lo, hi int, set func(*CPU, int, string)) error {
	source := v.Source
	if source == "" {
		source = "machine file"
	}
	cores := m.groupsOf(levelCore)
	if n := len(v.PerCore); n > 0 && len(cores)%n != 0 {
		return fmt.Errorf("%s: per_core has %d values, which does not divide the %d cores", key, n, len(cores))
	}
	for i, g := range cores {
		if len(v.PerCore) == 0 {
			break
		}
		value := v.PerCore[i%len(v.PerCore)]
		if value < lo || value > hi {
			return fmt.Errorf("%s: per_core value %d: want %d to %d", key, value, lo, hi)
		}
		for _, c := range g {
			set(&m.CPUs[c], value, source)
		}
	}
	seen := cpumask.New(cpumask.MaxCPUs)
	for _, l := range v.CPUs {
		if l.Value < lo || l.Value > hi {
			return fmt.Errorf("line %d: %s %d: want %d to %d", l.CPUs.line, key, l.Value, lo, hi)
		}
		from := source
		if l.Source != "" {
			from = l.Source
		}
		if err := m.each(key, l.CPUs, seen, func(c *CPU) { set(c, l.Value, from) }); err != nil {
			return err
		}
	}
	return nil
}
