// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// check holds what every loaded machine must have.
func check(t *testing.T, m *Machine) {
	t.Helper()
	if m.Online().Empty() {
		t.Fatal("no CPU online")
	}
	for i, c := range m.CPUs {
		if !c.Possible {
			if c.Online {
				t.Fatalf("CPU %d is online but not possible", i)
			}
			continue
		}
		if c.Capacity < 1 || c.Capacity > capacityScale || c.CapacitySource == "" || c.PrioritySource == "" {
			t.Fatalf("CPU %d: %+v", i, c)
		}
		if c.Node >= len(m.Nodes) || m.CacheBytes != nil && c.LLC >= len(m.CacheBytes) {
			t.Fatalf("CPU %d: node %d of %d, llc %d of %d", i, c.Node, len(m.Nodes), c.LLC, len(m.CacheBytes))
		}
	}
	for lv := range nrLevels {
		for g, cpus := range m.groupsOf(lv) {
			if len(cpus) == 0 {
				t.Fatalf("%s %d is empty", levelNames[lv], g)
			}
		}
	}
	for _, n := range m.Nodes {
		if len(n.Distance) != len(m.Nodes) {
			t.Fatalf("node %d: %d distances", n.ID, len(n.Distance))
		}
	}
	var b bytes.Buffer
	if err := Write(&b, m); err != nil {
		t.Fatal(err)
	}
	got, err := FromYAML(&b)
	if err != nil {
		t.Fatalf("read back: %v", err)
	}
	if diff := cmp.Diff(m.CPUs, got.CPUs); diff != "" {
		t.Fatalf("read back: %s", diff)
	}
}

// oneLineError checks the form of an error.
func oneLineError(t *testing.T, err error) {
	t.Helper()
	if s := err.Error(); strings.Contains(s, "\n") || len(s) > 4096 {
		t.Fatalf("error of more than a line: %q", s)
	}
}

func FuzzMask(f *testing.F) {
	for _, s := range []string{"", "0", "00000000,00000101", "0xffffff00,,0x0", "f,f", "0xf...f", strings.Repeat("f,", 300) + "0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := parseMask(s)
		if err != nil {
			oneLineError(t, err)
			return
		}
		for i := 1; i < len(cpus); i++ {
			if cpus[i] <= cpus[i-1] {
				t.Fatalf("%q: not ascending: %v", s, cpus)
			}
		}
	})
}

func FuzzTar(f *testing.F) {
	f.Add(pack(f, entry{name: cpu0 + "topology/core_id", body: "0\n"}, entry{name: cpu0 + "cpu_capacity", body: "512\n"}))
	f.Add(pack(f, entry{name: cpu0 + "topology/core_cpus", body: "00000003\n"}, entry{name: "box/sys/devices/system/node/node0/distance", body: "10\n"}))
	f.Add([]byte("BZh91AY&SY"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		m, err := FromTar(bytes.NewReader(data), "box")
		if err != nil {
			oneLineError(t, err)
			return
		}
		check(t, m)
	})
}

func FuzzHwloc(f *testing.F) {
	f.Add(v1)
	f.Add(v2)
	f.Add(`<topology><object type="PU" os_index="0"/></topology>`)
	f.Fuzz(func(t *testing.T, s string) {
		m, err := FromHwloc(strings.NewReader(s), "box")
		if err != nil {
			oneLineError(t, err)
			return
		}
		check(t, m)
	})
}

func FuzzYAML(f *testing.F) {
	for _, name := range Builtins() {
		data, err := builtin.ReadFile("builtin/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("machine: 1\narch: arm64\ncpus: 0-3\ncores: [0-3 by 2]\nnodes:\n  - {id: 3, cpus: 0-3, distance: [10]}\n")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := FromYAML(strings.NewReader(s))
		if err != nil {
			oneLineError(t, err)
			return
		}
		check(t, m)
	})
}

func FuzzSet(f *testing.F) {
	f.Add("smt=off,offline=5,capacity=equal")
	f.Add("offline=0-3,7,hz=100,online=1")
	m, err := Load("hybrid-x86")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		out, err := Set(m, spec)
		if err != nil {
			oneLineError(t, err)
			return
		}
		check(t, out)
	})
}

// TestMaskRoundTrip prints random sets as the kernel does and reads them.
func TestMaskRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Uint32(), 1, 12).Draw(t, "words")
		var parts []string
		var want []int
		for i := range words {
			parts = append(parts, fmt.Sprintf("%08x", words[len(words)-1-i]))
			for b := range 32 {
				if words[i]>>b&1 != 0 {
					want = append(want, 32*i+b)
				}
			}
		}
		got, err := parseMask(strings.Join(parts, ","))
		if err != nil || !cmp.Equal(got, want) {
			t.Fatalf("%v: got %v, %v, want %v", parts, got, err, want)
		}
	})
}

// TestLayout checks that a layout's groups have the sizes that it asks for.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layout{
			Packages:  rapid.IntRange(1, 4).Draw(t, "packages"),
			Cores:     4 * rapid.IntRange(1, 8).Draw(t, "cores"),
			Threads:   rapid.IntRange(1, 8).Draw(t, "threads"),
			Numbering: rapid.SampledFrom([]string{"smt-last", "package-smt-last", "smt-first"}).Draw(t, "numbering"),

			CoresPerCluster: rapid.SampledFrom([]int{0, 2}).Draw(t, "cluster"),
			CoresPerLLC:     rapid.SampledFrom([]int{0, 4}).Draw(t, "llc"),
		}
		m, err := l.build()
		if err != nil {
			t.Fatal(err)
		}
		m.setThreads()
		for lv, size := range map[level]int{levelCore: 1, levelCluster: l.CoresPerCluster, levelLLC: orElse(l.CoresPerLLC, l.Cores), levelPackage: l.Cores} {
			groups := m.groupsOf(lv)
			if size == 0 && len(groups) != 0 || size > 0 && len(groups) != l.Packages*l.Cores/size {
				t.Fatalf("%s: %d groups", levelNames[lv], len(groups))
			}
			for _, g := range groups {
				if len(g) != size*l.Threads {
					t.Fatalf("%s: group of %d CPUs, want %d", levelNames[lv], len(g), size*l.Threads)
				}
			}
		}
	})
}

// TestCorpus makes sure that the committed seeds are found.
func TestCorpus(t *testing.T) {
	for _, name := range []string{"FuzzMask", "FuzzTar", "FuzzHwloc", "FuzzYAML"} {
		if entries, err := os.ReadDir("testdata/fuzz/" + name); err != nil || len(entries) == 0 {
			t.Errorf("%s has no committed seeds: %v", name, err)
		}
	}
}
