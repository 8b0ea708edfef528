// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// path places a file name of the command line.
func (e Env) path(name string) string {
	if e.Dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, name)
}

// save writes what render gives to a file, or to Stdout for "-". A file
// appears whole or not at all; an old one is replaced only by a whole one.
func (e Env) save(name string, render func(io.Writer) error) error {
	if name == "-" {
		return e.emit(render)
	}
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	if err := replaceFile(e.path(name), b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", name, cause(err))
	}
	return nil
}

func replaceFile(dest string, data []byte) error {
	if target, err := filepath.EvalSymlinks(dest); err == nil {
		dest = target
	}
	if fi, err := os.Stat(dest); err == nil && !fi.Mode().IsRegular() {
		// A device or a pipe is written to, never replaced.
		f, err := os.OpenFile(dest, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	}
	tmp := filepath.Join(filepath.Dir(dest), fmt.Sprintf(".%s.%d.tmp", filepath.Base(dest), os.Getpid()))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, dest)
	}
	if err != nil {
		_ = os.Remove(tmp) // the first error is the one to tell
	}
	return err
}

// cause drops the path from a file error: the caller names it as it was given.
func cause(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
