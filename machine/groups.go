// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"

	"sibyl/cpumask"
)

// level is one of the groupings of CPUs that a CPU holds a dense index for.
// The NUMA node is not among them: it has an identity of its own (Node.ID).
type level int

const (
	levelCore level = iota
	levelCluster
	levelLLC
	levelDie
	levelPackage
	nrLevels
)

var levelNames = [nrLevels]string{"core", "cluster", "llc", "die", "package"}

// at returns the CPU's index field for the level.
func (lv level) at(c *CPU) *int {
	switch lv {
	case levelCore:
		return &c.Core
	case levelCluster:
		return &c.Cluster
	case levelLLC:
		return &c.LLC
	case levelDie:
		return &c.Die
	default:
		return &c.Package
	}
}

// newMachine returns a machine of n CPU numbers, none possible yet, all group
// fields unknown.
func newMachine(n int) *Machine {
	m := &Machine{CPUs: make([]CPU, n), HZ: defaultHZ}
	for i := range m.CPUs {
		m.CPUs[i] = CPU{Core: -1, Cluster: -1, LLC: -1, Die: -1, Package: -1, Node: -1, CoreID: -1}
	}
	return m
}

// defaultHZ is the tick rate of most distributions' arm64 and x86 kernels.
const defaultHZ = 250

// setGroups numbers the groups of a level in ascending order of their lowest
// CPU, so that two sources of the same machine give the same indices. A CPU in
// two groups is an error.
func (m *Machine) setGroups(lv level, groups [][]int) error {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g []int) bool { return len(g) == 0 })
	for i := range groups {
		groups[i] = slices.Sorted(slices.Values(groups[i]))
	}
	slices.SortFunc(groups, func(a, b []int) int { return a[0] - b[0] })
	for i, g := range groups {
		for j, c := range g {
			if j > 0 && g[j-1] == c {
				continue
			}
			if c >= len(m.CPUs) || !m.CPUs[c].Possible {
				return fmt.Errorf("%s %s: the machine has no CPU %d", levelNames[lv], cpumask.FormatList(g), c)
			}
			f := lv.at(&m.CPUs[c])
			if *f >= 0 {
				return fmt.Errorf("CPU %d is in two groups of level %s: %s and %s", c, levelNames[lv],
					cpumask.FormatList(groups[*f]), cpumask.FormatList(g))
			}
			*f = i
		}
	}
	return nil
}

// groupsOf returns the CPUs of each group of a level, in order of index.
func (m *Machine) groupsOf(lv level) [][]int {
	var groups [][]int
	for c := range m.CPUs {
		g := *lv.at(&m.CPUs[c])
		if !m.CPUs[c].Possible || g < 0 {
			continue
		}
		for len(groups) <= g {
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], c)
	}
	return groups
}

// setThreads numbers the CPUs of each core, ascending.
func (m *Machine) setThreads() {
	for _, g := range m.groupsOf(levelCore) {
		for t, c := range g {
			m.CPUs[c].Thread = t
		}
	}
}

// finish derives what follows from the groups and adds warnings about what
// contradicts itself; every loader ends with it.
func (m *Machine) finish(w *warnings) error {
	m.setThreads()
	online := 0
	for i := range m.CPUs {
		c := &m.CPUs[i]
		if !c.Possible {
			continue
		}
		if c.Online {
			online++
			if c.Core < 0 {
				w.cpu(i, "the source does not say which core it belongs to")
			}
		}
	}
	if online == 0 {
		return fmt.Errorf("no CPU is online")
	}
	for _, g := range m.groupsOf(levelCore) {
		a := &m.CPUs[g[0]]
		for _, i := range g[1:] {
			b := &m.CPUs[i]
			for lv := levelCluster; lv < nrLevels; lv++ {
				if x, y := *lv.at(a), *lv.at(b); x != y && x >= 0 && y >= 0 {
					w.cpu(i, "is in another %s than its SMT sibling", levelNames[lv])
				}
			}
			if a.Node != b.Node && a.Node >= 0 && b.Node >= 0 {
				w.cpu(i, "is in another NUMA node than its SMT sibling")
			}
			if a.Capacity != b.Capacity {
				w.cpu(i, "has another capacity than its SMT sibling, which the kernel does not support")
			}
		}
	}
	m.Warnings = append(m.Warnings, w.list()...)
	return nil
}

// warnings collects what a loader finds out of place. Warnings of many CPUs
// with the same text become one that lists the CPUs.
type warnings struct {
	texts []string
	cpus  map[string][]int
	more  int // warnings beyond maxWarnings
}

// maxWarnings bounds the distinct warnings: beyond it a source is not worth
// reading further, and hostile input must not fill the memory.
const maxWarnings = 100

// add records a warning about the whole machine.
func (w *warnings) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(w.texts, text) {
		return
	}
	if len(w.texts) >= maxWarnings {
		w.more++
		return
	}
	w.texts = append(w.texts, text)
}

// cpu records a warning about one CPU.
func (w *warnings) cpu(c int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if w.cpus == nil {
		w.cpus = map[string][]int{}
	}
	if w.cpus[text] == nil {
		if len(w.texts) >= maxWarnings {
			w.more++
			return
		}
		w.texts = append(w.texts, text)
	}
	if l := w.cpus[text]; len(l) == 0 || l[len(l)-1] != c {
		w.cpus[text] = append(l, c)
	}
}

// list returns the warnings in the order in which they first came up.
func (w *warnings) list() []string {
	var out []string
	for _, t := range w.texts {
		if cpus := w.cpus[t]; cpus != nil {
			slices.Sort(cpus)
			t = fmt.Sprintf("CPU %s: %s", cpumask.FormatList(slices.Compact(cpus)), t)
		}
		out = append(out, t)
	}
	if w.more > 0 {
		out = append(out, fmt.Sprintf("and %d more warnings", w.more))
	}
	return out
}

// allToOne puts all CPUs that have no node yet into a single node 0, as a
// kernel without NUMA does.
func (m *Machine) allToOne() {
	m.Nodes = []Node{{ID: 0, Distance: []int{localDistance}}}
	for i := range m.CPUs {
		if m.CPUs[i].Possible {
			m.CPUs[i].Node = 0
		}
	}
}

// The kernel's LOCAL_DISTANCE and REMOTE_DISTANCE (include/linux/topology.h).
const (
	localDistance  = 10
	remoteDistance = 20
)
