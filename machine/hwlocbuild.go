// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sibyl/cpumask"
)

// build makes the machine of a parsed file.
func (h *hwloc) build() (*Machine, error) {
	var w warnings
	if major, _, _ := strings.Cut(h.version, "."); h.version != "" && major != "1" && major != "2" && major != "3" {
		w.add("hwloc XML version %q is newer than those known (1 to 3)", clip(h.version))
	}
	m, err := h.numbers(&w)
	if err != nil {
		return nil, err
	}
	m.Arch = h.arch(&w)
	for lv := range nrLevels {
		if err := m.setGroups(lv, h.groups(m, lv)); err != nil {
			return nil, err
		}
	}
	h.cacheBytes(m)
	if len(m.groupsOf(levelLLC)) == 0 {
		w.add("last-level caches unknown: the file holds no caches")
	}
	if len(m.groupsOf(levelPackage)) == 0 {
		w.add("packages unknown: the file holds none")
	}
	if err := h.nodes(m, &w); err != nil {
		return nil, err
	}
	p := newPerformance(len(m.CPUs))
	if err := h.cpuKinds(m, p, &w); err != nil {
		return nil, err
	}
	p.apply(m, &w)
	if m.Arch == archAMD64 && manyTypes(m) {
		w.add("ITMT priorities unknown: hwloc does not record them; equal ones assumed")
	}
	if err := m.finish(&w); err != nil {
		return nil, err
	}
	return m, nil
}

// numbers finds the CPUs: all PUs, and those of the machine's complete set.
// A CPU outside cpuset (or, in hwloc 1, online_cpuset) is offline.
func (h *hwloc) numbers(w *warnings) (*Machine, error) {
	var all []int
	off := map[int]bool{}
	for _, o := range h.objects {
		switch o.kind {
		case "PU":
			if o.index < 0 {
				return nil, fmt.Errorf("line %d: PU without an os_index", o.line)
			}
			if len(o.cpus) > 1 || len(o.cpus) == 1 && o.cpus[0] != o.index {
				return nil, fmt.Errorf("line %d: PU %d: its cpuset is not CPU %d alone", o.line, o.index, o.index)
			}
			all = append(all, o.index)
			if o.hasSet && len(o.cpus) == 0 {
				off[o.index] = true
			}
		case "Machine", "System":
			all = slices.Concat(all, o.cpus, o.complete)
			for _, c := range o.complete {
				if o.hasSet && !slices.Contains(o.cpus, c) || o.hasOn && !slices.Contains(o.online, c) {
					off[c] = true
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no CPUs: want objects of type PU")
	}
	top := slices.Max(all)
	if top >= cpumask.MaxCPUs {
		return nil, fmt.Errorf("CPU %d is not below %d", top, cpumask.MaxCPUs)
	}
	m := newMachine(top + 1)
	pu := make([]bool, top+1)
	for _, o := range h.objects {
		if o.kind == "PU" {
			if pu[o.index] {
				return nil, fmt.Errorf("line %d: PU %d is given twice", o.line, o.index)
			}
			pu[o.index] = true
		}
	}
	for _, c := range all {
		m.CPUs[c].Possible, m.CPUs[c].Online = true, pu[c] && !off[c]
		if !pu[c] && !off[c] {
			w.cpu(c, "is in the machine's cpuset but there is no PU: taken to be offline")
		}
	}
	return m, nil
}

// arch reads the Architecture info, which is what uname -m printed.
func (h *hwloc) arch(w *warnings) string {
	uname := h.info["Architecture"]
	switch {
	case uname == "x86_64", uname == "amd64", uname == "i686":
		return archAMD64
	case uname == "aarch64", uname == "arm64":
		return archARM64
	case strings.HasPrefix(uname, "ppc64"):
		return archPPC64
	case uname == "riscv64", uname == "s390x":
		return uname
	case strings.HasPrefix(uname, "loongarch64"):
		return "loong64"
	}
	w.add("architecture %q unknown: capacities and priorities are assumptions", clip(uname))
	return archUnknown
}

// groups returns the groups of a level from the objects of its type. An
// object's offline CPUs stand only in its complete_cpuset.
func (h *hwloc) groups(m *Machine, lv level) [][]int {
	var out [][]int
	if lv == levelLLC {
		for _, o := range h.lastLevel(m) {
			out = append(out, o.cpus)
		}
		return out
	}
	for _, o := range h.objects {
		is := false
		switch lv {
		case levelCore:
			is = o.kind == "Core"
		case levelCluster:
			is = o.cluster
		case levelDie:
			is = o.kind == "Die"
		case levelPackage:
			is = o.kind == "Package"
		}
		if !is {
			continue
		}
		cpus := h.members(m, o)
		if lv == levelCore {
			for _, c := range cpus {
				m.CPUs[c].CoreID = o.index
			}
		}
		out = append(out, cpus)
	}
	if lv == levelCore && len(out) == 0 { // exports of tiny machines leave cores out
		for c := range m.CPUs {
			if m.CPUs[c].Online {
				out = append(out, []int{c})
			}
		}
	}
	return out
}

func (h *hwloc) members(m *Machine, o hwlocObject) []int {
	var cpus []int
	for _, c := range slices.Concat(o.cpus, o.complete) {
		if c < len(m.CPUs) && m.CPUs[c].Possible && !slices.Contains(cpus, c) {
			cpus = append(cpus, c)
		}
	}
	slices.Sort(cpus)
	return cpus
}

// lastLevel returns for each CPU the cache of the highest level that holds it,
// each cache once, with its CPUs that have no higher one.
func (h *hwloc) lastLevel(m *Machine) []hwlocObject {
	best := make([]int, len(m.CPUs)) // 1 + index of the object
	for i, o := range h.objects {
		if o.cache == 0 {
			continue
		}
		for _, c := range h.members(m, o) {
			if best[c] == 0 || h.objects[best[c]-1].cache < o.cache {
				best[c] = i + 1
			}
		}
	}
	var out []hwlocObject
	at := map[int]int{}
	for c, b := range best {
		if b == 0 {
			continue
		}
		k, ok := at[b]
		if !ok {
			k = len(out)
			at[b] = k
			out = append(out, hwlocObject{size: h.objects[b-1].size})
		}
		out[k].cpus = append(out[k].cpus, c)
	}
	return out
}

func (h *hwloc) cacheBytes(m *Machine) {
	known := false
	var sizes []int64
	for _, o := range h.lastLevel(m) { // in order of lowest CPU, as the indices are
		sizes = append(sizes, o.size)
		known = known || o.size > 0
	}
	if known {
		m.CacheBytes = sizes
	}
}

// nodes finds the NUMA nodes and their distances.
func (h *hwloc) nodes(m *Machine, w *warnings) error {
	var objects []hwlocObject
	for _, o := range h.objects {
		if o.kind == "NUMANode" {
			if o.index < 0 || o.index >= maxNodes {
				return fmt.Errorf("line %d: NUMANode: want an os_index below %d", o.line, maxNodes)
			}
			objects = append(objects, o)
		}
	}
	if len(objects) == 0 {
		w.add("no NUMA nodes: a single one assumed, as a kernel without NUMA has")
		m.allToOne()
		return nil
	}
	slices.SortStableFunc(objects, func(a, b hwlocObject) int { return cmp.Compare(a.index, b.index) })
	for i, o := range objects {
		if i > 0 && objects[i-1].index == o.index {
			return fmt.Errorf("line %d: NUMANode %d is given twice", o.line, o.index)
		}
		m.Nodes = append(m.Nodes, Node{ID: o.index})
	}
	// Memory without CPUs of its own (HBM, CXL) is a node whose cpuset is that
	// of the CPUs near it: the kernel places a CPU in one node only, which is
	// the one of the lowest number.
	for i, o := range objects {
		for _, c := range h.members(m, o) {
			if m.CPUs[c].Node < 0 {
				m.CPUs[c].Node = i
			} else {
				w.add("node %d holds CPUs of node %d: memory only", o.index, m.Nodes[m.CPUs[c].Node].ID)
			}
		}
	}
	d := make([][]int, len(m.Nodes))
	for i := range d {
		d[i] = make([]int, len(m.Nodes))
	}
	for _, mx := range h.matrices {
		if !h.fill(m, mx, d) {
			continue
		}
		break
	}
	m.setDistances(d, w)
	return nil
}

// fill takes a latency matrix of NUMA nodes into d. hwloc 1 names no type: a
// matrix of as many objects as there are nodes whose diagonal is its minimum
// is taken; it may be normalised to 1, which is scaled back to 10.
func (h *hwloc) fill(m *Machine, mx hwlocMatrix, d [][]int) bool {
	if !mx.latency || len(mx.values) != mx.n*mx.n || mx.what != "" && mx.what != "NUMANode" {
		return false
	}
	if mx.indexes == nil {
		if mx.n != len(m.Nodes) {
			return false
		}
		for _, n := range m.Nodes {
			mx.indexes = append(mx.indexes, n.ID)
		}
	}
	if len(mx.indexes) != mx.n {
		return false
	}
	for _, v := range mx.values {
		if v < 1 || v > 255 {
			return false
		}
	}
	for i, a := range mx.indexes {
		for j, b := range mx.indexes {
			x, y := m.nodeIndex(a), m.nodeIndex(b)
			if x >= 0 && y >= 0 {
				d[x][y] = mx.values[i*mx.n+j]
			}
		}
	}
	return true
}

// cpuKinds reads types and capacities. hwloc merges CPUs of similar capacity
// into one kind and keeps one value of them.
func (h *hwloc) cpuKinds(m *Machine, p *performance, w *warnings) error {
	merged := false
	for _, k := range h.kinds {
		capacity := 0
		if v := k.info["LinuxCapacity"]; v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > capacityScale {
				return fmt.Errorf("cpukind: LinuxCapacity %q: want 1 to %d", clip(v), capacityScale)
			}
			capacity, merged = n, true
		}
		kind := clip(k.info["CoreType"])
		switch {
		case kind == "IntelCore":
			kind = "core"
		case kind == "IntelAtom":
			kind = "atom"
		case kind == "" && k.info["CPUPart"] != "" && len(h.kinds) > 1:
			kind = "part " + clip(k.info["CPUPart"])
		}
		for _, c := range k.cpus {
			if c < len(m.CPUs) && m.CPUs[c].Possible {
				m.CPUs[c].Type, p.capacity[c] = kind, capacity
			}
		}
	}
	if merged {
		w.add("capacities are those of hwloc's kinds, which merge similar CPUs: a sysfs tree of the machine is exact")
	}
	return nil
}
