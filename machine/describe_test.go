// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestDescribe runs the scripts of testdata/describe. Commands:
//
//	describe machine=NAME   loads NAME and prints it
//	set machine=NAME        changes NAME by the specification in the input
//	yaml                    reads a machine file
//
// All print what came out or the one-line error.
func TestDescribe(t *testing.T) {
	datadriven.Walk(t, "testdata/describe", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name string
			if d.HasArg("machine") {
				d.ScanArgs(t, "machine", &name)
			}
			var m *Machine
			var err error
			switch d.Cmd {
			case "describe":
				m, err = Load(name)
			case "set":
				if m, err = Load(name); err == nil {
					m, err = Set(m, strings.TrimSpace(d.Input))
				}
			case "yaml":
				m, err = FromYAML(strings.NewReader(d.Input))
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("error of more than one line: %q", err)
				}
				return "error: " + err.Error() + "\n"
			}
			var b strings.Builder
			if err := Describe(&b, m); err != nil {
				t.Fatal(err)
			}
			return b.String()
		})
	})
}
