// SPDX-License-Identifier: Apache-2.0

// Package atomicfile writes files that appear whole or not at all: whoever opens
// the name sees the old content or all of the new one, also after a crash.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// attempts bounds the search for a free temporary name. A name is taken only by
// what a killed process left behind.
const attempts = 100

// WriteFile gives path the content that write writes. The content goes to a
// temporary file beside path, is flushed to the disk and takes the name by a
// rename. If write or a step of it fails, or write panics, the temporary file
// goes and an old file stays as it was.
//
// A new file gets perm (less the umask), a replaced one keeps its permissions.
// A symbolic link is followed. What is not a regular file (a terminal, a pipe,
// /dev/null) cannot be replaced and is written to directly.
//
// An error of write is returned as it is; others are one line with path's name.
// The writer is buffered. Files of different names may be written concurrently.
func WriteFile(path string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	dest := path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		dest = target
	}
	old, err := os.Stat(dest)
	switch {
	case err == nil && old.IsDir():
		return fmt.Errorf("write %s: is a directory", path)
	case err == nil && !old.Mode().IsRegular():
		return writeDirect(path, dest, write)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", path, cause(err))
	case err != nil:
		old = nil
	}
	f, err := create(dest, perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	done := false
	defer func() {
		if !done {
			_ = f.Close()           // of no interest: it goes,
			_ = os.Remove(f.Name()) // and the first error is the one to tell
		}
	}()
	if err := fill(f, path, write); err != nil {
		return err
	}
	if old != nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), dest)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	done = true
	syncDir(filepath.Dir(dest))
	return nil
}

// fill runs write through a buffer.
func fill(f io.Writer, path string, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(f, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return nil
}

func writeDirect(path, dest string, write func(io.Writer) error) error {
	f, err := os.OpenFile(dest, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	if err := fill(f, path, write); err != nil {
		_ = f.Close() // the first error is the one to tell
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return nil
}

// create opens a new file beside dest. Unlike os.CreateTemp it leaves the
// permissions to the umask.
func create(dest string, perm fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(dest)
	if len(base) > 200 {
		base = base[:200] // names are bounded at 255 bytes
	}
	var err error
	for i := range attempts {
		var f *os.File
		f, err = os.OpenFile(filepath.Join(dir, fmt.Sprintf(".%s.%d-%d.tmp", base, os.Getpid(), i)), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, err
}

// syncDir makes the rename last over a crash. Some file systems cannot do it;
// the file is whole in any case.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// cause drops the path from a file error: the temporary name says nothing to
// whoever gave path.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
