// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// The bounds of an archive. What exceeds them is no sysfs dump.
const (
	maxArchive = 256 << 20 // bytes after decompression
	maxEntries = 1 << 20
	maxKept    = 64 << 20 // bytes of files that are kept
)

// tarTree holds the files of an archive that a sysfs reader asks for.
type tarTree struct {
	files map[string]string
	dirs  map[string][]string
}

func (t *tarTree) read(name string) (string, bool, error) {
	s, ok := t.files[path.Clean(name)]
	return s, ok, nil
}

func (t *tarTree) list(dir string) []string { return t.dirs[path.Clean(dir)] }

var errTooLong = errors.New("longer than any machine description")

// boundedReader fails, instead of ending, after n bytes.
type boundedReader struct {
	r     io.Reader
	n     int64
	ended bool // a read met the end of the input
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.n <= 0 {
		return 0, errTooLong
	}
	p = p[:min(int64(len(p)), b.n)]
	n, err := b.r.Read(p)
	b.n -= int64(n)
	b.ended = b.ended || n == 0 && err == io.EOF
	return n, err
}

// decompress returns the plain stream of r, which may be gzip, bzip2 or plain,
// as its first bytes say.
func decompress(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, _ := b.Peek(6)
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("read gzip header: %w", err)
		}
		return z, nil
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(b), nil
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")), bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return nil, errors.New("read archive: xz and zstd are not supported (recompress with gzip or bzip2)")
	}
	return b, nil
}

// readTar reads the sysfs tree of an archive and returns it with the path of
// its sys directory. Names and links that leave the archive are errors, also
// where nothing would follow them: such an archive was made to do harm. limit
// bounds the bytes after decompression.
func readTar(r io.Reader, limit int64) (*tarTree, string, error) {
	plain, err := decompress(r)
	if err != nil {
		return nil, "", err
	}
	t := &tarTree{files: map[string]string{}, dirs: map[string][]string{}}
	seen := map[string]bool{}
	roots := map[string]bool{}
	in := &boundedReader{r: plain, n: limit}
	tr := tar.NewReader(in)
	kept, last := int64(0), "the start"
	for n := 1; ; n++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", fmt.Errorf("read archive: entry %d, after %s: %w", n, clip(last), tarCause(err))
		}
		if n > maxEntries {
			return nil, "", fmt.Errorf("read archive: more than %d entries", maxEntries)
		}
		name := path.Clean(h.Name)
		last = name
		if path.IsAbs(h.Name) || climbs(h.Name) {
			return nil, "", fmt.Errorf("read archive: entry %d, %q: the name leaves the archive", n, clip(h.Name))
		}
		if h.Typeflag == tar.TypeSymlink && (path.IsAbs(h.Linkname) || climbs(path.Join(path.Dir(name), h.Linkname))) {
			return nil, "", fmt.Errorf("read archive: entry %d, %q: the link to %q leaves the archive", n, clip(name), clip(h.Linkname))
		}
		root, sys := sysRoot(name)
		if sys {
			roots[root] = true
		}
		if !sys && !wanted(name) || name == "." {
			continue
		}
		if !seen[name] {
			seen[name] = true
			t.dirs[path.Dir(name)] = append(t.dirs[path.Dir(name)], path.Base(name))
			for d := path.Dir(name); d != "." && !seen[d]; d = path.Dir(d) {
				seen[d] = true
				t.dirs[path.Dir(d)] = append(t.dirs[path.Dir(d)], path.Base(d))
			}
		}
		switch h.Typeflag {
		case tar.TypeReg:
		case tar.TypeLink:
			if s, ok := t.files[path.Clean(h.Linkname)]; ok {
				t.files[name] = s
			}
			continue
		default:
			continue
		}
		long := h.Size > maxFile
		if long && path.Base(name) != "cpuinfo" {
			return nil, "", fmt.Errorf("read archive: entry %d, %q: %d bytes, more than the %d that a sysfs file may have", n, clip(name), h.Size, maxFile)
		}
		data, err := io.ReadAll(io.LimitReader(tr, maxFile))
		if err != nil {
			return nil, "", fmt.Errorf("read archive: entry %d, %q: %w", n, clip(name), tarCause(err))
		}
		if kept += int64(len(data)); kept > maxKept {
			return nil, "", fmt.Errorf("read archive: entry %d, %q: more than %d MiB of files", n, clip(name), maxKept>>20)
		}
		t.files[name] = trim(data)
	}
	if in.ended { // archive/tar takes the end of the input for that of the archive
		return nil, "", fmt.Errorf("read archive: after %s: the archive is truncated (no end mark)", clip(last))
	}
	for d := range t.dirs {
		slices.Sort(t.dirs[d])
	}
	root, err := oneRoot(roots)
	return t, root, err
}

// tarCause gives the usual end of a cut file its usual name.
func tarCause(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the archive is truncated")
	}
	if errors.Is(err, errTooLong) {
		return errors.New("too many bytes after decompression for a sysfs dump")
	}
	return err
}

// climbs tells whether a path leaves the directory that it starts from.
func climbs(name string) bool {
	c := path.Clean(name)
	return c == ".." || strings.HasPrefix(c, "../")
}

// sysRoot returns what stands before devices/system/cpu in an entry's path.
func sysRoot(name string) (string, bool) {
	i := strings.Index("/"+name+"/", "/"+cpuDir+"/")
	if i < 0 {
		return "", false
	}
	return path.Clean("./" + strings.TrimSuffix(name[:i], "/")), true
}

// wanted tells whether the sysfs reader asks for the entry, apart from what
// stands below devices/system/cpu.
func wanted(name string) bool {
	slashed := "/" + name
	for _, s := range []string{"/devices/system/node/", "/devices/cpu_core/", "/devices/cpu_atom/", "/devices/cpu_lowpower/", "/kernel/debug/x86/"} {
		if strings.Contains(slashed+"/", s) {
			return true
		}
	}
	return strings.HasSuffix(slashed, "/proc/cpuinfo") || strings.HasSuffix(slashed, "/proc/sys/kernel/sched_itmt_enabled")
}

// oneRoot returns the outermost sys directory of an archive.
func oneRoot(roots map[string]bool) (string, error) {
	var names []string
	for r := range roots {
		names = append(names, r)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := depthOf(a) - depthOf(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("find sysfs tree: no %s in the archive", cpuDir)
	case len(names) > 1 && depthOf(names[0]) == depthOf(names[1]):
		return "", fmt.Errorf("find sysfs tree: the archive holds two, %q and %q (pack one of them)", clip(names[0]), clip(names[1]))
	}
	return names[0], nil
}

func depthOf(dir string) int {
	if dir == "." {
		return 0
	}
	return 1 + strings.Count(dir, "/")
}
