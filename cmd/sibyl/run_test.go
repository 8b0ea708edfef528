// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func run(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	env := Env{Stdin: strings.NewReader(""), Stdout: &o, Stderr: &e, Getenv: func(string) string { return "" }, Dir: t.TempDir()}
	code = Run(context.Background(), env, args)
	return code, o.String(), e.String()
}

// Every verb, at any depth, has a one-line description and an example that
// begins with its own name, and --help prints both on standard output.
func TestHelpOfEveryVerb(t *testing.T) {
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" {
			return
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			code, out, errOut := run(t, args...)
			if code != exitDone || errOut != "" {
				t.Errorf("exit %d, stderr %q", code, errOut)
			}
			if c.Short == "" || !strings.Contains(c.Example, "  "+c.CommandPath()) || !strings.Contains(out, c.Example) {
				t.Errorf("short %q, example %q: want both in help\n%s", c.Short, c.Example, out)
			}
		})
		for _, s := range c.Commands() {
			check(s)
		}
	}
	check(newRoot(Env{}))
}

// Every verb refuses an unknown flag by name, with exit code 2 and one line.
func TestUnknownFlagOfEveryVerb(t *testing.T) {
	for _, c := range newRoot(Env{}).Commands() {
		if c.Name() == "help" || c.HasSubCommands() {
			continue
		}
		code, out, errOut := run(t, c.Name(), "--no-such-flag")
		if code != exitUsage || out != "" || strings.Count(errOut, "\n") != 1 ||
			!strings.HasPrefix(errOut, "sibyl "+c.Name()+": unknown flag: --no-such-flag: want one of ") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", c.Name(), code, out, errOut)
		}
	}
}

func TestErrorIsOneLine(t *testing.T) {
	if got := oneLine("a: b\nc\r\n\nd"); got != "a: b; c; d" {
		t.Errorf("got %q", got)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Output that cannot be written is a failure.
func TestWriteFailure(t *testing.T) {
	var e bytes.Buffer
	if code := Run(context.Background(), Env{Stdout: failing{}, Stderr: &e}, []string{"version"}); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	if got := e.String(); got != "sibyl version: write output: no space left\n" {
		t.Errorf("stderr %q", got)
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	env := Env{Dir: dir}
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	read := func() string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if err := env.save("f", text("one")); err != nil || read() != "one" {
		t.Errorf("new file: %v", err)
	}
	failure := errors.New("render")
	err := env.save("f", func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return failure
	})
	if !errors.Is(err, failure) || read() != "one" {
		t.Errorf("failed rendering: %v, file %q", err, read())
	}
	if err := env.save("absent/f", text("x")); err == nil || !strings.HasSuffix(err.Error(), "absent/f: no such file or directory") {
		t.Errorf("missing directory: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	clock := time.Unix(0, 0)
	p := &progress{w: &b, width: 80, what: "runs", now: func() time.Time { return clock }, start: clock}
	clock = clock.Add(2 * time.Second)
	p.update(1, 5)
	clock = clock.Add(redraw / 2)
	p.update(2, 5) // too soon
	clock = clock.Add(2*time.Second - redraw/2)
	p.update(4, 5)
	p.update(5, 5) // the last one is always shown
	p.end()
	p.end()
	want := "\r1/5 runs, 2.0 s each, 8s left\x1b[K" +
		"\r4/5 runs, 1.0/s, 1s left\x1b[K" +
		"\r5/5 runs, 1.2/s\x1b[K" +
		"\r\x1b[K"
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
	b.Reset()
	p.width = 10
	p.update(1, 5)
	if b.String() != "\r1/5 runs,\x1b[K" {
		t.Errorf("narrow: %q", b.String())
	}
}

// No terminal, no progress.
func TestNoProgressWithoutTerminal(t *testing.T) {
	var e bytes.Buffer
	p := Env{Stderr: &e}.progress("runs")
	p.update(1, 2)
	p.end()
	if e.Len() != 0 {
		t.Errorf("wrote %q", e.String())
	}
}
