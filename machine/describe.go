// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"sibyl/cpumask"
)

// Describe writes the machine as text, the same for the same machine: one line
// a fact, groups of CPUs as lists in the kernel's format.
func Describe(w io.Writer, m *Machine) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "machine %s arch %s", m.Name, m.Arch)
	if m.Model != "" {
		fmt.Fprintf(&b, " model %s", m.Model)
	}
	fmt.Fprintf(&b, " hz %d", m.HZ)
	if m.CounterHz != 0 {
		fmt.Fprintf(&b, " counter %d Hz", m.CounterHz)
	}
	possible, online := m.Possible(), m.Online()
	fmt.Fprintf(&b, "\ncpus %s: %d, online %s: %d\n", possible, possible.Count(), online, online.Count())
	for lv := range nrLevels {
		m.describeLevel(&b, lv)
	}
	if m.CacheBytes != nil {
		fmt.Fprintf(&b, "llc bytes:%s\n", runs(len(m.CacheBytes), func(i int) string { return fmt.Sprint(m.CacheBytes[i]) }))
	}
	for i, n := range m.Nodes {
		fmt.Fprintf(&b, "node %d: cpus %s distance %v\n", n.ID, m.where(func(c *CPU) bool { return c.Possible && c.Node == i }), n.Distance)
	}
	m.describeValue(&b, "capacity", func(c int) string {
		return fmt.Sprintf("%d (%s)", m.CPUs[c].Capacity, m.CPUs[c].CapacitySource)
	})
	descending := true
	for c := range m.CPUs {
		descending = descending && (!m.CPUs[c].Possible || m.CPUs[c].Priority == -c)
	}
	m.describeValue(&b, "priority", func(c int) string {
		if descending {
			return fmt.Sprintf("-cpu (%s)", m.CPUs[c].PrioritySource)
		}
		return fmt.Sprintf("%d (%s)", m.CPUs[c].Priority, m.CPUs[c].PrioritySource)
	})
	for _, k := range m.Kinds() {
		name := k.Type
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(&b, "kind %s: cpus %s capacity %d to %d\n", name, k.CPUs, k.MinCapacity, k.MaxCapacity)
	}
	fmt.Fprintf(&b, "packing smt %t cores %t\n", m.Packing.SMT, m.Packing.Cores)
	if c := m.CoreMode; c.Qualify != 0 || c.ThreadSpeed != nil {
		fmt.Fprintf(&b, "core mode: %d kHz qualify %d in %v out %d refill %d ns flops %d/%d speed %v\n",
			c.FreqKHz, c.Qualify, c.In, c.Out, c.RefillNS, c.FlopsST, c.FlopsSMT, c.ThreadSpeed)
	}
	if m.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", strings.Join(strings.Fields(m.Note), " "))
	}
	for _, t := range m.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", t)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// describeLevel prints a level's groups, the first eight and the last; commas
// within a group are plus signs, so that blanks part groups.
func (m *Machine) describeLevel(b *bytes.Buffer, lv level) {
	groups := m.groupsOf(lv)
	fmt.Fprintf(b, "%s: %d", levelNames[lv], len(groups))
	for i, g := range groups {
		if i == 8 && len(groups) > 9 {
			fmt.Fprintf(b, " … %s", groupText(groups[len(groups)-1]))
			break
		}
		fmt.Fprintf(b, " %s", groupText(g))
	}
	none := m.where(func(c *CPU) bool { return c.Possible && *lv.at(c) < 0 })
	if !none.Empty() && len(groups) > 0 {
		fmt.Fprintf(b, " (unknown: %s)", none)
	}
	b.WriteByte('\n')
}

// describeValue prints the CPUs of each distinct value, in order of the lowest
// CPU.
func (m *Machine) describeValue(b *bytes.Buffer, what string, value func(int) string) {
	var order []string
	cpus := map[string][]int{}
	for c := range m.CPUs {
		if !m.CPUs[c].Possible {
			continue
		}
		v := value(c)
		if cpus[v] == nil {
			order = append(order, v)
		}
		cpus[v] = append(cpus[v], c)
	}
	for i, v := range order {
		if i == 12 && len(order) > 13 {
			fmt.Fprintf(b, "%s: %d more values\n", what, len(order)-i)
			break
		}
		fmt.Fprintf(b, "%s %s: cpus %s\n", what, v, cpumask.FormatList(cpus[v]))
	}
}

// runs prints values with repeats counted.
func runs(n int, value func(int) string) string {
	var b strings.Builder
	for i := 0; i < n; {
		j := i
		for j < n && value(j) == value(i) {
			j++
		}
		fmt.Fprintf(&b, " %s", value(i))
		if j-i > 1 {
			fmt.Fprintf(&b, " x%d", j-i)
		}
		i = j
	}
	return b.String()
}

func groupText(cpus []int) string {
	return strings.ReplaceAll(cpumask.FormatList(cpus), ",", "+")
}
