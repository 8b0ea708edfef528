// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sibyl/cpumask"
)

func mustLoad(t *testing.T, name string) *Machine {
	t.Helper()
	m, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestVera holds the facts of hardware.md 1.1 and 3.1.
func TestVera(t *testing.T) {
	for _, name := range []string{"vera", "vera-split", "vera-rubin"} {
		m := mustLoad(t, name)
		if m.Model != "vera" || m.NrCPUs() != 352 || len(m.Nodes) != 2 {
			t.Fatalf("%s: model %q, %d CPUs, %d nodes", name, m.Model, m.NrCPUs(), len(m.Nodes))
		}
		node0 := m.where(func(c *CPU) bool { return c.Node == 0 })
		if got := node0.String(); got != "0-87,176-263" {
			t.Errorf("%s: node 0 is %s", name, got)
		}
		sets := [2]map[int]int{{}, {}}
		lo, hi := 1024, 0
		for c := range 176 {
			pe0, pe1 := m.CPUs[c], m.CPUs[c+176]
			if got := m.Siblings(c).String(); got != cpumask.FormatList([]int{c, c + 176}) {
				t.Fatalf("%s: siblings of %d: %s", name, c, got)
			}
			if pe0.Thread != 0 || pe1.Thread != 1 || pe0.Capacity != pe1.Capacity || pe0.LLC != pe0.Node {
				t.Fatalf("%s: core %d: %+v, %+v", name, c, pe0, pe1)
			}
			sets[pe0.Package][pe0.Capacity]++
			lo, hi = min(lo, pe0.Capacity), max(hi, pe0.Capacity)
		}
		if hi != 1024 || capGreater(hi, lo) || len(sets[0]) < 20 {
			t.Errorf("%s: capacities %d to %d, %d distinct", name, lo, hi, len(sets[0]))
		}
		if len(m.Kinds()) != 1 {
			t.Errorf("%s: %d kinds, want 1: the spread is no hybrid", name, len(m.Kinds()))
		}
		if name != "vera-split" && !cmp.Equal(sets[0], sets[1]) {
			t.Errorf("%s: sockets hold different capacities", name)
		}
		for v := range sets[0] {
			if name == "vera-split" && sets[1][v] > 0 {
				t.Errorf("%s: capacity %d is on both sockets", name, v)
			}
		}
	}
	rubin, vera := mustLoad(t, "vera-rubin"), mustLoad(t, "vera")
	rubin.Name = vera.Name
	if diff := cmp.Diff(vera, rubin); diff != "" {
		t.Errorf("vera-rubin differs from vera: %s", diff)
	}
}

// TestGB10 holds the built-in to the dump that its numbers come from.
func TestGB10(t *testing.T) {
	want, got := mustLoad(t, "testdata/topologies/nvidia-dgx-gb10.tar.bz2"), mustLoad(t, "gb10")
	for i := range want.CPUs {
		got.CPUs[i].CoreID = want.CPUs[i].CoreID
	}
	got.Name, got.Model, got.Note = want.Name, want.Model, want.Note
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRoundTrip writes every machine at hand and reads it back.
func TestRoundTrip(t *testing.T) {
	names := Builtins()
	files, err := filepath.Glob("testdata/topologies/*[l2]")
	if err != nil || len(files) != 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range slices.Concat(names, files) {
		m := mustLoad(t, name)
		var b bytes.Buffer
		if err := Write(&b, m); err != nil {
			t.Fatal(err)
		}
		got, err := FromYAML(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestLive(t *testing.T) {
	if _, err := os.Stat("/sys/" + cpuDir); err != nil {
		t.Skip("no sysfs here")
	}
	m := mustLoad(t, Live)
	if m.Arch != runtime.GOARCH {
		t.Errorf("arch %s, this program is %s", m.Arch, runtime.GOARCH)
	}
	if n := m.Online().Count(); n < runtime.NumCPU() {
		t.Errorf("%d CPUs online, this program may use %d", n, runtime.NumCPU())
	}
}

// TestSetLeavesOriginal checks that Set changes a copy.
func TestSetLeavesOriginal(t *testing.T) {
	m, want := mustLoad(t, "vera"), mustLoad(t, "vera")
	if _, err := Set(m, "smt=off,capacity=equal,hz=100"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkLoadVera(b *testing.B) {
	for b.Loop() {
		if _, err := Load("vera"); err != nil {
			b.Fatal(err)
		}
	}
}
