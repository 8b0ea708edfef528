// SPDX-License-Identifier: Apache-2.0

package cpumask

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxCPUs bounds the CPU numbers that Parse accepts; it is the largest
// CONFIG_NR_CPUS of the architectures that this project knows.
const MaxCPUs = 8192

// ParseList reads the kernel's CPU list format, `0-3,8,16-31:2/4`, and returns
// the CPU numbers in ascending order without repeats. An empty or blank string
// is the empty list. Errors name the offending item.
func ParseList(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	m := New(MaxCPUs)
	for item := range strings.SplitSeq(s, ",") {
		if err := parseItem(m, strings.TrimSpace(item)); err != nil {
			return nil, fmt.Errorf("parse CPU list %q: %w", clip(s), err)
		}
	}
	var cpus []int
	for c := range m.All() {
		cpus = append(cpus, c)
	}
	return cpus, nil
}

// Parse reads a CPU list as ParseList does into a mask with room for CPUs 0 to
// n-1. A CPU at or above n is an error.
func Parse(n int, s string) (Mask, error) {
	cpus, err := ParseList(s)
	if err != nil {
		return nil, err
	}
	m := New(n)
	for _, c := range cpus {
		if c >= n {
			return nil, fmt.Errorf("parse CPU list %q: CPU %d is not below %d", clip(s), c, n)
		}
		m.Set(c)
	}
	return m, nil
}

// parseItem adds one item, `a`, `a-b` or `a-b:used/group`, to m.
func parseItem(m Mask, item string) error {
	rng, stride, strided := strings.Cut(item, ":")
	first, last, isRange := strings.Cut(rng, "-")
	lo, err := parseCPU(first, item)
	if err != nil {
		return err
	}
	hi := lo
	if isRange {
		if hi, err = parseCPU(last, item); err != nil {
			return err
		}
	}
	if hi < lo {
		return fmt.Errorf("item %q: range ends before it starts", clip(item))
	}
	used, group := 1, 1
	if strided {
		u, g, ok := strings.Cut(stride, "/")
		used, err = strconv.Atoi(u)
		if err == nil {
			group, err = strconv.Atoi(g)
		}
		if !ok || !isRange || err != nil || used < 1 || group < used {
			return fmt.Errorf("item %q: want first-last:used/group", clip(item))
		}
	}
	for c := lo; c <= hi; c++ {
		if (c-lo)%group < used {
			m.Set(c)
		}
	}
	return nil
}

func parseCPU(s, item string) (int, error) {
	c, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("item %q: want a CPU number or a range first-last", clip(item))
	}
	if c >= MaxCPUs {
		return 0, fmt.Errorf("item %q: CPU %d is not below %d", clip(item), c, MaxCPUs)
	}
	return int(c), nil
}

// clip bounds what an error quotes of its input.
func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

// FormatList writes ascending CPU numbers as the kernel's list format does.
func FormatList(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

// String returns the set in the kernel's list format, `0-3,8`.
func (m Mask) String() string {
	var cpus []int
	for c := range m.All() {
		cpus = append(cpus, c)
	}
	return FormatList(cpus)
}
