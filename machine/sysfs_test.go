// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// files makes a file system from lines `path content`; cpu/ and node/ at the
// start of a path stand for their sysfs directories.
func files(lines string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, content, _ := strings.Cut(line, " ")
		if rest, ok := strings.CutPrefix(name, "cpu/"); ok {
			name = "sys/" + cpuDir + "/" + rest
		}
		if rest, ok := strings.CutPrefix(name, "node/"); ok {
			name = "sys/devices/system/node/" + rest
		}
		fsys[name] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	return fsys
}

// each repeats a line for n CPUs.
func each(n int, line string, args func(c int) []any) string {
	var b strings.Builder
	for c := range n {
		fmt.Fprintf(&b, line+"\n", args(c)...)
	}
	return b.String()
}

func TestSysfsOdd(t *testing.T) {
	const arm = "proc/cpuinfo CPU implementer : 0x41\n"
	const x86 = "proc/cpuinfo vendor_id : GenuineIntel\n"
	one := func(c int) []any { return []any{c} }
	tests := []struct {
		name  string
		files string
		want  []string // lines, or parts of them, that Describe must print
		not   string
	}{
		{
			"sparse numbers, core ids unique only within a package",
			x86 + "cpu/online 0,2,9\ncpu/present 0,2,9\n" +
				"cpu/cpu0/topology/core_id 0\ncpu/cpu0/topology/physical_package_id 0\n" +
				"cpu/cpu2/topology/core_id 0\ncpu/cpu2/topology/physical_package_id 1\n" +
				"cpu/cpu9/topology/core_id 0\ncpu/cpu9/topology/physical_package_id 0\n",
			[]string{"cpus 0,2,9: 3, online 0,2,9: 3", "core: 2 0+9 2", "package: 2 0+9 2", "no NUMA node directories", "last-level cache unknown"},
			"",
		},
		{
			"core ids unique only within a die",
			x86 + "cpu/cpu0/topology/core_id 0\ncpu/cpu0/topology/die_id 0\ncpu/cpu1/topology/core_id 0\ncpu/cpu1/topology/die_id 1\n",
			[]string{"core: 2 0 1"},
			"",
		},
		{
			"SMT8 by masks",
			"proc/cpuinfo cpu : POWER8\n" + each(16, "cpu/cpu%d/topology/thread_siblings %s", func(c int) []any { return []any{c, []string{"00ff", "ff00"}[c/8]} }),
			[]string{"core: 2 0-7 8-15", "arch ppc64le", "capacity 1024 (kernel default 1024)"},
			"",
		},
		{
			"siblings i and i+N, CPU 0 offline without topology",
			x86 + "cpu/online 1-3\ncpu/present 0-3\ncpu/cpu0/online 0\n" +
				"cpu/cpu1/topology/core_cpus_list 1,3\ncpu/cpu3/topology/core_cpus_list 1,3\ncpu/cpu2/topology/core_cpus_list 2\n",
			[]string{"online 1-3: 3", "core: 2 1+3 2 (unknown: 0)"},
			"sibling",
		},
		{
			"masks that contradict each other",
			x86 + "cpu/cpu0/topology/core_cpus_list 0-1\ncpu/cpu1/topology/core_cpus_list 1\n",
			[]string{"core: 2 0 1", "warning: CPU 0: its core mask holds CPU 1, whose own mask disagrees"},
			"",
		},
		{
			"online list against the CPU's own file",
			x86 + "cpu/online 0-1\ncpu/cpu1/online 0\ncpu/cpu0/topology/core_id 0\ncpu/cpu1/topology/core_id 1\n",
			[]string{"online 0-1: 2", "its own file online says 0"},
			"",
		},
		{
			"no possible, present and online files",
			x86 + "cpu/cpu0/topology/core_id 0\ncpu/cpu1/topology/core_id 1\ncpu/cpu1/online 0\n",
			[]string{"cpus 0-1: 2, online 0: 1"},
			"",
		},
		{
			"possible but absent",
			x86 + "cpu/possible 0-7\ncpu/present 0-1\ncpu/online 0-1\ncpu/cpu0/topology/core_id 0\ncpu/cpu1/topology/core_id 1\n",
			[]string{"cpus 0-1: 2", "CPU 2-7: possible but not present"},
			"",
		},
		{
			"arm64 derives capacity from CPPC",
			arm + each(3, "cpu/cpu%d/topology/core_id %[1]d", one) + "cpu/cpu0/acpi_cppc/highest_perf 154\ncpu/cpu1/acpi_cppc/highest_perf 150\ncpu/cpu2/acpi_cppc/highest_perf 108\n",
			[]string{"capacity 1024 (acpi_cppc highest_perf): cpus 0", "capacity 997 (acpi_cppc highest_perf): cpus 1", "capacity 718 (acpi_cppc highest_perf): cpus 2", "priority -cpu (kernel default -cpu): cpus 0-2", "kind -: cpus 2 capacity 718 to 718"},
			"",
		},
		{
			"arm64 derives none if a CPU lacks CPPC",
			arm + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) + "cpu/cpu0/acpi_cppc/highest_perf 154\n",
			[]string{"capacity 1024 (unknown, 1024 assumed): cpus 0-1", "warning: CPU 0-1: capacity unknown"},
			"",
		},
		{
			"capacity and CPPC disagree",
			arm + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) + each(2, "cpu/cpu%d/cpu_capacity 1024", one) + "cpu/cpu0/acpi_cppc/highest_perf 100\ncpu/cpu1/acpi_cppc/highest_perf 50\n",
			[]string{"capacity 1024 (cpu_capacity): cpus 0-1", "warning: CPU 1: cpu_capacity differs"},
			"",
		},
		{
			"x86 priority does not become capacity",
			x86 + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) + "cpu/cpu0/acpi_cppc/highest_perf 64\ncpu/cpu1/acpi_cppc/highest_perf 39\nproc/sys/kernel/sched_itmt_enabled 1\n",
			[]string{"capacity 1024 (x86 default 1024): cpus 0-1", "priority 64 (acpi_cppc highest_perf): cpus 0", "packing smt false cores true"},
			"warning: core rank",
		},
		{
			"x86 with equal rankings has no order",
			x86 + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) + each(2, "cpu/cpu%d/acpi_cppc/highest_perf 64", one),
			[]string{"priority 64 (acpi_cppc highest_perf): cpus 0-1", "packing smt false cores false"},
			"ITMT taken",
		},
		{
			"x86 with capacity scaling has no ITMT",
			x86 + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) + "cpu/cpu0/cpu_capacity 1024\ncpu/cpu1/cpu_capacity 600\ncpu/cpu0/acpi_cppc/highest_perf 64\ncpu/cpu1/acpi_cppc/highest_perf 39\n",
			[]string{"capacity 600 (cpu_capacity): cpus 1", "packing smt false cores false", "ITMT taken to be off"},
			"",
		},
		{
			"ITMT switched off",
			x86 + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) + "cpu/cpu0/acpi_cppc/highest_perf 64\ncpu/cpu1/acpi_cppc/highest_perf 39\nproc/sys/kernel/sched_itmt_enabled 0\n",
			[]string{"packing smt false cores false"},
			"",
		},
		{
			"a driver that knows no ITMT",
			x86 + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) + "cpu/cpu0/acpi_cppc/highest_perf 64\ncpu/cpu1/acpi_cppc/highest_perf 39\ncpu/cpufreq/policy0/scaling_driver acpi-cpufreq\n",
			[]string{"packing smt false cores false", "acpi-cpufreq"},
			"",
		},
		{
			"AMD core ranking, read through policies",
			"proc/cpuinfo vendor_id : AuthenticAMD\n" + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) +
				each(2, "cpu/cpufreq/policy%d/related_cpus %[1]d", one) + each(2, "cpu/cpu%d/acpi_cppc/highest_perf 255", one) +
				"cpu/cpufreq/policy0/amd_pstate_prefcore_ranking 236\ncpu/cpufreq/policy1/amd_pstate_prefcore_ranking 231\ncpu/cpufreq/policy0/scaling_driver amd-pstate-epp\n",
			[]string{"priority 236 (amd_pstate_prefcore_ranking): cpus 0", "packing smt false cores true", "differs from acpi_cppc/highest_perf"},
			"",
		},
		{
			"hybrid types",
			x86 + each(3, "cpu/cpu%d/topology/core_id %[1]d", one) + "sys/devices/cpu_core/cpus 0-1\nsys/devices/cpu_atom/cpus 2\n",
			[]string{"kind core: cpus 0-1", "kind atom: cpus 2", "types of core differ but there is no cpu_capacity"},
			"",
		},
		{
			"no cluster, levels of cache that differ",
			arm + each(4, "cpu/cpu%d/topology/cluster_id -1", one) + each(4, "cpu/cpu%d/topology/cluster_cpus_list %[1]d", one) + each(4, "cpu/cpu%d/topology/core_id %[1]d", one) +
				each(4, "cpu/cpu%d/cache/index0/level 1", one) + each(4, "cpu/cpu%d/cache/index0/type Instruction", one) + each(4, "cpu/cpu%d/cache/index0/shared_cpu_map f", one) +
				each(4, "cpu/cpu%d/cache/index2/level 2", one) + each(4, "cpu/cpu%d/cache/index2/type Unified", one) + each(4, "cpu/cpu%d/cache/index2/shared_cpu_map %s", func(c int) []any { return []any{c, []string{"1", "2", "c", "c"}[c]} }) +
				each(2, "cpu/cpu%d/cache/index3/level 3", one) + each(2, "cpu/cpu%d/cache/index3/type Unified", one) + each(2, "cpu/cpu%d/cache/index3/shared_cpu_map 3", one) + each(2, "cpu/cpu%d/cache/index3/size 8M", one),
			[]string{"cluster: 0", "llc: 2 0-1 2-3", "llc bytes: 8388608 0"},
			"",
		},
		{
			"nodes without CPUs, distances",
			arm + each(2, "cpu/cpu%d/topology/core_id %[1]d", one) + "node/node0/cpumap 3\nnode/node0/distance 10 80\nnode/node4/cpulist \nnode/node4/distance 80 10\n",
			[]string{"node 0: cpus 0-1 distance [10 80]", "node 4: cpus  distance [80 10]"},
			"not all distances",
		},
		{
			"architecture unknown",
			each(2, "cpu/cpu%d/topology/core_id %[1]d", one),
			[]string{"arch unknown", "warning: architecture unknown", "priority -cpu (unknown, -cpu assumed)"},
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := FromSysfs(files(tt.files), "box")
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := Describe(&b, m); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("want %q in\n%s", want, b.String())
				}
			}
			if tt.not != "" && strings.Contains(b.String(), tt.not) {
				t.Errorf("do not want %q in\n%s", tt.not, b.String())
			}
		})
	}
}

func TestSysfsErrors(t *testing.T) {
	tests := []struct{ name, files, want string }{
		{"nothing", "sys/x 1", "find sysfs tree: no devices/system/cpu"},
		{"no CPUs", "cpu/kernel_max 5", "no CPUs: want directories"},
		{"cut list", "cpu/present 0-\ncpu/cpu0/online 1", `devices/system/cpu/present: parse CPU list "0-"`},
		{"bad mask", "cpu/cpu0/topology/core_cpus xyz", `cpu0/topology/core_cpus: parse CPU mask "xyz"`},
		{"negative capacity", "cpu/cpu0/cpu_capacity -3", `cpu0/cpu_capacity: got "-3", want a number from 1 to 1024`},
		{"high CPU", "cpu/cpu99999/online 1", "CPU number is not below 8192"},
		{"two trees", "a/sys/devices/system/cpu/cpu0/online 1\nb/sys/devices/system/cpu/cpu0/online 1", "find sysfs tree: both a/sys and b/sys"},
		{"distance count", "cpu/cpu0/online 1\nnode/node0/distance 10 20 30\nnode/node1/cpulist", "node0/distance: 3 distances for 2 nodes"},
		{"CPU in two nodes", "cpu/cpu0/online 1\nnode/node0/cpulist 0\nnode/node1/cpulist 0", "CPU 0 is also in node 0"},
		{"huge file", "cpu/cpu0/online " + strings.Repeat("1", maxFile+1), "longer than 65536 bytes"},
		{"all offline", "cpu/cpu0/online 0", "no CPU is online"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := FromSysfs(files(tt.files), "box")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %q", m, err, tt.want)
			}
		})
	}
}

// TestLoadDirectory reads a tree some levels down and refuses a link out of it.
func TestLoadDirectory(t *testing.T) {
	dir := t.TempDir()
	cpu := filepath.Join(dir, "dump", "sys", cpuDir, "cpu0")
	if err := os.MkdirAll(filepath.Join(cpu, "topology"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(cpu, "topology", "core_id"), "0\n")
	m, err := Load(dir)
	if err != nil || m.NrCPUs() != 1 {
		t.Fatalf("got %v, %v", m, err)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	write(outside, "1024\n")
	if err := os.Symlink(outside, filepath.Join(cpu, "cpu_capacity")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "leaves the tree") {
		t.Errorf("link out of the tree: got %v", err)
	}
	_, err = Load(filepath.Join(dir, "nowhere"))
	if err == nil || !strings.Contains(err.Error(), "known: altra, gb10") {
		t.Errorf("got %v, want the known names", err)
	}
}
