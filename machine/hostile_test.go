// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"sibyl/cpumask"
)

// TestHostileSizes reads small inputs that name all 8192 CPUs over and over.
// What stays allocated while they are read is bounded.
func TestHostileSizes(t *testing.T) {
	const limit = 256 << 20
	wide := "0x" + strings.Repeat("ffffffff,0x", 255) + "ffffffff"
	entries := []entry{{name: "box/proc/cpuinfo", body: "vendor_id : x\n"}}
	for c := range 2048 {
		dir := fmt.Sprintf("box/sys/%s/cpu%d/topology/", cpuDir, c)
		entries = append(entries, entry{name: dir + "core_id", body: "0"})
		for _, f := range []string{"core_cpus_list", "die_cpus_list", "package_cpus_list"} {
			entries = append(entries, entry{name: dir + f, body: fmt.Sprintf("0-%d", 8191-c)})
		}
	}
	archive := pack(t, entries...)
	tests := map[string]func() (*Machine, error){
		"yaml": func() (*Machine, error) {
			return FromYAML(strings.NewReader("machine: 1\narch: arm64\ncpus: 0-8191\ncores: [" + strings.Repeat("0-8191,", 20_000) + "]\n"))
		},
		"hwloc": func() (*Machine, error) {
			return FromHwloc(strings.NewReader("<topology>"+strings.Repeat(`<object type="Core" cpuset="`+wide+`"/>`, 2000)+`<object type="PU" os_index="8191"/></topology>`), "box")
		},
		"sysfs": func() (*Machine, error) { return FromTar(bytes.NewReader(archive), "box") },
	}
	for name, load := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			m, err := load()
			runtime.ReadMemStats(&after)
			if used := int64(after.HeapSys) - int64(before.HeapSys); used > limit {
				t.Errorf("the heap grew by %d MiB", used>>20)
			}
			if err == nil && len(m.Warnings) > maxWarnings+1 {
				t.Errorf("%d warnings", len(m.Warnings))
			}
			if m != nil && m.NrCPUs() > cpumask.MaxCPUs {
				t.Errorf("%d CPUs", m.NrCPUs())
			}
			t.Log(err)
		})
	}
}
