// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// sameBits are runs whose output must be the same bytes from every build and at
// any parallelism. A trace goes to the file trace. They have noise, floating
// point results, barriers, syscalls and runs side by side.
var sameBits = []string{
	`simulate --workload hogs --set cpus=0-31,176-207 --set threads=40 --duration 60ms --seed 7 --json --trace trace`,
	`simulate --policy v7.3+smt-asym-packing=on --set cpus=0-15,176-191 --set threads=16 --set size=2048 --set fill=20ms --seed 3 --json --trace trace`,
	`simulate --machine altra --policy v7.2+sync-wakeup=sis --workload hackbench --set groups=2 --set fds=4 --set loops=20 --json --trace trace`,
	`compare --set cpus=0-15,176-191 --set threads=16 --set size=1024 --set fill=10ms --policy v7.3 --policy v7.3+smt-asym-packing=on --policy "v7.3 smt=off cpus=0-15" -n 6 --json`,
	`explain --workload hogs --set cpus=0-31,176-207 --set threads=40 --duration 60ms --decision 20 --out -`,
}

// bits runs a program and returns what it writes: standard output, then the
// trace.
func bits(t *testing.T, program, procs, line string) []byte {
	t.Helper()
	dir := t.TempDir()
	var out, errOut bytes.Buffer
	c := exec.Command(program, words(line)...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &errOut
	c.Env = append(os.Environ(), "GOMAXPROCS="+procs)
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, errOut.String())
	}
	if strings.Contains(line, "--trace") {
		data, err := os.ReadFile(filepath.Join(dir, "trace"))
		if err != nil || len(data) < 1000 {
			t.Fatalf("%s: trace of %d bytes, %v", line, len(data), err)
		}
		out.Write(data)
	}
	if out.Len() < 500 {
		t.Fatalf("%s: only %d bytes", line, out.Len())
	}
	return out.Bytes()
}

// buildSibyl builds the program with settings of the environment.
func buildSibyl(t *testing.T, env []string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("SKIPPED, builds are not compared: %v", err)
	}
	program := filepath.Join(t.TempDir(), "sibyl")
	c := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", program}, flags...), ".")...)
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return program
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestSameBits: the same seed gives the same bytes, of results and of traces, on
// one CPU and on two, for either micro-architecture level, and under the race
// detector.
func TestSameBits(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program three times")
	}
	v1 := []string{"CGO_ENABLED=0"}
	if runtime.GOARCH == "amd64" {
		v1 = append(v1, "GOAMD64=v1")
	}
	base := buildSibyl(t, v1)
	var want [][]byte
	for _, line := range sameBits {
		want = append(want, bits(t, base, "1", line))
	}
	same := func(t *testing.T, program, procs string) {
		t.Helper()
		for i, line := range sameBits {
			if got := bits(t, program, procs, line); !bytes.Equal(got, want[i]) {
				t.Errorf("sibyl %s: differs from byte %d of %d on", line, firstDifference(got, want[i]), len(want[i]))
			}
		}
	}
	t.Run("again", func(t *testing.T) { same(t, base, "1") })
	t.Run("two CPUs", func(t *testing.T) { same(t, base, "2") })
	t.Run("GOAMD64=v3", func(t *testing.T) {
		if runtime.GOARCH != "amd64" || !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasBMI2 {
			t.Skip("SKIPPED, levels are not compared: this CPU has no x86-64-v3")
		}
		same(t, buildSibyl(t, []string{"CGO_ENABLED=0", "GOAMD64=v3"}), "2")
	})
	t.Run("race detector", func(t *testing.T) {
		if _, err := exec.LookPath("gcc"); err != nil {
			t.Skipf("SKIPPED, the race detector's build is not compared: %v", err)
		}
		same(t, buildSibyl(t, []string{"CGO_ENABLED=1"}, "-race"), "2")
	})
	// The comparison can fail: another seed gives other bytes of every run.
	t.Run("another seed", func(t *testing.T) {
		for i, line := range sameBits {
			if i == 2 { // without noise the seed has no effect but on itself
				continue
			}
			line = strings.NewReplacer("--seed 7", "", "--seed 3", "").Replace(line) + " --seed 1001"
			if bytes.Equal(bits(t, base, "1", line), want[i]) {
				t.Errorf("sibyl %s: the seed has no effect", line)
			}
		}
	})
}
