// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"sibyl/internal/atomicfile"
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
	return atomicfile.WriteFile(e.path(name), 0o666, render)
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
