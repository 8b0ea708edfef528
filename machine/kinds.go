// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"

	"sibyl/cpumask"
)

// Kind is a set of CPUs that are of one kind to a human: one type of core, and
// capacities that the scheduler's own margin cannot tell apart.
type Kind struct {
	CPUs        cpumask.Mask
	Type        string // CPU.Type, empty if the source names none
	MinCapacity int
	MaxCapacity int
}

// Kinds groups the possible CPUs, the biggest kind of CPU first. Two CPUs are
// of different kinds if their types differ or if CapGreater (mechanisms 0.2)
// holds between their capacities: about 5 per cent. The kernel is stricter:
// any two different capacities make it an asymmetric system (mechanisms 1.4),
// so a machine of one kind may still have SD_ASYM_CPUCAPACITY.
func (m *Machine) Kinds() []Kind {
	var order []int
	for i := range m.CPUs {
		if m.CPUs[i].Possible {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &m.CPUs[a], &m.CPUs[b]
		if x.Type != y.Type {
			if x.Type < y.Type {
				return -1
			}
			return 1
		}
		return y.Capacity - x.Capacity
	})
	var kinds []Kind
	for _, i := range order {
		c := &m.CPUs[i]
		if n := len(kinds); n == 0 || kinds[n-1].Type != c.Type || capGreater(kinds[n-1].MaxCapacity, c.Capacity) {
			kinds = append(kinds, Kind{CPUs: cpumask.New(len(m.CPUs)), Type: c.Type, MaxCapacity: c.Capacity})
		}
		k := &kinds[len(kinds)-1]
		k.CPUs.Set(i)
		k.MinCapacity = c.Capacity
	}
	slices.SortStableFunc(kinds, func(a, b Kind) int { return b.MaxCapacity - a.MaxCapacity })
	return kinds
}

// capGreater is the kernel's capacity_greater().
func capGreater(a, b int) bool { return a*1024 > b*1078 }
