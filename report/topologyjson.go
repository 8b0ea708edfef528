// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"

	"sibyl/domain"
	"sibyl/machine"
)

// topologyJSON is the stable form of `topology --json`: keys may be added,
// never renamed.
type topologyJSON struct {
	CPUs     []cpuJSON     `json:"cpus"`
	Domains  []domainsJSON `json:"domains"`
	Warnings []string      `json:"warnings"`
}

// cpuJSON is one CPU that the machine has, online or not. A group that the
// source does not name is null.
type cpuJSON struct {
	ID             int    `json:"id"`
	Online         bool   `json:"online"`
	Core           *int   `json:"core"`
	Siblings       string `json:"siblings"`
	LLC            *int   `json:"llc"`
	Cluster        *int   `json:"cluster"`
	Node           *int   `json:"node"`
	Package        *int   `json:"package"`
	Capacity       int    `json:"capacity"`
	CapacitySource string `json:"capacity_source"`
	Priority       int    `json:"priority"`
	PrioritySource string `json:"priority_source"`
}

// domainsJSON is the chain of one CPU, lowest level first.
type domainsJSON struct {
	CPU    int         `json:"cpu"`
	Levels []levelJSON `json:"levels"`
}

// levelJSON is one sched domain. Spans are CPU lists; groups are in the order
// of the ring, the local one first.
type levelJSON struct {
	Name   string   `json:"name"`
	Span   string   `json:"span"`
	Flags  []string `json:"flags"`
	Groups []string `json:"groups"`
}

// TopologyJSON returns the machine and its sched domains in the form of
// `topology --json`, one line without a line feed at its end. CPU and group
// numbers are the machine's; a node has the kernel's number.
func TopologyJSON(m *machine.Machine, h *domain.Hierarchy) ([]byte, error) {
	t := topologyJSON{CPUs: []cpuJSON{}, Domains: []domainsJSON{}, Warnings: warnings(m, h)}
	siblings := coreLists(m)
	for c := range m.CPUs {
		cpu := &m.CPUs[c]
		if !cpu.Possible {
			continue
		}
		node := cpu.Node
		if node >= 0 && node < len(m.Nodes) {
			node = m.Nodes[node].ID
		}
		t.CPUs = append(t.CPUs, cpuJSON{
			ID: c, Online: cpu.Online,
			Core: known(cpu.Core), Siblings: siblings[c], LLC: known(cpu.LLC), Cluster: known(cpu.Cluster),
			Node: known(node), Package: known(cpu.Package),
			Capacity: cpu.Capacity, CapacitySource: cpu.CapacitySource,
			Priority: cpu.Priority, PrioritySource: cpu.PrioritySource,
		})
	}
	spans := newSpanList()
	for c := range h.Active.All() {
		d := domainsJSON{CPU: c, Levels: []levelJSON{}}
		for _, sd := range h.Chain(c) {
			lv := levelJSON{Name: sd.Name, Span: spans.text(sd.Span), Flags: sd.Flags.Names(), Groups: []string{}}
			for _, g := range sd.Groups {
				lv.Groups = append(lv.Groups, spans.text(g.Span))
			}
			d.Levels = append(d.Levels, lv)
		}
		t.Domains = append(t.Domains, d)
	}
	return json.Marshal(t)
}

// known turns a negative index into null.
func known(i int) *int {
	if i < 0 {
		return nil
	}
	return &i
}
