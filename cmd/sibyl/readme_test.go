// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readmeBlocks returns the fenced blocks of README.md.
func readmeBlocks(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split(string(data), "```") {
		if i%2 == 1 {
			blocks = append(blocks, strings.TrimPrefix(part, "\n"))
		}
	}
	return blocks
}

// TestReadmeExamplesRun carries out every example of README.md.
func TestReadmeExamplesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs simulations")
	}
	n := 0
	for _, block := range readmeBlocks(t) {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "sibyl ") {
				continue
			}
			n++
			if code, out, errOut := run(t, words(line)[1:]...); code != exitDone || out == "" {
				t.Errorf("%s: exit %d, %d bytes of output, %s", line, code, len(out), errOut)
			}
		}
	}
	if n < 5 {
		t.Errorf("README.md has %d examples, want the five uses", n)
	}
}

// TestReadmeShowsRealOutput: what README.md shows of `reproduce` is what it
// prints.
func TestReadmeShowsRealOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("reproduces the published tables")
	}
	code, out, errOut := run(t, "reproduce", "--no-ablations")
	if code != exitDone {
		t.Fatalf("reproduce: exit %d, %s", code, errOut)
	}
	n := 0
	for _, block := range readmeBlocks(t) {
		if strings.HasPrefix(block, "olympus-gemm") || strings.HasPrefix(block, "thunderx2-gemm") {
			n++
			if !strings.Contains(out, strings.TrimRight(block, "\n")) {
				t.Errorf("README.md shows what reproduce does not print:\n%s", block)
			}
		}
	}
	if n != 2 {
		t.Errorf("README.md shows %d tables, want 2", n)
	}
}
