// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits is the script command `exits CODE ARGS...`: it runs sibyl with ARGS in
// the script's directory, checks the exit code, and leaves the two streams in
// the files out and err. `! exec` only tells that a code is not 0.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var out, errOut bytes.Buffer
	env := Env{Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &errOut, Getenv: ts.Getenv, Dir: ts.Getenv("WORK")}
	got := Run(context.Background(), env, args[1:])
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), errOut.Bytes(), 0o644))
	if got != want {
		ts.Fatalf("exit code %d: want %d\nstdout: %s\nstderr: %s", got, want, out.String(), errOut.String())
	}
}

// tamper is the script command `tamper FROM TO REGEXP REPLACEMENT`: it copies a
// file with a change, and fails if there is nothing to change.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: tamper FROM TO REGEXP REPLACEMENT")
	}
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	before := ts.ReadFile(args[0])
	after := re.ReplaceAllString(before, args[3])
	if after == before {
		ts.Fatalf("%s: %s changes nothing", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(after), 0o644))
}
