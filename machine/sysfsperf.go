// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// types names each CPU's kind of core: by the PMU directories that Intel
// hybrids have, else by the part number in MIDR_EL1 where parts differ.
func (s *sysfs) types() error {
	found := false
	for _, t := range []string{"core", "atom", "lowpower"} {
		cpus, ok, err := s.set(path.Join(s.sys, "devices/cpu_"+t, "cpus"))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for _, c := range cpus {
			if c < len(s.m.CPUs) && s.m.CPUs[c].Possible {
				s.m.CPUs[c].Type, found = t, true
			}
		}
	}
	if found {
		return nil
	}
	parts := make([]string, len(s.m.CPUs))
	distinct := map[string]bool{}
	for c := range s.m.CPUs {
		if !s.dirs[c] {
			continue
		}
		file := s.cpuFile(c, "regs/identification/midr_el1")
		text, ok, err := s.read(file)
		if err != nil {
			return err
		}
		if !ok || text == "" {
			continue
		}
		v, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return fmt.Errorf("%s: got %q, want a register value", file, clip(text))
		}
		parts[c] = fmt.Sprintf("midr 0x%x/0x%x", v>>24&0xff, v>>4&0xfff)
		distinct[parts[c]] = true
	}
	if len(distinct) > 1 {
		for c := range parts {
			s.m.CPUs[c].Type = parts[c]
		}
	}
	return nil
}

// maxPerf bounds CPPC's abstract performance numbers (32 bits in ACPI).
const maxPerf = 1<<31 - 1

// performance reads capacities, CPPC and rankings and applies them.
func (s *sysfs) performance() error {
	p := newPerformance(len(s.m.CPUs))
	for c := range s.m.CPUs {
		if !s.dirs[c] {
			continue
		}
		v, ok, err := s.number(s.cpuFile(c, "cpu_capacity"), 1, capacityScale)
		if err != nil {
			return err
		}
		if ok {
			p.capacity[c] = v
		}
		if v, ok, err = s.number(s.cpuFile(c, "acpi_cppc/highest_perf"), 0, maxPerf); err != nil {
			return err
		}
		if ok {
			p.highest[c] = v
		}
	}
	if err := s.policies(p); err != nil {
		return err
	}
	for _, file := range []string{path.Join(s.proc, "sys/kernel/sched_itmt_enabled"), path.Join(s.sys, "kernel/debug/x86/sched_itmt_enabled")} {
		text, ok, err := s.read(file)
		if err != nil {
			return err
		}
		switch {
		case ok && (text == "1" || text == "Y"):
			p.itmt = itmtOn
		case ok && (text == "0" || text == "N"):
			p.itmt = itmtOff
		}
	}
	p.apply(s.m, &s.w)
	return nil
}

// policies reads cpufreq's policies; the CPUs' own cpufreq entries are links
// to them.
func (s *sysfs) policies(p *performance) error {
	dir := path.Join(s.sys, cpuDir, "cpufreq")
	for _, name := range s.list(dir) {
		if !strings.HasPrefix(name, "policy") {
			continue
		}
		driver, ok, err := s.read(path.Join(dir, name, "scaling_driver"))
		if err != nil {
			return err
		}
		if ok && p.driver == "" {
			p.driver = driver
		}
		cpus, err := s.related(path.Join(dir, name))
		if err != nil {
			return err
		}
		rank, ok, err := s.number(path.Join(dir, name, "amd_pstate_prefcore_ranking"), 0, maxPerf)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for _, c := range cpus {
			if c < len(p.ranking) && s.m.CPUs[c].Possible {
				p.ranking[c] = rank
			}
		}
	}
	return nil
}

// related reads a policy's CPUs, which cpufreq prints separated by blanks.
func (s *sysfs) related(dir string) ([]int, error) {
	file := path.Join(dir, "related_cpus")
	text, ok, err := s.read(file)
	if err != nil || !ok {
		return nil, err
	}
	var cpus []int
	for f := range strings.FieldsSeq(text) {
		c, err := strconv.Atoi(f)
		if err != nil || c < 0 {
			return nil, fmt.Errorf("%s: got %q, want CPU numbers", file, clip(f))
		}
		cpus = append(cpus, c)
	}
	return cpus, nil
}
