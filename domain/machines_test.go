// SPDX-License-Identifier: Apache-2.0

package domain

import "sibyl/machine"

// shape describes a regular machine for tests, which must not depend on the
// loaders. CPU numbers: thread t of core k is k + t*cores over the whole
// machine (as on Vera), within each package with perPackage (ThunderX2), or
// k*threads + t with packed.
type shape struct {
	arch                     string
	packages, cores, threads int // cores per package
	packed, perPackage       bool
	cluster, llc             int // cores per cluster and LLC; 0: unknown, whole package
	nodes                    int // per package; 0 is 1
	capacity                 func(pkg, core int) int
	priority                 func(pkg, core, thread, cpu int) int
	packing                  machine.Packing
	distance                 [][]int
}

func (s shape) machine() *machine.Machine {
	n := s.packages * s.cores * s.threads
	m := &machine.Machine{Arch: s.arch, CPUs: make([]machine.CPU, n), Packing: s.packing}
	perNode := s.cores / max(1, s.nodes)
	for p := range s.packages {
		for k := range s.cores {
			core := p*s.cores + k
			for t := range s.threads {
				c := core + t*s.packages*s.cores
				if s.packed {
					c = core*s.threads + t
				}
				if s.perPackage {
					c = p*s.cores*s.threads + k + t*s.cores
				}
				cpu := machine.CPU{
					Possible: true, Online: true, Core: core, Thread: t,
					Cluster: -1, LLC: p, Die: -1, Package: p,
					Node: p*max(1, s.nodes) + k/perNode, Capacity: 1024, Priority: -c,
				}
				if s.cluster > 0 {
					cpu.Cluster = core / s.cluster
				}
				if s.llc > 0 {
					cpu.LLC = core / s.llc
				}
				if s.capacity != nil {
					cpu.Capacity = s.capacity(p, k)
				}
				if s.priority != nil {
					cpu.Priority = s.priority(p, k, t, c)
				}
				m.CPUs[c] = cpu
			}
		}
	}
	nodes := s.packages * max(1, s.nodes)
	for i := range nodes {
		node := machine.Node{ID: i}
		for j := range nodes {
			d := 20
			if i == j {
				d = 10
			}
			if s.distance != nil {
				d = s.distance[i][j]
			}
			node.Distance = append(node.Distance, d)
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
}

// shapes are the machines of the tests by name. The real ones are described in
// the design notes: Vera (2 x 88 cores x SMT2), ThunderX2 as in /proc/schedstat
// of seed 003, Altra with pairs of cores behind one snoop unit, Grace without
// SMT, POWER7, an Intel hybrid and a small guest.
var shapes = map[string]shape{
	"vera": {
		arch: "arm64", packages: 2, cores: 88, threads: 2,
		capacity: func(_, k int) int { return 1024 - k%52 },
	},
	"vera-split": {
		arch: "arm64", packages: 2, cores: 88, threads: 2,
		capacity: func(p, k int) int { return 1024 - k%50 - p },
	},
	"thunderx2": {arch: "arm64", packages: 2, cores: 32, threads: 4, perPackage: true},
	"altra":     {arch: "arm64", packages: 1, cores: 80, threads: 1, cluster: 2, llc: 1},
	"grace":     {arch: "arm64", packages: 2, cores: 72, threads: 1, distance: [][]int{{10, 40}, {40, 10}}},
	"power7":    {arch: "ppc64le", packages: 2, cores: 8, threads: 4, packed: true, llc: 1, packing: machine.Packing{SMT: true}},
	"guest":     {arch: "amd64", packages: 1, cores: 4, threads: 2, packed: true},
	"itmt": {
		arch: "amd64", packages: 1, cores: 4, threads: 2, packed: true, cluster: 1, packing: machine.Packing{Cores: true},
		priority: func(_, k, _, _ int) int { return 100 + k },
	},
	"biglittle": {
		arch: "arm64", packages: 1, cores: 8, threads: 1, cluster: 4,
		capacity: func(_, k int) int { return 446 + k/4*578 },
	},
	"snc": {
		arch: "amd64", packages: 2, cores: 4, threads: 2, packed: true, cluster: 1, llc: 2, nodes: 2,
		distance: [][]int{{10, 12, 21, 21}, {12, 10, 21, 21}, {21, 21, 10, 12}, {21, 21, 12, 10}},
	},
	"ring4": {
		arch: "arm64", packages: 4, cores: 2, threads: 1,
		distance: [][]int{{10, 20, 30, 20}, {20, 10, 20, 30}, {30, 20, 10, 20}, {20, 30, 20, 10}},
	},
	"line4": {
		arch: "arm64", packages: 4, cores: 2, threads: 1,
		distance: [][]int{{10, 20, 30, 40}, {20, 10, 20, 30}, {30, 20, 10, 20}, {40, 30, 20, 10}},
	},
}

// hybrid is 2 cores with SMT and 4 without, the second kind in one cluster.
func hybrid() *machine.Machine {
	m := shape{
		arch: "amd64", packages: 1, cores: 2, threads: 2, packed: true, cluster: 1, packing: machine.Packing{Cores: true},
		priority: func(_, _, _, _ int) int { return 60 },
	}.machine()
	for k := range 4 {
		m.CPUs = append(m.CPUs, machine.CPU{Possible: true, Online: true, Core: 2 + k, Cluster: 2, Die: -1, Capacity: 1024, Priority: 40})
	}
	return m
}

func named(name string) *machine.Machine {
	if name == "hybrid" {
		return hybrid()
	}
	return shapes[name].machine()
}
