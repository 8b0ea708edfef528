// SPDX-License-Identifier: Apache-2.0

// Package report turns machines, results, comparisons and traces into what
// people read: tables, SVG and HTML. Its output depends on its input alone.
package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/machine"
)

// columns is the width that tables keep within.
const columns = 80

// usual are the flags that a domain has unless something is special.
const usual = domain.BalanceNewidle | domain.BalanceExec | domain.BalanceFork | domain.WakeAffine | domain.PreferSibling

// Topology prints the machine and its sched domains as a table of at most 80
// columns. CPUs that differ only in their numbers share a row.
func Topology(w io.Writer, m *machine.Machine, h *domain.Hierarchy) error {
	out := bufio.NewWriter(w)
	printHeading(out, m)
	printCPUs(out, m)
	printDomains(out, h)
	if ws := warnings(m, h); len(ws) > 0 {
		fmt.Fprintln(out, "\nWARNINGS")
		for _, text := range ws {
			wrap(out, "  ", "  ", text)
		}
	}
	return out.Flush()
}

// warnings are the machine's and those of the build; never nil.
func warnings(m *machine.Machine, h *domain.Hierarchy) []string {
	return append(append([]string{}, m.Warnings...), h.Warnings...)
}

func printHeading(w io.Writer, m *machine.Machine) {
	wrap(w, "", "  ", strings.Join([]string{orUnknown(m.Name), orUnknown(m.Arch), counts(m)}, ", "))
	if m.Note != "" {
		wrap(w, "", "  ", m.Note)
	}
}

// counts says how many CPUs, cores, packages and nodes the machine has.
func counts(m *machine.Machine) string {
	online := m.Online()
	parts := []string{plural(online.Count(), "CPU") + " online"}
	if off := m.Possible().Count() - online.Count(); off > 0 {
		parts = append(parts, fmt.Sprintf("%d offline", off))
	}
	for _, g := range []struct {
		name  string
		index func(*machine.CPU) int
	}{
		{"core", func(c *machine.CPU) int { return c.Core }},
		{"package", func(c *machine.CPU) int { return c.Package }},
		{"node", func(c *machine.CPU) int { return c.Node }},
	} {
		seen := map[int]bool{}
		for c := range m.CPUs {
			if i := g.index(&m.CPUs[c]); m.CPUs[c].Online && i >= 0 {
				seen[i] = true
			}
		}
		if len(seen) > 0 {
			parts = append(parts, plural(len(seen), g.name))
		}
	}
	return strings.Join(parts, ", ")
}

// place is what rows of the CPU table have in common.
type place struct {
	pkg, node, threads, kind int
	online                   bool
}

func printCPUs(w io.Writer, m *machine.Machine) {
	kind := make([]int, len(m.CPUs))
	kinds := m.Kinds()
	for i, k := range kinds {
		for c := range k.CPUs.All() {
			kind[c] = i
		}
	}
	threads := threadsOf(m)
	var order []place
	rows := map[place]cpumask.Mask{}
	for c := range m.CPUs {
		cpu := &m.CPUs[c]
		if !cpu.Possible {
			continue
		}
		p := place{cpu.Package, cpu.Node, threads[c], kind[c], cpu.Online}
		if rows[p] == nil {
			rows[p] = cpumask.New(len(m.CPUs))
			order = append(order, p)
		}
		rows[p].Set(c)
	}
	fmt.Fprintf(w, "\n%-23s %3s %4s %5s %3s %5s  %-9s %-11s %s\n", "CPUS", "PKG", "NODE", "CORES", "SMT", "LLCS", "CAPACITY", "PRIORITY", "TYPE")
	for _, p := range order {
		set := rows[p]
		node := p.node
		if node >= 0 && node < len(m.Nodes) {
			node = m.Nodes[node].ID
		}
		rest := fmt.Sprintf("%3s %4s %5s %3d %5s  %-9s %-11s %s", index(p.pkg), index(node),
			distinct(m, set, func(c *machine.CPU) int { return c.Core }), p.threads,
			distinct(m, set, func(c *machine.CPU) int { return c.LLC }),
			span(m, set, func(c *machine.CPU) int { return c.Capacity }),
			span(m, set, func(c *machine.CPU) int { return c.Priority }), typeOf(kinds[p.kind], p.online))
		list := set.String()
		if len(list) > 23 {
			for _, line := range breakList(list, columns) {
				fmt.Fprintln(w, line)
			}
			list = ""
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-23s %s", list, rest), " "))
	}
	for _, f := range []struct {
		name   string
		source func(*machine.CPU) string
	}{
		{"capacity", func(c *machine.CPU) string { return c.CapacitySource }},
		{"priority", func(c *machine.CPU) string { return c.PrioritySource }},
	} {
		printSources(w, m, f.name, f.source)
	}
}

// printSources says where a value of the CPUs was read.
func printSources(w io.Writer, m *machine.Machine, what string, source func(*machine.CPU) string) {
	var order []string
	sets := map[string]cpumask.Mask{}
	for c := range m.Possible().All() {
		s := orUnknown(source(&m.CPUs[c]))
		if sets[s] == nil {
			sets[s] = cpumask.New(len(m.CPUs))
			order = append(order, s)
		}
		sets[s].Set(c)
	}
	for _, s := range order {
		text := s
		if len(order) > 1 {
			text += " (CPU " + sets[s].String() + ")"
		}
		wrap(w, what+": ", "          ", text)
	}
}

// class is a set of CPUs whose chains of domains have the same shape.
type class struct {
	cpus  cpumask.Mask
	chain []*domain.Domain // of the first CPU
	spans [][]cpumask.Mask // by level: the distinct spans, in order of CPU
}

// classes groups the active CPUs by the shape of their chains.
func classes(h *domain.Hierarchy) []*class {
	var order []*class
	byShape := map[string]*class{}
	var key strings.Builder
	for c := range h.Active.All() {
		chain := h.Chain(c)
		key.Reset()
		for _, d := range chain {
			fmt.Fprintf(&key, "%s %d %d %s;", d.Name, d.Weight, d.Flags, groupSizes(d))
		}
		k := byShape[key.String()]
		if k == nil {
			k = &class{cpus: cpumask.New(h.NrCPUs), chain: chain, spans: make([][]cpumask.Mask, len(chain))}
			byShape[key.String()] = k
			order = append(order, k)
		}
		k.cpus.Set(c)
		for i, d := range chain {
			if !slices.ContainsFunc(k.spans[i], func(s cpumask.Mask) bool { return s.Has(c) && s.Equal(d.Span) }) {
				k.spans[i] = append(k.spans[i], d.Span)
			}
		}
	}
	return order
}

// groupSizes says what a domain is divided into: "88x2", "2x2+1x4".
func groupSizes(d *domain.Domain) string {
	var sizes, count []int
	for _, g := range d.Groups {
		i := slices.Index(sizes, g.Weight)
		if i < 0 {
			i = len(sizes)
			sizes, count = append(sizes, g.Weight), append(count, 0)
		}
		count[i]++
	}
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return sizes[a] - sizes[b] })
	var parts []string
	for _, i := range order {
		parts = append(parts, fmt.Sprintf("%dx%d", count[i], sizes[i]))
	}
	return strings.Join(parts, "+")
}

func printDomains(w io.Writer, h *domain.Hierarchy) {
	fmt.Fprintf(w, "\nSCHED DOMAINS  smt %s, asymmetric capacity %s, clusters %s\n", yes(h.SMTActive), yes(h.AsymActive), yes(h.ClusterActive))
	for _, k := range classes(h) {
		wrapList(w, "CPU ", k.cpus.String())
		c := k.cpus.First()
		if len(k.chain) == 0 {
			fmt.Fprintln(w, "  no domain: nothing is balanced and every wakeup stays")
			continue
		}
		fmt.Fprintf(w, "  %-5s %-23s %-12s %s\n", "LEVEL", "SPAN", "GROUPS", "FLAGS")
		for i, d := range k.chain {
			text := fmt.Sprintf("%dx%d", len(k.spans[i]), d.Weight)
			if len(k.spans[i]) == 1 {
				text = d.Span.String()
			}
			if len(text) > 23 {
				text = fmt.Sprintf("1x%d", d.Weight)
			}
			wrap(w, fmt.Sprintf("  %-5s %-23s %-12s ", d.Name, text, groupSizes(d)), strings.Repeat(" ", 45), flagText(d.Flags))
		}
		printPointers(w, h, c)
	}
	fmt.Fprintln(w, "NxW: N spans or groups of W CPUs each")
	fmt.Fprintln(w, "flags: beside BALANCE_NEWIDLE, _EXEC, _FORK, WAKE_AFFINE, PREFER_SIBLING")
}

// flagText lists what is special about a domain's flags.
func flagText(f domain.Flags) string {
	parts := []string{}
	if f.Has(domain.AsymCPUCapacityFull) {
		f &^= domain.AsymCPUCapacity // implied
	}
	if s := (f &^ usual).String(); s != "" {
		parts = append(parts, s)
	}
	if missing := usual &^ f; missing != 0 {
		parts = append(parts, "no "+strings.ReplaceAll(missing.String(), " ", ", no "))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}

// printPointers prints the sd_* pointers of one CPU that stands for its class.
func printPointers(w io.Writer, h *domain.Hierarchy, c int) {
	parts := []string{fmt.Sprintf("sd_llc %s (%d)", levelName(h.LLC[c]), h.LLCSize[c])}
	for _, p := range []struct {
		name string
		d    *domain.Domain
	}{
		{"sd_numa", h.NUMADomain[c]},
		{"sd_asym_packing", h.AsymPacking[c]},
		{"sd_asym_cpucapacity", h.AsymCapacity[c]},
	} {
		if p.d != nil {
			parts = append(parts, p.name+" "+p.d.Name)
		}
	}
	if b := h.BalanceShared[c]; b >= 0 && b != h.LLCShared[c] {
		parts = append(parts, fmt.Sprintf("sd_balance_shared apart from the LLC's (%d CPUs)", h.Shared[b].Weight))
	}
	wrap(w, "  ", "    ", strings.Join(parts, ", "))
}

func levelName(d *domain.Domain) string {
	if d == nil {
		return "-"
	}
	return d.Name
}
