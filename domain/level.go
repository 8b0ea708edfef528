// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"sibyl/cpumask"
	"sibyl/machine"
)

// level is one entry of the architecture's sched_domain_topology_level table
// (mechanisms 1.1).
type level struct {
	name     string
	flags    Flags
	distance int // NUMA levels: the distance that spans reach; else 0
	// mask gives the span of each CPU before it is cut to the root domain.
	mask []cpumask.Mask
}

// places holds the masks that an architecture's topology code keeps per CPU,
// over online CPUs: hotplug removes a CPU from all of them.
type places struct {
	smt, cluster, llc, pkg, node []cpumask.Mask
}

// spread returns for each CPU the online CPUs with the same index, which is
// the CPU alone where the index is unknown (negative) or the CPU offline.
func spread(m *machine.Machine, index func(*machine.CPU) int) []cpumask.Mask {
	n := len(m.CPUs)
	groups := map[int]cpumask.Mask{}
	masks := make([]cpumask.Mask, n)
	for c := range m.CPUs {
		i := index(&m.CPUs[c])
		if i < 0 || !m.CPUs[c].Online {
			masks[c] = cpumask.Of(n, c)
			continue
		}
		if groups[i] == nil {
			groups[i] = cpumask.New(n)
		}
		groups[i].Set(c)
		masks[c] = groups[i]
	}
	return masks
}

func (b *builder) places() *places {
	m := b.m
	return &places{
		smt:     spread(m, func(c *machine.CPU) int { return c.Core }),
		cluster: spread(m, func(c *machine.CPU) int { return c.Cluster }),
		llc:     spread(m, func(c *machine.CPU) int { return c.LLC }),
		pkg:     spread(m, func(c *machine.CPU) int { return c.Package }),
		node:    spread(m, func(c *machine.CPU) int { return b.nodeOf(c) }),
	}
}

// levels returns the architecture's table with the NUMA levels behind it.
func (b *builder) levels(p *places) []level {
	cores := Flags(0)
	if b.m.Packing.Cores {
		cores = AsymPacking
	}
	smt := level{name: "SMT", flags: ShareCPUCapacity | ShareLLC, mask: p.smt}
	if b.m.Packing.SMT {
		smt.flags |= AsymPacking
	}
	pkg := level{name: "PKG", flags: cores, mask: p.node}
	var topo []level
	switch b.m.Arch {
	case "amd64", "386":
		if b.threadsPerCore() > 1 {
			topo = append(topo, smt)
		}
		topo = append(topo,
			level{name: "CLS", flags: Cluster | ShareLLC | cores, mask: x86Mask(p, p.cluster)},
			level{name: "MC", flags: ShareLLC | cores, mask: x86Mask(p, p.llc)})
		if !b.nodesInPackage() {
			topo = append(topo, pkg)
		}
	case "ppc64", "ppc64le":
		topo = append(topo, smt)
		for c := range p.llc {
			if !p.llc[c].SubsetOf(p.smt[c]) {
				// shared_caches: some L2 serves more than a core
				topo = append(topo, level{name: "CACHE", flags: ShareLLC | cores, mask: p.llc})
				break
			}
		}
		if mc := b.powerCoregroup(p); mc != nil {
			topo = append(topo, level{name: "MC", flags: cores, mask: mc})
		}
		topo = append(topo, pkg)
	default:
		mc := b.genericCoregroup(p)
		topo = append(topo, smt,
			level{name: "CLS", flags: Cluster | ShareLLC | cores, mask: b.genericCluster(p, mc)},
			level{name: "MC", flags: ShareLLC | cores, mask: mc},
			pkg)
	}
	return append(topo, b.numaLevels()...)
}

// hardwareLLC returns arch_llc_mask: what sd_llc_id is keyed on since 7.2.
func (b *builder) hardwareLLC(p *places) []cpumask.Mask {
	switch b.m.Arch {
	case "amd64", "386":
		return x86Mask(p, p.llc)
	case "ppc64", "ppc64le":
		return p.llc
	}
	return b.genericCoregroup(p)
}

// x86Mask follows set_cpu_sibling_map: CPUs of another node never match
// (topology_sane), and without a cache id only SMT siblings do.
func x86Mask(p *places, cache []cpumask.Mask) []cpumask.Mask {
	out := make([]cpumask.Mask, len(cache))
	for c := range cache {
		s := cpumask.New(len(cache))
		s.And(cache[c], p.node[c])
		s.Or(s, p.smt[c])
		out[c] = s
	}
	return out
}

// genericCoregroup is cpu_coregroup_mask of drivers/base/arch_topology.c
// (arm64, riscv): the package, or the node if that is smaller, cut down to the
// last-level cache if one is described, and widened to the cluster where the
// cluster reaches further (Altra: no cache on the CPU side is shared, so the
// two CPUs of a cluster become the "LLC").
func (b *builder) genericCoregroup(p *places) []cpumask.Mask {
	out := make([]cpumask.Mask, len(p.node))
	for c := range out {
		s := p.node[c]
		if p.pkg[c].SubsetOf(s) && b.m.CPUs[c].Package >= 0 {
			s = p.pkg[c]
		}
		if p.llc[c].SubsetOf(s) && b.m.CPUs[c].LLC >= 0 {
			s = p.llc[c]
		}
		if s.SubsetOf(p.cluster[c]) {
			s = p.cluster[c]
		}
		out[c] = s
	}
	return out
}

// genericCluster is cpu_clustergroup_mask: a cluster that is not smaller than
// the core group would repeat it, so the siblings stand in for it.
func (b *builder) genericCluster(p *places, coregroup []cpumask.Mask) []cpumask.Mask {
	out := make([]cpumask.Mask, len(coregroup))
	for c := range out {
		if coregroup[c].SubsetOf(p.cluster[c]) || b.m.CPUs[c].Cluster < 0 {
			out[c] = p.smt[c]
		} else {
			out[c] = p.cluster[c]
		}
	}
	return out
}

// powerCoregroup is powerpc's MC level, which exists where the firmware names
// a coregroup below the node (has_coregroup_support); nil where the machine's
// dies say no more than its nodes.
func (b *builder) powerCoregroup(p *places) []cpumask.Mask {
	die := spread(b.m, func(c *machine.CPU) int { return c.Die })
	finer := false
	for c := range die {
		if b.m.CPUs[c].Die < 0 {
			die[c] = p.smt[c]
			continue
		}
		finer = finer || b.m.CPUs[c].Online && die[c].SubsetOf(p.node[c]) && !die[c].Equal(p.node[c])
	}
	if !finer {
		return nil
	}
	return die
}

// threadsPerCore is x86's __max_threads_per_core: over all CPUs that the
// machine has, so hotplug does not change it.
func (b *builder) threadsPerCore() int {
	threads, most := make([]int, len(b.m.CPUs)), 0
	for c := range b.m.CPUs {
		if b.m.CPUs[c].Possible {
			threads[b.core[c]]++
			most = max(most, threads[b.core[c]])
		}
	}
	return most
}

// nodesInPackage is x86_has_numa_in_package: PKG is dropped, since the NUMA
// levels describe the package better.
func (b *builder) nodesInPackage() bool {
	nodes := map[int]int{}
	for c := range b.m.CPUs {
		cpu := &b.m.CPUs[c]
		if !cpu.Online || cpu.Package < 0 {
			continue
		}
		node := b.nodeOf(cpu)
		if first, seen := nodes[cpu.Package]; seen && first != node {
			return true
		}
		nodes[cpu.Package] = node
	}
	return false
}
