// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sibyl/cpumask"
)

// Clone returns a copy that shares nothing with m.
func (m *Machine) Clone() *Machine {
	c := *m
	c.CPUs = slices.Clone(m.CPUs)
	c.Nodes = slices.Clone(m.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Distance = slices.Clone(m.Nodes[i].Distance)
	}
	c.CacheBytes = slices.Clone(m.CacheBytes)
	c.CoreMode.In = slices.Clone(m.CoreMode.In)
	c.CoreMode.ThreadSpeed = slices.Clone(m.CoreMode.ThreadSpeed)
	c.Warnings = slices.Clone(m.Warnings)
	return &c
}

// setKeys are the keys of Set with the values that they take.
const setKeys = "smt=off|on, offline=CPULIST, online=CPULIST, capacity=equal, hz=N"

// Set returns a copy of m changed by a comma-separated specification, applied
// from left to right:
//
//	smt=off        all threads of a core but its first go offline
//	smt=on         all threads of a core that has one online come online
//	offline=LIST   these CPUs go offline; LIST may itself hold commas: 0-3,8
//	online=LIST    these CPUs come online
//	capacity=equal all capacities are 1024
//	hz=N           the kernel's tick rate
//
// Capacities do not change with hotplug, as in the kernel. The name stays.
func Set(m *Machine, spec string) (*Machine, error) {
	out := m.Clone()
	items, err := splitSpec(spec)
	if err != nil {
		return nil, fmt.Errorf("set machine %q: %w", clip(spec), err)
	}
	for _, it := range items {
		if err := out.set(it[0], it[1]); err != nil {
			return nil, fmt.Errorf("set machine %q: %w", clip(spec), err)
		}
	}
	if out.Online().Empty() {
		return nil, fmt.Errorf("set machine %q: no CPU is left online", clip(spec))
	}
	return out, nil
}

// splitSpec cuts a specification into keys and values. A piece without a key
// goes on with the CPU list before it.
func splitSpec(spec string) ([][2]string, error) {
	var items [][2]string
	if strings.TrimSpace(spec) == "" {
		return nil, nil
	}
	for piece := range strings.SplitSeq(spec, ",") {
		key, value, ok := strings.Cut(piece, "=")
		key = strings.TrimSpace(key)
		switch n := len(items); {
		case ok:
			items = append(items, [2]string{key, strings.TrimSpace(value)})
		case n > 0 && (items[n-1][0] == "offline" || items[n-1][0] == "online"):
			items[n-1][1] += "," + key
		default:
			return nil, fmt.Errorf("%q: want key=value (known: %s)", clip(piece), setKeys)
		}
	}
	return items, nil
}

func (m *Machine) set(key, value string) error {
	unknown := fmt.Errorf("unknown value %q of %s (known: %s)", clip(value), clip(key), setKeys)
	switch key {
	case "smt":
		switch value {
		case "off":
			for i := range m.CPUs {
				if m.CPUs[i].Thread > 0 {
					m.CPUs[i].Online = false
				}
			}
		case "on":
			for _, g := range m.groupsOf(levelCore) {
				if slices.ContainsFunc(g, func(c int) bool { return m.CPUs[c].Online }) {
					for _, c := range g {
						m.CPUs[c].Online = true
					}
				}
			}
		default:
			return unknown
		}
	case "offline", "online":
		cpus, err := cpumask.ParseList(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if len(cpus) == 0 {
			return fmt.Errorf("%s: no CPUs given", key)
		}
		for _, c := range cpus {
			if c >= len(m.CPUs) || !m.CPUs[c].Possible {
				return fmt.Errorf("%s: the machine has no CPU %d (it has %s)", key, c, m.Possible())
			}
			m.CPUs[c].Online = key == "online"
		}
	case "capacity":
		if value != "equal" {
			return unknown
		}
		for i := range m.CPUs {
			if m.CPUs[i].Possible {
				m.CPUs[i].Capacity, m.CPUs[i].CapacitySource = capacityScale, "capacity=equal"
			}
		}
	case "hz":
		hz, err := strconv.Atoi(value)
		if err != nil {
			return unknown
		}
		if err := checkHZ(hz); err != nil {
			return err
		}
		m.HZ = hz
	default:
		return fmt.Errorf("unknown key %q (known: %s)", clip(key), setKeys)
	}
	return nil
}
