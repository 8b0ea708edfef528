// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxFile bounds one file of a sysfs tree: sysfs itself never gives more than
// a page, 64 KiB at most.
const maxFile = 64 << 10

// tree is a read-only file tree that a sysfs reader walks. Paths are slash
// separated and relative; links are names in a listing and are never followed.
type tree interface {
	// read returns a file's content, without white space around it, and false
	// if it is absent or the kernel refuses to give it.
	read(name string) (string, bool, error)
	// list returns the names in a directory, sorted; nil if there are none.
	list(dir string) []string
}

// cpuDir is what marks the root of a sysfs tree.
const cpuDir = "devices/system/cpu"

// fsTree is a tree in a file system: a directory, a test's map, or /.
type fsTree struct{ fsys fs.FS }

func (t fsTree) read(name string) (string, bool, error) {
	// Opening a FIFO would wait for a writer.
	if fi, err := fs.Stat(t.fsys, name); err == nil && !fi.Mode().IsRegular() {
		return "", false, fmt.Errorf("read %s: not a regular file", name)
	}
	f, err := t.fsys.Open(name)
	if err != nil {
		if strings.Contains(err.Error(), "escapes") { // os.Root's refusal of a link
			return "", false, fmt.Errorf("read %s: the path leaves the tree", name)
		}
		return "", false, nil
	}
	defer f.Close()
	// A proc file may be longer than is of interest here; sysfs files are not.
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		// Drivers refuse attributes of offline CPUs with various errors.
		return "", false, nil
	}
	if len(data) > maxFile {
		if path.Base(name) != "cpuinfo" {
			return "", false, fmt.Errorf("read %s: longer than %d bytes, which no sysfs file is", name, maxFile)
		}
		data = data[:maxFile]
	}
	return trim(data), true, nil
}

// trim removes white space, and the NUL that some old kernels (3.x, nodes'
// lists) print after the line.
func trim(data []byte) string { return strings.Trim(string(data), " \t\r\n\x00") }

func (t fsTree) list(dir string) []string {
	entries, err := fs.ReadDir(t.fsys, dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// The bounds of the search for a sysfs tree below a directory.
const (
	searchDepth = 4
	searchDirs  = 2000
)

var errSearchBound = errors.New("too many directories")

// findSysfs returns the directory below which devices/system/cpu stands:
// ".", sys, or some levels down. The levels are searched one by one, so that
// the outermost tree wins; two on one level are an error.
func findSysfs(fsys fs.FS) (string, error) {
	dirs, seen := []string{"."}, 0
	for depth := 0; depth <= searchDepth && len(dirs) > 0; depth++ {
		var found, next []string
		for _, d := range dirs {
			if info, err := fs.Stat(fsys, path.Join(d, cpuDir)); err == nil && info.IsDir() {
				found = append(found, d)
			}
		}
		if len(found) > 1 {
			return "", fmt.Errorf("find sysfs tree: both %s and %s hold %s; name one of them", found[0], found[1], cpuDir)
		}
		if len(found) == 1 {
			return found[0], nil
		}
		for _, d := range dirs {
			entries, err := fs.ReadDir(fsys, d)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if !e.IsDir() {
					continue
				}
				if seen++; seen > searchDirs {
					return "", fmt.Errorf("find sysfs tree: %w below this one without %s", errSearchBound, cpuDir)
				}
				next = append(next, path.Join(d, e.Name()))
			}
		}
		dirs = next
	}
	return "", fmt.Errorf("find sysfs tree: no %s up to %d levels down", cpuDir, searchDepth)
}
