// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// stopAfter is a terminal that ends the context when it is told that n runs
// are done.
type stopAfter struct {
	bytes.Buffer
	mark string
	stop func()
}

func (s *stopAfter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.mark) {
		s.stop()
	}
	return s.Buffer.Write(p)
}

// What a stopped comparison has done is shown, with exit code 1.
func TestCompareStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out bytes.Buffer
	screen := &stopAfter{mark: "\r1/2000 runs", stop: cancel}
	code := Run(ctx, Env{Stdout: &out, Stderr: screen, Width: 80}, []string{
		"compare", "--machine", "thunderx2", "--workload", "hogs", "--set", "threads=8", "--duration", "50ms",
		"--policy", "v7.3", "--policy", "v7.2", "-n", "1000", "--json",
	})
	if code != exitFailed || !strings.Contains(screen.String(), "sibyl compare: run 2000 jobs: stopped after ") {
		t.Errorf("exit %d, stderr %q", code, screen.String())
	}
	rep := object(t, out.Bytes())
	if n := len(list(t, rep["samples"])); n == 0 || n > 500 {
		t.Errorf("%d samples of what was done", n)
	}
	list(t, rep["comparisons"])
}

// A run that is stopped gives nothing and leaves no trace file.
func TestSimulateStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errOut bytes.Buffer
	dir := t.TempDir()
	code := Run(ctx, Env{Stdout: &out, Stderr: &errOut, Dir: dir}, []string{"simulate", "--duration", "1s", "--trace", "t"})
	if code != exitFailed || out.Len() > 0 || !strings.Contains(errOut.String(), "stopped at ") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out.String(), errOut.String())
	}
	if fileExists(dir + "/t") {
		t.Error("a trace was left")
	}
}
