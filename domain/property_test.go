// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sibyl/cpumask"
	"sibyl/machine"
)

// regular draws a machine whose groups nest.
func regular(t *rapid.T) *machine.Machine {
	s := shape{
		arch:       rapid.SampledFrom([]string{"arm64", "amd64", "ppc64le", "riscv64", ""}).Draw(t, "arch"),
		packages:   rapid.IntRange(1, 3).Draw(t, "packages"),
		threads:    rapid.IntRange(1, 4).Draw(t, "threads"),
		packed:     rapid.Bool().Draw(t, "packed"),
		perPackage: rapid.Bool().Draw(t, "per package"),
		nodes:      rapid.IntRange(1, 2).Draw(t, "nodes"),
	}
	if s.packed {
		s.perPackage = false
	}
	cluster := rapid.IntRange(0, 2).Draw(t, "cluster")
	perLLC := rapid.IntRange(1, 2).Draw(t, "clusters per llc")
	s.cluster, s.llc = cluster, perLLC*max(1, cluster)
	s.cores = s.nodes * s.llc * rapid.IntRange(1, 2).Draw(t, "llcs per node")
	if rapid.Bool().Draw(t, "llc unknown") {
		s.llc = 0
	}
	s.packing.SMT = rapid.Bool().Draw(t, "smt packing")
	s.packing.Cores = rapid.Bool().Draw(t, "core packing")
	caps := rapid.SliceOfN(rapid.IntRange(1020, 1024), 12, 12).Draw(t, "capacities")
	s.capacity = func(p, k int) int { return caps[(p*5+k)%len(caps)] }
	prio := rapid.SliceOfN(rapid.IntRange(0, 2), 12, 12).Draw(t, "priorities")
	s.priority = func(_, _, _, c int) int { return prio[c%len(prio)] }
	m := s.machine()
	for c := range m.CPUs {
		if c > 0 && rapid.IntRange(0, 9).Draw(t, "offline") == 0 {
			m.CPUs[c].Online = false
		}
	}
	for i := range m.Nodes {
		for j := range i {
			d := rapid.IntRange(11, 45).Draw(t, "distance")
			m.Nodes[i].Distance[j], m.Nodes[j].Distance[i] = d, d
		}
	}
	return m
}

func options(t *rapid.T, n int) Options {
	o := Options{
		SMTPacking:           SMTPacking(rapid.IntRange(0, 2).Draw(t, "override")),
		NoAsymCapacity:       rapid.Bool().Draw(t, "no asym"),
		DropPreferSibling:    rapid.Bool().Draw(t, "drop"),
		NoAsymShared:         rapid.Bool().Draw(t, "no asym shared"),
		LLCIDFromDomain:      rapid.Bool().Draw(t, "llc id"),
		IdleScanStartsAtZero: rapid.Bool().Draw(t, "scan"),
	}
	if rapid.Bool().Draw(t, "partition") {
		o.Partition = cpumask.New(n)
		for c := range n {
			o.Partition.Assign(c, c == 0 || rapid.Bool().Draw(t, "in"))
		}
	}
	return o
}

// TestInvariants holds what is true of every hierarchy.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := regular(t)
		o := options(t, len(m.CPUs))
		h, err := Build(m, o)
		if err != nil {
			t.Fatal(err)
		}
		checkHierarchy(t, m, o, h)
	})
}

func checkHierarchy(t *rapid.T, m *machine.Machine, o Options, h *Hierarchy) {
	ids := 0
	for c := range m.CPUs {
		if !h.Active.Has(c) {
			if h.Base[c] != nil || h.LLCSize[c] != 1 || h.LLCShared[c] != -1 {
				t.Fatalf("inactive CPU %d has domains", c)
			}
			continue
		}
		inner := cpumask.Of(len(m.CPUs), c)
		for i, d := range h.Chain(c) {
			if d.ID != ids || h.Domains[ids] != d || d.Level != i || d.CPU != c {
				t.Fatalf("domain %d of CPU %d is misnumbered", d.ID, c)
			}
			ids++
			if d.Weight < 2 || d.Weight != d.Span.Count() || !inner.SubsetOf(d.Span) || inner.Equal(d.Span) {
				t.Fatalf("%s of CPU %d: span %s over %s", d.Name, c, d.Span, inner)
			}
			if i > 0 && (d.Child == nil || d.Child.Parent != d) || i == 0 && d.Child != nil {
				t.Fatalf("%s of CPU %d: bad child", d.Name, c)
			}
			checkGroups(t, h, d, inner)
			inner = d.Span

			smt := d.Flags.Has(ShareCPUCapacity)
			packing := m.Packing.SMT
			if o.SMTPacking != PackingAuto {
				packing = o.SMTPacking == PackingOn
			}
			if smt && d.Flags.Has(AsymPacking) != packing {
				t.Fatalf("CPU %d: SMT domain has SD_ASYM_PACKING %v, want %v", c, !packing, packing)
			}
			if smt && !d.Span.SubsetOf(h.Siblings[c]) {
				t.Fatalf("CPU %d: SMT domain %s beyond siblings %s", c, d.Span, h.Siblings[c])
			}
			if d.Flags.Has(AsymCPUCapacityFull) && (!h.AsymActive || o.NoAsymCapacity) {
				t.Fatalf("CPU %d: asymmetric domain on a symmetric system", c)
			}
		}
		if llc := h.LLC[c]; (llc == nil) != (h.LLCShared[c] < 0) {
			t.Fatalf("CPU %d: LLC domain without shared object, or the reverse", c)
		}
		if d := h.AsymPacking[c]; d != nil && !d.Flags.Has(AsymPacking) {
			t.Fatalf("CPU %d: sd_asym_packing without the flag", c)
		}
	}
	if ids != len(h.Domains) {
		t.Fatalf("%d domains are reachable, %d are listed", ids, len(h.Domains))
	}
}

func checkGroups(t *rapid.T, h *Hierarchy, d *Domain, inner cpumask.Mask) {
	if !d.Groups[0].Span.Equal(inner) && !d.Flags.Has(NUMA) {
		t.Fatalf("%s of CPU %d: ring starts at %s, not at %s", d.Name, d.CPU, d.Groups[0].Span, inner)
	}
	if d.Child == nil && d.Groups[0].Flags != 0 {
		t.Fatalf("%s of CPU %d: local base group has flags %s", d.Name, d.CPU, d.Groups[0].Flags)
	}
	union, weight := cpumask.New(h.NrCPUs), 0
	for _, g := range d.Groups {
		union.Or(union, g.Span)
		weight += g.Weight
		if g.Weight != g.Span.Count() || g.Cores < 1 || g.Cores > g.Weight {
			t.Fatalf("group %s of %s: weight %d, %d cores", g.Span, d.Name, g.Weight, g.Cores)
		}
		if !h.Groups[g.ID].Span.Equal(g.Span) {
			t.Fatalf("groups %s and %s share the capacity object %d", g.Span, h.Groups[g.ID].Span, g.ID)
		}
		if !g.BalanceMask.SubsetOf(g.Span) || g.BalanceMask.Empty() {
			t.Fatalf("group %s: balance mask %s", g.Span, g.BalanceMask)
		}
		if d.Flags.Has(AsymPacking) {
			for c := range g.Span.All() {
				best := g.AsymPreferCPU
				if h.Priority[c] > h.Priority[best] || h.Priority[c] == h.Priority[best] && c < best {
					t.Fatalf("group %s prefers CPU %d to %d", g.Span, best, c)
				}
			}
		}
		below := cpumask.New(h.NrCPUs)
		for _, child := range g.Children {
			below.Or(below, child.Span)
		}
		if g.Children != nil && !below.Equal(g.Span) {
			t.Fatalf("group %s has children that cover %s", g.Span, below)
		}
	}
	if !union.Equal(d.Span) {
		t.Fatalf("%s of CPU %d: groups cover %s of %s", d.Name, d.CPU, union, d.Span)
	}
	if !d.Flags.Has(NUMA) && weight != d.Weight {
		t.Fatalf("%s of CPU %d: groups overlap", d.Name, d.CPU)
	}
}

// TestHotplugStable takes CPUs offline and back: the same hierarchy comes out,
// with the override in place on the way.
func TestHotplugStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := regular(t)
		o := options(t, len(m.CPUs))
		before, err := Build(m, o)
		if err != nil {
			t.Fatal(err)
		}
		off := rapid.IntRange(1, max(1, len(m.CPUs)-1)).Draw(t, "cpu")
		if off < len(m.CPUs) && m.CPUs[off].Online {
			m.CPUs[off].Online = false
			h, err := Build(m, o)
			if err != nil {
				t.Fatal(err)
			}
			checkHierarchy(t, m, o, h)
			m.CPUs[off].Online = true
		}
		after, err := Build(m, o)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int, len(m.CPUs))
		for c := range all {
			all[c] = c
		}
		if diff := cmp.Diff(dump(before, all, true), dump(after, all, true)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestBuildNeverPanics feeds machines whose fields contradict each other.
func TestBuildNeverPanics(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(shapes))
	rapid.Check(t, func(t *rapid.T) {
		index := rapid.IntRange(-1, 9)
		m := &machine.Machine{Arch: rapid.SampledFrom([]string{"arm64", "amd64", "ppc64le"}).Draw(t, "arch")}
		if rapid.Bool().Draw(t, "known") {
			m = named(rapid.SampledFrom(kinds).Draw(t, "machine"))
		}
		for range rapid.IntRange(0, 9).Draw(t, "more") {
			m.CPUs = append(m.CPUs, machine.CPU{
				Possible: rapid.IntRange(0, 9).Draw(t, "possible") > 0, Online: rapid.IntRange(0, 5).Draw(t, "online") > 0,
				Core: index.Draw(t, "core"), Cluster: index.Draw(t, "cluster"), LLC: index.Draw(t, "llc"),
				Die: index.Draw(t, "die"), Package: index.Draw(t, "package"), Node: index.Draw(t, "node"),
				Capacity: rapid.IntRange(-1, 1024).Draw(t, "capacity"), Priority: rapid.Int().Draw(t, "priority"),
			})
		}
		for range rapid.IntRange(0, 10).Draw(t, "nodes") {
			m.Nodes = append(m.Nodes, machine.Node{Distance: rapid.SliceOfN(rapid.IntRange(-5, 60), 0, 10).Draw(t, "distances")})
		}
		o := options(t, len(m.CPUs))
		if h, err := Build(m, o); (h == nil) == (err == nil) {
			t.Fatalf("Build returned %v and %v", h, err)
		}
	})
}

// TestSharedSlots holds the storage rule of mechanisms 1.5: the objects of two
// purposes never alias, but an LLC of one CPU takes its slot all the same, so
// that CPUs of one asymmetric domain end with different objects.
func TestSharedSlots(t *testing.T) {
	m := shape{
		arch: "arm64", packages: 1, cores: 4, threads: 1, llc: 1,
		capacity: func(_, k int) int { return 512 + k/2*512 },
	}.machine()
	h, err := Build(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for c := range m.CPUs {
		if h.AsymCapacity[c] == nil || h.LLC[c] != nil {
			t.Fatalf("CPU %d: want a full asymmetric domain and no LLC", c)
		}
		got = append(got, h.BalanceShared[c])
	}
	if want := []int{0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("balance-shared of CPUs 0-3: %v, want %v", got, want)
	}

	m = shape{
		arch: "arm64", packages: 1, cores: 8, threads: 1, llc: 4,
		capacity: func(_, k int) int { return 512 + k/4*512 },
	}.machine()
	if h, err = Build(m, Options{}); err != nil {
		t.Fatal(err)
	}
	for c := range m.CPUs {
		asym, llc := h.Shared[h.BalanceShared[c]], h.Shared[h.LLCShared[c]]
		if asym.Weight != 8 || asym.InitialIdleScan != 0x20 || llc.Weight != 4 || llc.InitialIdleScan != 0x200 {
			t.Errorf("CPU %d: asymmetric object %+v, LLC object %+v", c, asym, llc)
		}
	}
}
