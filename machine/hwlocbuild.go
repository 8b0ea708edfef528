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
	if _, sizes := h.lastLevel(m); len(sizes) > 0 && slices.Max(sizes) > 0 {
		m.CacheBytes = sizes
	}
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
	all, off, pu := cpumask.New(cpumask.MaxCPUs), cpumask.New(cpumask.MaxCPUs), cpumask.New(cpumask.MaxCPUs)
	for _, o := range h.objects {
		switch o.kind {
		case "PU":
			switch {
			case o.index < 0:
				return nil, fmt.Errorf("line %d: PU without an os_index", o.line)
			case o.index >= cpumask.MaxCPUs:
				return nil, fmt.Errorf("line %d: CPU %d is not below %d", o.line, o.index, cpumask.MaxCPUs)
			case pu.Has(o.index):
				return nil, fmt.Errorf("line %d: PU %d is given twice", o.line, o.index)
			case o.cpus.Count() > 1 || o.cpus.Count() == 1 && !o.cpus.Has(o.index):
				return nil, fmt.Errorf("line %d: PU %d: its cpuset is not CPU %d alone", o.line, o.index, o.index)
			}
			pu.Set(o.index)
			all.Set(o.index)
			off.Assign(o.index, o.hasSet && o.cpus.Empty() || off.Has(o.index))
		case "Machine", "System":
			for c := range o.cpus.All() {
				all.Set(c)
			}
			for c := range o.complete.All() {
				all.Set(c)
				if o.hasSet && !o.cpus.Has(c) || o.hasOn && !o.online.Has(c) {
					off.Set(c)
				}
			}
		}
	}
	top := all.Last()
	if top < 0 {
		return nil, fmt.Errorf("no CPUs: want objects of type PU")
	}
	m := newMachine(top + 1)
	for c := range all.All() {
		m.CPUs[c].Possible, m.CPUs[c].Online = true, pu.Has(c) && !off.Has(c)
		if !pu.Has(c) && !off.Has(c) {
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
		out, _ = h.lastLevel(m)
		return out
	}
	total := 0
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
		if total += len(cpus); total > len(m.CPUs) {
			return append(out, cpus) // a CPU in two groups, which setGroups will say
		}
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
	a, b := o.cpus, o.complete
	if len(a) < len(b) {
		a, b = b, a
	}
	both := a.Clone()
	for i := range b {
		both[i] |= b[i]
	}
	var cpus []int
	for c := range both.All() {
		if c < len(m.CPUs) && m.CPUs[c].Possible {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// lastLevel returns the groups of CPUs that share the cache of the highest
// level that holds them, and the caches' sizes, in order of the lowest CPU.
func (h *hwloc) lastLevel(m *Machine) (groups [][]int, sizes []int64) {
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
	at := map[int]int{}
	for c, b := range best {
		if b == 0 {
			continue
		}
		k, ok := at[b]
		if !ok {
			k = len(groups)
			at[b] = k
			groups = append(groups, nil)
			sizes = append(sizes, h.objects[b-1].size)
		}
		groups[k] = append(groups[k], c)
	}
	return groups, sizes
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
	at := make([]int, mx.n)
	for i, id := range mx.indexes {
		at[i] = m.nodeIndex(id)
	}
	for i, x := range at {
		for j, y := range at {
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
		for c := range k.cpus.All() {
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
