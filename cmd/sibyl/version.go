// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(env Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "the version of this program",
		Example: "  sibyl version --json",
		Args:    atMost(0),
		RunE: func(*cobra.Command, []string) error {
			v := version()
			return env.emit(func(w io.Writer) error {
				if asJSON {
					return json.NewEncoder(w).Encode(v)
				}
				_, err := fmt.Fprintf(w, "sibyl %s %s %s/%s\n", v.Version, v.Go, v.OS, v.Arch)
				return err
			})
		},
	}
	addJSON(c, &asJSON)
	return c
}

// versionInfo is the JSON form. Revision is empty if the build does not know.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func version() versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
