// SPDX-License-Identifier: Apache-2.0

package sibyl

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// house lists the packages from the roof down. A package imports only what
// stands on a later line, and nothing of its own line; internal/ may be imported by
// all and imports only internal/. What is planned has its place already.
var house = [][]string{
	{"cmd"},
	{"sweep"},
	{"report"},
	{"published"},
	{"experiment"},
	{"replay"},
	{"analysis", "conformance"},
	{"measure"},
	{"scx", "probe"},
	{"host"},
	{"sim"},
	{"workload"},
	{"decision"},
	{"trace"},
	{"balance"},
	{"placement"},
	{"state"},
	{"runqueue"},
	{"pelt", "coremode"},
	{"policy"},
	{"domain"},
	{"machine"},
	{"cpumask", "fitted"},
}

// pure packages are functions of their arguments: the same bits on every
// machine, at any time and at any parallelism.
var pure = []string{
	"sim", "balance", "placement", "state", "runqueue", "pelt", "coremode", "domain", "cpumask",
}

// impure is what pure packages must not import, and why.
var impure = map[string]string{
	"time": "time is integer nanoseconds", "os": "no I/O", "net": "no I/O", "net/http": "no I/O",
	"log": "no I/O", "log/slog": "no I/O", "math/rand": "draws come from internal/rng",
	"math/rand/v2": "draws come from internal/rng", "crypto/rand": "draws come from internal/rng",
	"sync": "single-threaded", "sync/atomic": "single-threaded", "context": "nothing blocks",
}

// mayImport are the exceptions to impure, with their reason.
var mayImport = map[string]string{
	"sim context": "a run of minutes can be stopped; sim only asks whether it was",
}

// unsafeIn are the packages that may import unsafe.
var unsafeIn = []string{"probe", "scx", "measure"}

// inexact functions of package math differ between machines in the last bits
// (assembly, fused operations); internal/detmath has replacements.
var inexact = strings.Fields(`Acos Acosh Asin Asinh Atan Atan2 Atanh Cbrt Cos Cosh Erf Erfc Erfinv Exp Exp2 Expm1
	FMA Gamma Hypot Lgamma Log Log10 Log1p Log2 Pow Sin Sincos Sinh Tan Tanh`)

const maxLines = 600

// file is one Go source file of the repository.
type file struct {
	path, dir, top string // top: the first element of dir, "." for the root
	test           bool
	src            []byte
	ast            *ast.File
	fset           *token.FileSet
}

func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, "_") ||
				strings.HasPrefix(base, ".") && base != ".ci") {
				return fs.SkipDir
			}
			return nil
		}
		visit(name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func goFiles(t *testing.T) []file {
	t.Helper()
	var out []file
	walk(t, func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := file{path: name, dir: path.Dir(name), src: src, fset: token.NewFileSet(), test: strings.HasSuffix(name, "_test.go")}
		f.top, _, _ = strings.Cut(f.dir, "/")
		if f.ast, err = parser.ParseFile(f.fset, name, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			t.Error(err)
			return
		}
		out = append(out, f)
	})
	if len(out) < 20 {
		t.Fatalf("only %d Go files found: the walk is wrong", len(out))
	}
	return out
}

func (f *file) imports(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, s := range f.ast.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		out = append(out, p)
	}
	return out
}

func rank(top string) int {
	return slices.IndexFunc(house, func(line []string) bool { return slices.Contains(line, top) })
}

func TestEveryFileHasLicence(t *testing.T) {
	const spdx = "SPDX-License-Identifier: Apache-2.0"
	for _, f := range goFiles(t) {
		if !bytes.HasPrefix(f.src, []byte("// "+spdx+"\n")) {
			t.Errorf("%s: first line is not // %s", f.path, spdx)
		}
	}
}

func TestEveryPackageHasDoc(t *testing.T) {
	docs := map[string]string{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		docs[f.dir] += "" // known even without a comment
		if f.ast.Doc == nil {
			continue
		}
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			want = "Command "
		}
		if text := f.ast.Doc.Text(); strings.HasPrefix(text, want) {
			if docs[f.dir] != "" {
				t.Errorf("%s: package comment in %s and %s", f.dir, docs[f.dir], f.path)
			}
			docs[f.dir] = f.path
		}
	}
	for dir, where := range docs {
		if where == "" {
			t.Errorf("%s: no package comment that begins with Package NAME, or Command NAME for main", dir)
		}
	}
}

// Arrows point down only.
func TestArrowsPointDown(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		from := rank(f.top)
		if from < 0 && f.top != "internal" && f.top != "." {
			t.Errorf("%s: package %s has no place in the house: give it one here and in docs/architecture.md", f.path, f.top)
			continue
		}
		for _, p := range f.imports(t) {
			rest, ours := strings.CutPrefix(p, "sibyl/")
			if !ours {
				continue
			}
			top, _, _ := strings.Cut(rest, "/")
			switch to := rank(top); {
			case top == "internal" || f.top == top && f.top == "cmd":
			case f.top == "internal":
				t.Errorf("%s: internal/ imports %s: it has no kernel meaning and imports only internal/", f.path, p)
			case top != f.top && to <= from:
				t.Errorf("%s: imports %s, which stands above it or beside it", f.path, p)
			}
		}
	}
}

func TestImports(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		for _, p := range f.imports(t) {
			if why, bad := impure[p]; bad && slices.Contains(pure, f.top) && mayImport[f.top+" "+p] == "" {
				t.Errorf("%s: imports %s: %s", f.path, p, why)
			}
			if p == "unsafe" && !slices.Contains(unsafeIn, f.top) {
				t.Errorf("%s: imports unsafe", f.path)
			}
			if strings.HasPrefix(p, "github.com/spf13/") && f.top != "cmd" {
				t.Errorf("%s: imports %s: the command line is cmd's", f.path, p)
			}
			if p == "C" {
				t.Errorf("%s: imports C: the product is built with CGO_ENABLED=0", f.path)
			}
		}
	}
}

// Results have the same bits on every machine.
func TestNoInexactMath(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || !slices.Contains(f.imports(t), "math") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "math" && slices.Contains(inexact, s.Sel.Name) {
				t.Errorf("%s: math.%s differs between machines: use internal/detmath", f.fset.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if n := bytes.Count(f.src, []byte("\n")); !f.test && !ast.IsGenerated(f.ast) && n > maxLines {
			t.Errorf("%s: %d lines: at most %d, one concept a file", f.path, n, maxLines)
		}
	}
}

func TestModule(t *testing.T) {
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(data), "\n") {
		switch f := strings.Fields(line); {
		case len(f) == 0:
		case f[0] == "replace" || slices.Contains(f, "=>"):
			t.Errorf("go.mod:%d: replace: users of the module would not get it", i+1)
		case f[0] == "toolchain":
			t.Errorf("go.mod:%d: toolchain: builds must not download one", i+1)
		}
	}
}

// The repository names no path of the machine on which it was written. The
// strings are put together here so that this file does not contain them.
func TestNoMachinePaths(t *testing.T) {
	bad := []string{"/wo" + "rk/", "/ro" + "ot/go", "/ho" + "me/", "/tmp/ba" + "sh_jobs"}
	text := []string{".go", ".md", ".yml", ".yaml", ".json", ".txt", ".txtar", ".sh", ".mod", ""}
	check := func(name string) {
		if !slices.Contains(text, path.Ext(name)) {
			return
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bad {
			if before, _, ok := bytes.Cut(data, []byte(b)); ok {
				t.Errorf("%s:%d: names %s", name, 1+bytes.Count(before, []byte("\n")), b)
			}
		}
	}
	walk(t, check)
}
