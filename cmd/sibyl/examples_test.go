// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// words splits an example as a shell does, as far as examples need it: blanks
// and double quotes.
func words(line string) []string {
	var out []string
	word, quoted, begun := "", false, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				out = append(out, word)
			}
			word, begun = "", false
		default:
			word, begun = word+string(r), true
		}
	}
	if begun {
		out = append(out, word)
	}
	return out
}

// checkExample holds a command line to the verbs, flags and argument counts
// that exist, without running it.
func checkExample(line string) error {
	args := words(line)[1:]
	root := newRoot(Env{})
	if _, err := unknownVerb(root, args); err != nil {
		return err
	}
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// What --help shows can be typed.
func TestExamplesAreValid(t *testing.T) {
	n := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", "")) {
			n++
			if err := checkExample(strings.TrimSpace(line)); err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), line, err)
			}
		}
		for _, s := range c.Commands() {
			if s.Name() != "help" && s.Name() != "completion" {
				check(s)
			}
		}
	}
	check(newRoot(Env{}))
	if n < 5 {
		t.Errorf("%d examples found", n)
	}
}

// So can the command lines in the documents: indented or fenced lines that
// begin with sibyl, after "$ " where they are shown with their output.
func TestDocumentsAreValid(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if readme := filepath.Join(root, "README.md"); fileExists(readme) {
		files = append(files, readme)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fenced, console := false, false
		for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", "")) {
			if strings.HasPrefix(line, "```") {
				fenced, console = !fenced, strings.HasPrefix(line, "```console")
				continue
			}
			if console && !strings.HasPrefix(line, "$ ") {
				continue // output
			}
			cmd := strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			cmd, _, _ = strings.Cut(cmd, " #")
			if code := fenced || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    "); code && strings.HasPrefix(cmd, "sibyl ") {
				if err := checkExample(cmd); err != nil {
					t.Errorf("%s: %q: %v", name, cmd, err)
				}
			}
		}
	}
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestExampleCheckCanFail(t *testing.T) {
	for _, line := range []string{"sibyl nosuch", "sibyl version --nosuch", "sibyl version extra"} {
		if checkExample(line) == nil {
			t.Errorf("%s was taken", line)
		}
	}
	if got := words(`a "b c" d=""  e`); len(got) != 4 || got[1] != "b c" || got[2] != "d=" {
		t.Errorf("words: %q", got)
	}
}
