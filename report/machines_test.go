// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	"sibyl/domain"
	"sibyl/machine"
)

// grid returns a regular machine; thread t of core k is CPU k + t*cores.
func grid(name, arch string, packages, cores, threads int, each func(m *machine.Machine, c, pkg, core int)) *machine.Machine {
	m := &machine.Machine{Name: name, Arch: arch, CPUs: make([]machine.CPU, packages*cores*threads)}
	for c := range m.CPUs {
		core := c % (packages * cores)
		pkg := core / cores
		m.CPUs[c] = machine.CPU{
			Possible: true, Online: true, Core: core, Thread: c / (packages * cores), Cluster: -1, LLC: pkg,
			Die: -1, Package: pkg, Node: pkg, Capacity: 1024, CapacitySource: "cpu_capacity", Priority: -c, PrioritySource: "kernel default -cpu",
		}
		if each != nil {
			each(m, c, pkg, core)
		}
	}
	for i := range packages {
		node := machine.Node{ID: i}
		for j := range packages {
			node.Distance = append(node.Distance, 10+10*min(1, max(i-j, j-i)))
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
}

// named returns the machines of the tests.
func named(t testing.TB, name string) (*machine.Machine, *domain.Hierarchy) {
	var m *machine.Machine
	o := domain.Options{}
	switch name {
	case "vera":
		m = grid("vera", "arm64", 2, 88, 2, func(m *machine.Machine, c, _, core int) {
			m.CPUs[c].Capacity = 1024 - core%88%52
		})
		m.CacheBytes = []int64{164 << 20, 164 << 20}
		o.SMTPacking = domain.PackingOn
	case "altra":
		m = grid("altra", "arm64", 1, 80, 1, func(m *machine.Machine, c, _, core int) {
			m.CPUs[c].Cluster, m.CPUs[c].LLC = core/2, core
		})
	case "hybrid":
		// Four cores with two threads, then two clusters of four.
		m = grid("hybrid <&> x86", "amd64", 1, 16, 1, func(m *machine.Machine, c, _, _ int) {
			p := &m.CPUs[c]
			p.Core, p.Thread, p.Cluster, p.Type = c/2, c%2, c/2, "core"
			p.Priority, p.PrioritySource = 60+c/4, "acpi_cppc highest_perf"
			if c >= 8 {
				p.Core, p.Thread, p.Cluster, p.Type, p.Priority, p.Capacity = c-4, 0, 4+(c-8)/4, "atom", 40, 620
			}
		})
		m.Packing.Cores = true
		m.CPUs[11].Online = false
		m.CacheBytes = []int64{30 << 20}
		m.Warnings = []string{"core rankings differ: ITMT taken to be on (the source does not hold sched_itmt_enabled)"}
		m.Note = "made by hand for the tests of this package, not a product; the offline CPU shows how one looks"
	case "guest":
		m = grid("", "amd64", 1, 2, 2, func(m *machine.Machine, c, _, _ int) {
			p := &m.CPUs[c]
			p.Cluster, p.LLC, p.Package = -1, -1, -1
			p.Priority, p.PrioritySource, p.CapacitySource = 0, "", ""
		})
	case "snc":
		m = grid("snc", "amd64", 2, 8, 2, func(m *machine.Machine, c, pkg, core int) {
			m.CPUs[c].LLC, m.CPUs[c].Node = core/4, core/4
		})
		m.Nodes = nil
		for i := range 5 {
			m.Nodes = append(m.Nodes, machine.Node{ID: i + i/4*8})
		}
	default:
		t.Fatal(fmt.Errorf("no machine %s", name))
	}
	h, err := domain.Build(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, h
}
