// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Write writes the machine as a file of the project's schema, with every group
// spelled out. FromYAML reads the same machine back.
func Write(w io.Writer, m *Machine) error {
	f := file{
		Machine: schemaVersion, Name: m.Name, Model: m.Model, Arch: m.Arch, HZ: m.HZ, CounterHz: m.CounterHz, Note: m.Note,
		LLCBytes: m.CacheBytes, Packing: packingFile(m.Packing), CoreMode: coreModeFile(m.CoreMode), Warnings: m.Warnings,
	}
	f.CPUs.text = m.Possible().String()
	f.Offline.text = m.where(func(c *CPU) bool { return c.Possible && !c.Online }).String()
	for lv, dst := range [nrLevels]*[]cpuList{&f.Cores, &f.Clusters, &f.LLCs, &f.Dies, &f.Packages} {
		for _, g := range m.groupsOf(level(lv)) {
			*dst = append(*dst, listOf(g))
		}
	}
	for i, n := range m.Nodes {
		l := cpuList{text: m.where(func(c *CPU) bool { return c.Possible && c.Node == i }).String()}
		f.Nodes = append(f.Nodes, nodeFile{ID: n.ID, CPUs: l, Distance: n.Distance})
	}
	f.Capacity.CPUs = gather(m, func(c *CPU) valueList { return valueList{Value: c.Capacity, Source: c.CapacitySource} })
	f.Priority.CPUs = gather(m, func(c *CPU) valueList { return valueList{Value: c.Priority, Source: c.PrioritySource} })
	for _, v := range gather(m, func(c *CPU) valueList { return valueList{Source: c.Type} }) {
		if v.Source != "" {
			f.Types = append(f.Types, typeFile{CPUs: v.CPUs, Type: v.Source})
		}
	}
	for _, v := range gather(m, func(c *CPU) valueList { return valueList{Value: c.CoreID} }) {
		if v.Value != -1 {
			f.CoreIDs = append(f.CoreIDs, idFile{CPUs: v.CPUs, ID: v.Value})
		}
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(&f); err != nil {
		return fmt.Errorf("write machine %s: %w", m.Name, err)
	}
	if err := enc.Close(); err != nil {
		return fmt.Errorf("write machine %s: %w", m.Name, err)
	}
	return nil
}

// gather lists the CPUs of each distinct value, in order of the lowest CPU.
func gather(m *Machine, value func(*CPU) valueList) []valueList {
	var out []valueList
	type key struct {
		value  int
		source string
	}
	at := map[key]int{}
	var cpus [][]int
	for c := range m.CPUs {
		if !m.CPUs[c].Possible {
			continue
		}
		v := value(&m.CPUs[c])
		k := key{v.Value, v.Source}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out, cpus = append(out, v), append(cpus, nil)
		}
		cpus[i] = append(cpus[i], c)
	}
	for i := range out {
		out[i].CPUs = listOf(cpus[i])
	}
	return out
}
