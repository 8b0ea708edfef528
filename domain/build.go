// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"fmt"

	"sibyl/cpumask"
	"sibyl/machine"
)

// builder is the state of one Build, as build_sched_domains keeps it.
type builder struct {
	m    *machine.Machine
	o    Options
	h    *Hierarchy
	n    int
	core []int // dense core index of every CPU number

	topo    []level
	at      [][]*Domain // by level and CPU; nil where the CPU stopped below
	base    []*Domain
	classes []capacityClass

	// What is only known while building, by object.
	lvl      map[*Domain]int
	shared   map[*Domain]int
	capacity map[*Group]sgcKey
	member   map[*Group]*Domain // the domain that the group was taken from
	rings    map[ringKey][]*Group

	balance map[balanceKey]cpumask.Mask

	seen   []int // by core: the last stamp that counted it
	stamp  int
	slots  []slot
	masks  map[string]cpumask.Mask
	keyBuf []byte
}

// Build builds the sched domains of the machine's online CPUs that are in
// o.Partition, as build_sched_domains does in 7.3.4 (mechanisms 1), with the
// differences that o asks for. It keeps no reference to m. Building again
// after a hotplug event or with the same options repeats every step, so an
// override of SD_ASYM_PACKING stays.
//
// It is an error if no CPU is left, if the machine contradicts itself (a node
// that does not exist), or if spans of one level overlap without being equal:
// the kernel refuses such a topology too (topology_span_sane).
func Build(m *machine.Machine, o Options) (*Hierarchy, error) {
	b, err := newBuilder(m, o)
	if err != nil {
		return nil, fmt.Errorf("build sched domains: %w", err)
	}
	p := b.places()
	b.setSiblings(p)
	b.classes = b.capacityClasses()
	b.topo = b.levels(p)
	b.buildDomains()
	if err := b.checkSpans(); err != nil {
		return nil, fmt.Errorf("build sched domains: %w", err)
	}
	for c := range b.h.Active.All() {
		for d := b.base[c]; d != nil; d = d.Parent {
			if d.Flags.Has(NUMA) {
				b.overlapGroups(d)
			} else {
				b.plainGroups(d)
			}
		}
	}
	for c := range b.h.Active.All() {
		b.attachShared(b.base[c])
	}
	for c := range b.h.Active.All() {
		for d := b.base[c]; d != nil; d = d.Parent {
			if ownRing(d) {
				b.describe(d)
			}
			d.Shared = -1
			if s, ok := b.shared[d]; ok {
				d.Shared = s
			}
		}
	}
	for c := range b.h.Active.All() {
		b.h.Base[c] = b.attach(b.base[c])
	}
	b.number()
	b.setLLCIDs(p)
	for c := range b.h.Active.All() {
		b.pointers(c)
	}
	return b.h, nil
}

func newBuilder(m *machine.Machine, o Options) (*builder, error) {
	if m == nil || len(m.CPUs) == 0 {
		return nil, fmt.Errorf("the machine has no CPUs")
	}
	n := len(m.CPUs)
	if n > cpumask.MaxCPUs {
		return nil, fmt.Errorf("the machine has %d CPU numbers, more than %d", n, cpumask.MaxCPUs)
	}
	h := &Hierarchy{
		NrCPUs:   n,
		Online:   m.Online(),
		Active:   m.Online(),
		Base:     make([]*Domain, n),
		LLC:      make([]*Domain, n),
		LLCSize:  make([]int, n),
		LLCID:    make([]int, n),
		ShareID:  make([]int, n),
		Siblings: make([]cpumask.Mask, n),
		Core:     make([]int, n),
		Node:     make([]int, n),
		Capacity: make([]int, n),
		Priority: make([]int, n),
		NodeCPUs: make([]cpumask.Mask, max(1, len(m.Nodes))),

		NUMADomain:    make([]*Domain, n),
		AsymPacking:   make([]*Domain, n),
		AsymCapacity:  make([]*Domain, n),
		LLCShared:     make([]int, n),
		BalanceShared: make([]int, n),
	}
	if o.Partition != nil {
		in := cpumask.New(n)
		for c := range h.Active.All() {
			in.Assign(c, o.Partition.Has(c))
		}
		h.Active = in
	}
	if h.Active.Empty() {
		return nil, fmt.Errorf("no CPU is online in the partition")
	}
	b := &builder{
		m: m, o: o, h: h, n: n,
		core:     h.Core,
		base:     make([]*Domain, n),
		lvl:      map[*Domain]int{},
		shared:   map[*Domain]int{},
		capacity: map[*Group]sgcKey{},
		member:   map[*Group]*Domain{},
		rings:    map[ringKey][]*Group{},
		balance:  map[balanceKey]cpumask.Mask{},
		seen:     make([]int, n),
		slots:    make([]slot, n),
		masks:    map[string]cpumask.Mask{},
	}
	return b, b.copyMachine()
}

// copyMachine checks the fields that Build indexes by and copies what the
// Hierarchy repeats.
func (b *builder) copyMachine() error {
	cores := 0
	for c := range b.m.CPUs {
		cores = max(cores, b.m.CPUs[c].Core+1)
	}
	if cores > b.n {
		return fmt.Errorf("core index %d is not below the number of CPUs, %d", cores-1, b.n)
	}
	for i := range b.h.NodeCPUs {
		b.h.NodeCPUs[i] = cpumask.New(b.n)
	}
	used := make([]bool, b.n)
	for c := range b.m.CPUs {
		if i := b.m.CPUs[c].Core; i >= 0 {
			used[i] = true
		}
	}
	free := 0
	for c := range b.m.CPUs {
		cpu := &b.m.CPUs[c]
		node := b.nodeOf(cpu)
		if node >= len(b.h.NodeCPUs) {
			return fmt.Errorf("CPU %d is on node index %d, but the machine has %d nodes", c, cpu.Node, len(b.m.Nodes))
		}
		if cpu.Online && !cpu.Possible {
			return fmt.Errorf("CPU %d is online, but not possible", c)
		}
		b.h.LLCID[c], b.h.ShareID[c] = -1, 0
		if b.o.LLCIDFromDomain {
			b.h.LLCID[c] = 0
		}
		b.h.LLCSize[c], b.h.LLCShared[c], b.h.BalanceShared[c] = 1, -1, -1
		b.h.Node[c] = node
		b.h.Priority[c] = cpu.Priority
		b.h.Capacity[c] = cpu.Capacity
		if cpu.Capacity <= 0 || b.o.NoAsymCapacity {
			b.h.Capacity[c] = 1024
		}
		// A CPU whose core is unknown is a core of its own.
		b.h.Core[c] = cpu.Core
		if cpu.Core < 0 {
			for used[free] {
				free++
			}
			used[free] = true
			b.h.Core[c] = free
		}
		if cpu.Online {
			b.h.NodeCPUs[node].Set(c)
		}
		if b.h.Active.Has(c) {
			b.h.MaxCapacity = max(b.h.MaxCapacity, b.h.Capacity[c])
		}
	}
	return nil
}

// setSiblings sets cpu_smt_mask and what follows from it.
func (b *builder) setSiblings(p *places) {
	mixed := cpumask.New(b.n)
	for c := range p.smt {
		b.h.Siblings[c] = b.intern(p.smt[c])
		if b.m.CPUs[c].Online && p.smt[c].Count() > 1 {
			b.h.SMTActive = true
			if b.h.Capacity[p.smt[c].First()] != b.h.Capacity[c] {
				mixed.Or(mixed, p.smt[c])
			}
		}
	}
	if !mixed.Empty() {
		b.h.Warnings = append(b.h.Warnings, fmt.Sprintf(
			"CPU %s: SMT siblings with different capacities; the kernel warns that SD_ASYM_CPUCAPACITY is not supported on SMT", mixed))
	}
}

// buildDomains makes every CPU's chain of domains, bottom up, until one covers
// the whole root domain.
func (b *builder) buildDomains() {
	b.at = make([][]*Domain, len(b.topo))
	for i := range b.topo {
		b.at[i] = make([]*Domain, b.n)
	}
	for c := range b.h.Active.All() {
		var child *Domain
		for i := range b.topo {
			d := b.newDomain(i, c, child)
			b.at[i][c] = d
			if child == nil {
				b.base[c] = d
			}
			child = d
			if d.Span.Equal(b.h.Active) {
				break
			}
		}
	}
}

// newDomain follows build_sched_domain and sd_init.
func (b *builder) newDomain(i, c int, child *Domain) *Domain {
	lv := &b.topo[i]
	span := cpumask.New(b.n)
	span.And(lv.mask[c], b.h.Active)
	w := span.Count()
	d := &Domain{
		CPU: c, Name: lv.name, Level: i, Child: child, Shared: -1,
		Flags:        defaultFlags | lv.flags | b.classify(span),
		ImbalancePct: 117,
		MinInterval:  w,
		MaxInterval:  2 * w,
		BusyFactor:   16,
	}
	if d.Flags.Has(ShareCPUCapacity) {
		// sched_smt_asym_packing= is applied here, so that every rebuild
		// and every topology table has it (mechanisms 5.2).
		switch b.o.SMTPacking {
		case PackingOn:
			d.Flags |= AsymPacking
		case PackingOff:
			d.Flags &^= AsymPacking
		}
	}
	if d.Flags.Has(AsymCPUCapacity) {
		b.h.AsymActive = true
		if child != nil && b.o.DropPreferSibling {
			child.Flags &^= PreferSibling
		}
	}
	switch {
	case d.Flags.Has(ShareCPUCapacity):
		d.ImbalancePct = 110
	case d.Flags.Has(ShareLLC):
		d.CacheNiceTries = 1
	case d.Flags.Has(NUMA):
		d.CacheNiceTries = 2
		d.Flags = d.Flags&^PreferSibling | Serialize
		if lv.distance > reclaimDistance {
			d.Flags &^= BalanceExec | BalanceFork | WakeAffine
		}
	default:
		d.CacheNiceTries = 1
	}
	if child != nil {
		child.Parent = d
		// A parent that misses CPUs of its child is widened, as in
		// build_sched_domain ("arch topology borken").
		span.Or(span, child.Span)
	}
	d.Span = b.intern(span)
	d.Weight = d.Span.Count()
	b.lvl[d] = i
	return d
}

// checkSpans is topology_span_sane on the spans as built: below NUMA, two
// spans of one level are equal or have no CPU in common.
func (b *builder) checkSpans() error {
	for i := range b.topo {
		if b.topo[i].flags.Has(NUMA) {
			continue
		}
		covered, first := cpumask.New(b.n), make([]*Domain, b.n)
		for c := range b.h.Active.All() {
			d := b.at[i][c]
			if d == nil {
				continue
			}
			low := d.Span.First()
			if f := first[low]; f != nil {
				if !f.Span.Equal(d.Span) {
					return spanError(f, d)
				}
				continue
			}
			if covered.Intersects(d.Span) {
				for _, f := range first {
					if f != nil && f.Span.Intersects(d.Span) {
						return spanError(f, d)
					}
				}
			}
			covered.Or(covered, d.Span)
			first[low] = d
		}
		for c := range covered.All() {
			if b.at[i][c] == nil || !b.at[i][c].Span.Has(c) {
				return fmt.Errorf("level %s: CPU %d is in the span of another CPU, but has no domain there", b.topo[i].name, c)
			}
		}
	}
	return nil
}

func spanError(a, b *Domain) error {
	return fmt.Errorf("level %s: the spans of CPU %d (%s) and CPU %d (%s) overlap without being equal; the kernel refuses such a topology: check the machine's groups",
		a.Name, a.CPU, a.Span, b.CPU, b.Span)
}

// number gives the kept domains, groups and shared objects their IDs, in the
// order of CPUs and levels, and links groups to the groups below.
func (b *builder) number() {
	ids := map[sgcKey]int{}
	for c := range b.h.Active.All() {
		level := 0
		for d := b.h.Base[c]; d != nil; d = d.Parent {
			d.ID, d.Level = len(b.h.Domains), level
			level++
			b.h.Domains = append(b.h.Domains, d)
			if !ownRing(d) {
				continue
			}
			for _, g := range d.Groups {
				id, seen := ids[b.capacity[g]]
				if !seen {
					id = len(b.h.Groups)
					ids[b.capacity[g]] = id
					b.h.Groups = append(b.h.Groups, g)
				}
				g.ID = id
			}
		}
	}
	b.numberShared()
	for _, d := range b.h.Domains {
		// update_group_capacity sums the child's groups, or CPUs where
		// these overlap.
		if d.Child != nil && !d.Child.Flags.Has(NUMA) {
			d.Groups[0].Children = d.Child.Groups
		}
	}
	for _, d := range b.h.Domains {
		if ownRing(d) {
			for _, g := range d.Groups {
				b.linkChildren(g)
			}
		}
	}
}

// ownRing tells whether d is the first domain with its groups: those of NUMA
// domains are private, the others are common to all CPUs of the span.
func ownRing(d *Domain) bool { return d.Flags.Has(NUMA) || d.CPU == d.Span.First() }

// linkChildren fills the children of a group that is local to nobody: they are
// those of the CPU whose domain it was taken from.
func (b *builder) linkChildren(g *Group) {
	if g.Children != nil {
		return
	}
	for d := b.h.Base[b.member[g].CPU]; d != nil; d = d.Parent {
		if d.Span.Equal(g.Span) && !d.Flags.Has(NUMA) {
			g.Children = d.Groups
		}
	}
}

// setLLCIDs keys ShareCache on the hardware LLC of attached CPUs: the lowest
// CPU that the machine has there.
func (b *builder) setLLCIDs(p *places) {
	if b.o.LLCIDFromDomain {
		return // pointers sets them
	}
	llc := b.hardwareLLC(p)
	for c := range b.h.Active.All() {
		b.h.LLCID[c] = llc[c].First()
	}
}

// Chain returns the CPU's domains, lowest first.
func (h *Hierarchy) Chain(cpu int) []*Domain {
	var chain []*Domain
	for d := h.Base[cpu]; d != nil; d = d.Parent {
		chain = append(chain, d)
	}
	return chain
}
