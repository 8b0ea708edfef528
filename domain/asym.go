// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"slices"

	"sibyl/cpumask"
)

// capacityClass is the set of possible CPUs with one capacity.
type capacityClass struct {
	capacity int
	cpus     cpumask.Mask
}

// capacityClasses follows asym_cpu_capacity_scan: exact equality over possible
// CPUs, biggest first, and no list at all if there is one value.
func (b *builder) capacityClasses() []capacityClass {
	var classes []capacityClass
	index := map[int]int{}
	for c := range b.m.Possible().All() {
		v := b.h.Capacity[c]
		i, seen := index[v]
		if !seen {
			i = len(classes)
			index[v] = i
			classes = append(classes, capacityClass{v, cpumask.New(b.n)})
		}
		classes[i].cpus.Set(c)
	}
	if len(classes) < 2 {
		return nil
	}
	slices.SortFunc(classes, func(x, y capacityClass) int { return y.capacity - x.capacity })
	return classes
}

// classify follows asym_cpu_capacity_classify: FULL if every capacity value of
// the root domain is in the span.
func (b *builder) classify(span cpumask.Mask) Flags {
	count, miss := 0, false
	for _, k := range b.classes {
		switch {
		case span.Intersects(k.cpus):
			count++
		case b.h.Active.Intersects(k.cpus):
			miss = true
		}
	}
	switch {
	case count < 2:
		return 0
	case miss:
		return AsymCPUCapacity
	}
	return AsymCPUCapacity | AsymCPUCapacityFull
}
