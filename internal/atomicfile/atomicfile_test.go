// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func put(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// names returns what is in dir.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWritesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := WriteFile(path, 0o640, put("one")); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm()&^0o640 != 0 || fi.Mode().Perm()&0o400 == 0 {
		t.Errorf("permissions %o, want at most 0640", fi.Mode().Perm())
	}
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, 0o640, put("two")); err != nil {
		t.Fatal(err)
	}
	if fi, err = os.Stat(path); err != nil || fi.Mode().Perm() != 0o604 {
		t.Errorf("a replaced file's permissions %v, %v: want 0604 as before", fi.Mode(), err)
	}
	if got := content(t, path); got != "two" || names(t, dir) != "f" {
		t.Errorf("content %q, directory %q", got, names(t, dir))
	}
}

// While a file is written its name still shows the old content.
func TestOldContentUntilDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := WriteFile(path, 0o600, put("old")); err != nil {
		t.Fatal(err)
	}
	err := WriteFile(path, 0o600, func(w io.Writer) error {
		if _, err := io.WriteString(w, strings.Repeat("new", 100_000)); err != nil {
			return err
		}
		if got := content(t, path); got != "old" {
			t.Errorf("half-written file is seen: %d bytes", len(got))
		}
		return nil
	})
	if err != nil || len(content(t, path)) != 300_000 {
		t.Errorf("%v, %d bytes", err, len(content(t, path)))
	}
}

func TestFailureLeavesNothing(t *testing.T) {
	boom := errors.New("boom")
	for _, old := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		want := ""
		if old {
			want = "f"
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fails := func(w io.Writer) error {
			if _, err := io.WriteString(w, strings.Repeat("x", 200_000)); err != nil {
				return err
			}
			return boom
		}
		if err := WriteFile(path, 0o600, fails); !errors.Is(err, boom) || err.Error() != "boom" {
			t.Errorf("error %v, want write's own", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = WriteFile(path, 0o600, func(io.Writer) error { panic("x") })
		}()
		if got := names(t, dir); got != want {
			t.Errorf("old %t: left %q, want %q", old, got, want)
		}
		if old && content(t, path) != "old" {
			t.Error("old content is gone")
		}
	}
}

func TestErrorsNameThePath(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "no", "f")
	err := WriteFile(missing, 0o600, put("x"))
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), ".tmp") || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing directory: %v", err)
	}
	if err := WriteFile(dir, 0o600, put("x")); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
}

func TestLinksDevicesLeftovers(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	// What a killed process of the same number left is in nobody's way.
	left := filepath.Join(dir, fmt.Sprintf(".target.%d-0.tmp", os.Getpid()))
	if err := os.WriteFile(left, []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, 0o600, put("new")); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", fi, err)
	}
	if content(t, target) != "new" || content(t, left) != "left" {
		t.Error("target or leftover has the wrong content")
	}
	if err := WriteFile(os.DevNull, 0o600, put("x")); err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(os.DevNull); err != nil || fi.Mode().IsRegular() {
		t.Error("the null device was replaced")
	}
}

// Concurrent writers of one name leave the content of one of them.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := WriteFile(path, 0o600, put(strings.Repeat(string(rune('a'+i)), 5000))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := content(t, path)
	if len(got) != 5000 || strings.Trim(got, got[:1]) != "" || names(t, dir) != "f" {
		t.Errorf("%d bytes, directory %q", len(got), names(t, dir))
	}
}
