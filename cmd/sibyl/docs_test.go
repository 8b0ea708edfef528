// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sibyl/workload"
)

// TestDocumentsShowRealOutput carries out what docs/*.md show. In a block whose
// first line is ```console, a line that begins with "$ " is a command and what
// follows up to the next one is its output, standard error last. A line "..."
// stands for any lines, and a line that ends in " ..." for all that begin so. A
// block ```yaml FILE is the content of a file that later commands of the page
// read. Commands see the directory machine as from the repository's root.
//
// UPDATE_GOLDEN=1 rewrites output without such a line; read the diff.
func TestDocumentsShowRealOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("runs simulations")
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) { n += checkPage(t, name) })
	}
	if n < 20 {
		t.Errorf("%d commands found", n)
	}
}

// checkPage carries out one page and returns how many commands it has.
func checkPage(t *testing.T, name string) (commands int) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	update := os.Getenv("UPDATE_GOLDEN") != ""
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "machine"), filepath.Join(dir, "machine")); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(data), "```")
	for i := 1; i < len(parts); i += 2 {
		info, body, _ := strings.Cut(parts[i], "\n")
		if file, ok := strings.CutPrefix(info, "yaml "); ok {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(body), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if info != "console" {
			continue
		}
		var out strings.Builder
		out.WriteString("console\n")
		for _, c := range shownCommands(body) {
			commands++
			got, failure := runIn(t, dir, c.line)
			if failure != "" && !slices.Contains(c.output, failure) && !update {
				t.Errorf("%s\nfails, which the page does not show: %s", c.text, failure)
			}
			if !matchOutput(c.output, got) {
				if !update || c.elided() {
					t.Errorf("%s\nshown:\n%s\nreal:\n%s", c.text, strings.Join(c.output, "\n"), strings.Join(got, "\n"))
				} else {
					c.output = got
				}
			}
			out.WriteString(c.text + "\n")
			for _, line := range c.output {
				out.WriteString(line + "\n")
			}
		}
		parts[i] = out.String()
	}
	if now := strings.Join(parts, "```"); update && now != string(data) {
		if err := os.WriteFile(name, []byte(now), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return commands
}

// shown is one command of a page with the output that the page shows.
type shown struct {
	text   string // as on the page, continuation lines included
	line   string // without the prompt, on one line
	output []string
}

func (s *shown) elided() bool {
	for _, line := range s.output {
		if strings.HasSuffix(line, "...") {
			return true
		}
	}
	return false
}

func shownCommands(body string) []shown {
	var out []shown
	more := false
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \n")
		begin, ok := strings.CutPrefix(line, "$ ")
		switch {
		case ok:
			out = append(out, shown{text: line, line: strings.TrimSuffix(begin, "\\")})
		case more:
			c := &out[len(out)-1]
			c.text += "\n" + line
			c.line += strings.TrimSuffix(strings.TrimSpace(line), "\\")
		case len(out) > 0:
			c := &out[len(out)-1]
			c.output = append(c.output, line)
		}
		more = (ok || more) && strings.HasSuffix(line, "\\")
	}
	for i := range out { // blank lines before the next command are the page's
		o := &out[i].output
		for len(*o) > 0 && (*o)[len(*o)-1] == "" && i < len(out)-1 {
			*o = (*o)[:len(*o)-1]
			out[i+1].text = "\n" + out[i+1].text
		}
	}
	return out
}

// runIn runs a command line in dir and returns its lines, standard error last.
func runIn(t *testing.T, dir, line string) (lines []string, failure string) {
	t.Helper()
	var o, e bytes.Buffer
	env := Env{Stdin: strings.NewReader(""), Stdout: &o, Stderr: &e, Getenv: func(string) string { return "" }, Dir: dir}
	args := words(line)
	if len(args) == 0 || args[0] != "sibyl" {
		t.Errorf("%s: not a command of this program", line)
		return nil, ""
	}
	if Run(context.Background(), env, args[1:]) != exitDone {
		failure = strings.TrimSpace(e.String())
	}
	for l := range strings.Lines(o.String() + e.String()) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, failure
}

// matchOutput tells whether want, with its elisions, is what got says.
func matchOutput(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "..." {
		for skip := range len(got) + 1 {
			if matchOutput(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	if len(got) == 0 {
		return false
	}
	begin, cut := strings.CutSuffix(want[0], " ...")
	if want[0] != got[0] && !(cut && strings.HasPrefix(got[0], begin)) {
		return false
	}
	return matchOutput(want[1:], got[1:])
}

func TestMatchOutput(t *testing.T) {
	got := []string{"a", "b c", "d"}
	for _, test := range []struct {
		want string
		ok   bool
	}{
		{"a\nb c\nd", true},
		{"a\n...", true},
		{"...\nd", true},
		{"a\nb ...\n...", true},
		{"...", true},
		{"a\nb c", false},
		{"a\n...\nc", false},
		{"a\nc ...\nd", false},
		{"a\nb c\nd\ne", false},
	} {
		if ok := matchOutput(strings.Split(test.want, "\n"), got); ok != test.ok {
			t.Errorf("%q: %v", test.want, ok)
		}
	}
}

// The pictures of machines are those that the program draws.
func TestDocumentPictures(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "pictures")
	for _, name := range []string{"thunderx2"} {
		code, out, errOut := run(t, "topology", name, "--svg", "-")
		if code != exitDone {
			t.Fatalf("%s: exit %d, %s", name, code, errOut)
		}
		file := filepath.Join(dir, name+".svg")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(file, []byte(out), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != out {
			t.Errorf("%s is not what sibyl topology %s --svg draws", file, name)
		}
	}
}

// link is a relative link of a page; anchors and addresses are not looked at.
var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// What a page links to is there.
func TestDocumentLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	var files []string
	for _, pattern := range []string{"*.md", filepath.Join("docs", "*.md")} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	n := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			n++
			if to := filepath.Join(filepath.Dir(name), m[1]); !fileExists(to) {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("%d links found", n)
	}
}

// Every setting of every workload stands in docs/workloads.md as the program
// has it.
func TestWorkloadsPageIsComplete(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "workloads.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range workload.Kinds() {
		if !strings.Contains(string(data), k.Name) {
			t.Errorf("workload %s is missing", k.Name)
		}
		for _, s := range k.Settings {
			value := s.Default
			if value != "" {
				value = "`" + value + "`"
			}
			if row := "| `" + s.Key + "` | " + value + " | " + s.About + " |\n"; !strings.Contains(string(data), row) {
				t.Errorf("%s: no row %s", k.Name, row)
			}
		}
	}
}
