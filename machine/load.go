// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtins returns the names of the built-in machines, sorted.
func Builtins() []string {
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		panic("machine: embedded directory: " + err.Error()) // fixed at build time
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Live is the name under which Load reads the machine that it runs on.
const Live = "live"

// Load returns the machine of that name, without the parameters that were fitted
// for its model (ApplyFitted): a built-in one (Builtins), Live, or a
// path of
//
//   - a directory that holds a sysfs tree (devices/system/cpu) at its root, in
//     sys, or some levels down, with proc beside sys if there is one;
//   - an archive of one: tar, plain, gzip or bzip2;
//   - an hwloc XML file;
//   - a YAML file of the project's schema (FromYAML).
//
// The content, not the name, says which of them a file is. A built-in name
// wins over a file of that name; write ./vera for the file. Errors are one
// line and name the file, the place in it and what was expected.
func Load(name string) (*Machine, error) {
	if data, err := builtin.ReadFile("builtin/" + name + ".yaml"); err == nil && !strings.Contains(name, "/") {
		m, err := FromYAML(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("load machine %s: %w", name, err)
		}
		return m, nil
	}
	m, err := load(name)
	if err != nil {
		return nil, fmt.Errorf("load machine %s: %w", clip(name), err)
	}
	if m.Name == "" {
		m.Name = baseName(name)
	}
	return m, nil
}

func load(name string) (*Machine, error) {
	if name == Live {
		return live()
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no such file, and no such built-in machine (known: %s, %s)", strings.Join(Builtins(), ", "), Live)
	case err != nil:
		return nil, err
	case info.IsDir():
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		abs, err := filepath.Abs(name)
		if err != nil {
			abs = name
		}
		return FromSysfs(root.FS(), baseName(abs))
	case !info.Mode().IsRegular():
		return nil, errors.New("neither a directory nor a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return fromFile(f, baseName(name))
}

// live reads /sys and /proc. The architecture is this program's own.
func live() (*Machine, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("this system is not Linux and has no /sys")
	}
	root, err := os.OpenRoot("/")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if _, err := root.Stat("sys/" + cpuDir); err != nil {
		return nil, fmt.Errorf("no /sys/%s (is sysfs mounted?)", cpuDir)
	}
	return readSysfs(fsTree{root.FS()}, "sys", Live)
}

// fromFile tells an archive, hwloc XML and YAML apart by their first bytes.
func fromFile(r io.Reader, name string) (*Machine, error) {
	b := bufio.NewReaderSize(r, 1024)
	head, err := b.Peek(512)
	if err != nil && err != io.EOF {
		return nil, err
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	switch {
	case isArchive(head):
		return FromTar(b, name)
	case bytes.HasPrefix(text, []byte("<")):
		return FromHwloc(b, name)
	case bytes.IndexByte(head, 0) >= 0:
		return nil, errors.New("not a machine description: want a tar archive (plain, gzip, bzip2), hwloc XML, or YAML")
	}
	return FromYAML(b)
}

func isArchive(head []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "BZh", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return len(head) > 262 && string(head[257:262]) == "ustar"
}

// baseName is the last element of a path without the suffixes of its kind.
func baseName(path string) string {
	base := filepath.Base(path)
	for _, suffix := range []string{".gz", ".bz2", ".tgz", ".tbz2", ".tar", ".xml", ".yaml", ".yml"} {
		base = strings.TrimSuffix(base, suffix)
	}
	return base
}
