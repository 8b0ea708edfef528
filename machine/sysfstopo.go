// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"sibyl/cpumask"
)

// maxID bounds the ids of cores, dies and packages, which are firmware's own
// and may be large.
const maxID = 1<<31 - 1

// ids reads a topology id of every CPU; -1 where there is none. arm64 prints
// -1 for an id that firmware does not give, some kernels 65535 for a cluster.
func (s *sysfs) ids(file string) ([]int, error) {
	out := make([]int, len(s.m.CPUs))
	for c := range out {
		out[c] = -1
		if !s.dirs[c] {
			continue
		}
		v, ok, err := s.number(s.cpuFile(c, "topology/"+file), -1, maxID)
		if err != nil {
			return nil, err
		}
		if ok {
			out[c] = v
		}
	}
	return out, nil
}

// sets reads a topology mask of every CPU; nil where there is none.
func (s *sysfs) sets(files ...string) (sets []cpumask.Mask, any bool, err error) {
	sets = make([]cpumask.Mask, len(s.m.CPUs))
	for c := range sets {
		if !s.dirs[c] {
			continue
		}
		paths := make([]string, len(files))
		for i, f := range files {
			paths[i] = s.cpuFile(c, "topology/"+f)
		}
		cpus, ok, err := s.set(paths...)
		if err != nil {
			return nil, false, err
		}
		if ok && len(cpus) > 0 {
			sets[c], any = cpumask.Of(cpumask.MaxCPUs, cpus...), true
		}
	}
	return sets, any, nil
}

// cores groups by the masks of SMT siblings; without masks by core_id, which
// is unique only within a package and die.
func (s *sysfs) cores() error {
	core, err := s.ids("core_id")
	if err != nil {
		return err
	}
	for c := range core {
		s.m.CPUs[c].CoreID = core[c]
	}
	sets, masks, err := s.sets("core_cpus_list", "core_cpus", "thread_siblings_list", "thread_siblings")
	if err != nil {
		return err
	}
	if masks {
		return s.group(levelCore, sets)
	}
	die, err := s.ids("die_id")
	if err != nil {
		return err
	}
	pkg, err := s.ids("physical_package_id")
	if err != nil {
		return err
	}
	keys := make([]string, len(core))
	for c := range core {
		if core[c] >= 0 {
			keys[c] = fmt.Sprintf("%d/%d/%d", pkg[c], die[c], core[c])
		} else if s.m.CPUs[c].Online {
			keys[c] = "cpu" + strconv.Itoa(c)
			s.w.cpu(c, "no sibling mask and no core_id; taken to be a core of its own")
		}
	}
	return s.byKey(levelCore, keys)
}

// clusters groups by cluster_cpus where the id says that there are clusters;
// a kernel without them prints masks of the CPU alone.
func (s *sysfs) clusters() error {
	ids, err := s.ids("cluster_id")
	if err != nil {
		return err
	}
	sets, _, err := s.sets("cluster_cpus_list", "cluster_cpus")
	if err != nil {
		return err
	}
	for c := range sets {
		if ids[c] < 0 || ids[c] == 65535 {
			sets[c] = nil
		}
	}
	return s.group(levelCluster, sets)
}

// dies groups by die_cpus where there is a die_id.
func (s *sysfs) dies() error {
	ids, err := s.ids("die_id")
	if err != nil {
		return err
	}
	sets, _, err := s.sets("die_cpus_list", "die_cpus")
	if err != nil {
		return err
	}
	for c := range sets {
		if ids[c] < 0 {
			sets[c] = nil
		}
	}
	return s.group(levelDie, sets)
}

// packages groups by physical_package_id, else by mask.
func (s *sysfs) packages() error {
	ids, err := s.ids("physical_package_id")
	if err != nil {
		return err
	}
	sets, masks, err := s.sets("package_cpus_list", "package_cpus", "core_siblings_list", "core_siblings")
	if err != nil {
		return err
	}
	keys := make([]string, len(ids))
	known := false
	for c, id := range ids {
		if id >= 0 {
			keys[c], known = strconv.Itoa(id), true
		}
	}
	switch {
	case known:
		return s.byKey(levelPackage, keys)
	case masks:
		return s.group(levelPackage, sets)
	}
	s.w.add("packages unknown (no physical_package_id, no package_cpus)")
	return nil
}

// caches finds each CPU's last-level cache: the highest level that holds data.
// Levels need not be the same on all CPUs (small cores may lack a level).
func (s *sysfs) caches() error {
	sets := make([]cpumask.Mask, len(s.m.CPUs))
	sizes := make([]int64, len(s.m.CPUs))
	any := false
	for c := range s.m.CPUs {
		if !s.dirs[c] || !s.m.CPUs[c].Online {
			continue
		}
		best := 0
		for _, name := range s.list(s.cpuFile(c, "cache")) {
			if !strings.HasPrefix(name, "index") {
				continue
			}
			file := func(f string) string { return s.cpuFile(c, path.Join("cache", name, f)) }
			level, ok, err := s.number(file("level"), 1, 16)
			if err != nil {
				return err
			}
			kind, _, err := s.read(file("type"))
			if err != nil {
				return err
			}
			if !ok || kind == "Instruction" || level <= best {
				continue
			}
			set, ok, err := s.set(file("shared_cpu_list"), file("shared_cpu_map"))
			if err != nil {
				return err
			}
			if !ok || len(set) == 0 {
				s.w.cpu(c, "its level %d cache does not say who shares it", level)
				continue
			}
			size, _, err := s.read(file("size"))
			if err != nil {
				return err
			}
			best, sets[c], sizes[c], any = level, cpumask.Of(cpumask.MaxCPUs, set...), parseSize(size), true
		}
		if best == 0 {
			s.w.cpu(c, "last-level cache unknown (no cache directories)")
		}
	}
	if !any {
		return nil
	}
	if err := s.group(levelLLC, sets); err != nil {
		return err
	}
	for _, g := range s.m.groupsOf(levelLLC) {
		s.m.CacheBytes = append(s.m.CacheBytes, sizes[g[0]])
	}
	if slices.Max(s.m.CacheBytes) == 0 {
		s.m.CacheBytes = nil
	}
	return nil
}

// parseSize reads a cache size, `8192K`; 0 if it is none.
func parseSize(s string) int64 {
	unit := int64(1)
	for suffix, u := range map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		if t, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = t, u
			break
		}
	}
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil || v < 0 {
		return 0
	}
	return v * unit
}

// nodes finds the NUMA nodes: the node directories, and nodes that only the
// CPUs' links name (their directory is gone when a node is offline).
func (s *sysfs) nodes() error {
	dir := path.Join(s.sys, "devices/system/node")
	link := make([]int, len(s.m.CPUs))
	ids := map[int]bool{}
	for c := range s.m.CPUs {
		link[c] = -1
		if !s.dirs[c] {
			continue
		}
		for _, name := range s.list(s.cpuFile(c, ".")) {
			if id, ok := nodeNumber(name); ok {
				link[c] = id
				ids[id] = true
			}
		}
	}
	listed := map[int]bool{}
	for _, name := range s.list(dir) {
		if id, ok := nodeNumber(name); ok {
			listed[id] = true
			ids[id] = true
		}
	}
	if len(ids) == 0 {
		s.w.add("no NUMA node directories: a single node assumed, as a kernel without NUMA has")
		s.m.allToOne()
		return nil
	}
	for id := range ids {
		s.m.Nodes = append(s.m.Nodes, Node{ID: id})
	}
	slices.SortFunc(s.m.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	for i := range s.m.Nodes {
		id := s.m.Nodes[i].ID
		base := path.Join(dir, "node"+strconv.Itoa(id))
		cpus, _, err := s.set(path.Join(base, "cpulist"), path.Join(base, "cpumap"))
		if err != nil {
			return err
		}
		for _, c := range cpus {
			if c >= len(s.m.CPUs) || !s.m.CPUs[c].Possible {
				s.w.add("node %d lists CPU %d, which is not there", id, c)
				continue
			}
			if o := s.m.CPUs[c].Node; o >= 0 {
				return fmt.Errorf("%s: CPU %d is also in node %d", base, c, s.m.Nodes[o].ID)
			}
			s.m.CPUs[c].Node = i
		}
	}
	for c, id := range link {
		if id < 0 || !s.m.CPUs[c].Possible {
			continue
		}
		i := s.m.nodeIndex(id)
		switch o := s.m.CPUs[c].Node; {
		case o < 0:
			s.m.CPUs[c].Node = i
		case o != i:
			s.w.cpu(c, "its link says node %d, that of the nodes' CPU lists is used", id)
		}
	}
	for c := range s.m.CPUs {
		if s.m.CPUs[c].Online && s.m.CPUs[c].Node < 0 {
			s.w.cpu(c, "is in no NUMA node")
		}
	}
	return s.distances(dir, listed)
}

func nodeNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "node")
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	id, err := strconv.Atoi(digits)
	return id, err == nil && id < maxNodes
}

// maxNodes is that of the largest CONFIG_NODES_SHIFT, 10.
const maxNodes = 1024

func (m *Machine) nodeIndex(id int) int {
	return slices.IndexFunc(m.Nodes, func(n Node) bool { return n.ID == id })
}

// distances reads each node's distance line. It has an entry per online node,
// or per possible one where a dump was cut; what is missing is mirrored from
// the other direction, else set to the kernel's default and said.
func (s *sysfs) distances(dir string, listed map[int]bool) error {
	n := len(s.m.Nodes)
	possible, _, err := s.set(path.Join(dir, "possible"))
	if err != nil {
		return err
	}
	d := make([][]int, n)
	for i := range d {
		d[i] = make([]int, n)
		id := s.m.Nodes[i].ID
		file := path.Join(dir, "node"+strconv.Itoa(id), "distance")
		text, ok, err := s.read(file)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		fields := strings.Fields(text)
		var columns []int
		switch len(fields) {
		case n:
			for j := range n {
				columns = append(columns, j)
			}
		case len(listed):
			for j := range n {
				if listed[s.m.Nodes[j].ID] {
					columns = append(columns, j)
				}
			}
		case len(possible):
			for _, p := range possible {
				columns = append(columns, s.m.nodeIndex(p))
			}
		default:
			return fmt.Errorf("%s: %d distances for %d nodes", file, len(fields), n)
		}
		for k, f := range fields {
			v, err := strconv.Atoi(f)
			if err != nil || v < 1 || v > 255 {
				return fmt.Errorf("%s: entry %d: got %q, want a distance from 1 to 255", file, k+1, clip(f))
			}
			if columns[k] >= 0 {
				d[i][columns[k]] = v
			}
		}
	}
	s.m.setDistances(d, &s.w)
	return nil
}

// setDistances takes a matrix in which 0 is unknown.
func (m *Machine) setDistances(d [][]int, w *warnings) {
	missing := false
	for i := range m.Nodes {
		row := slices.Clone(d[i])
		for j := range row {
			if row[j] != 0 {
				continue
			}
			missing = missing || len(m.Nodes) > 1
			switch {
			case d[j][i] != 0:
				row[j] = d[j][i]
			case i == j:
				row[j] = localDistance
			default:
				row[j] = remoteDistance
			}
		}
		m.Nodes[i].Distance = row
	}
	if missing {
		w.add("not all distances between NUMA nodes are given: mirrored where the other direction is, else 10 and 20 assumed")
	}
}
