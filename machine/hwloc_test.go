// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"testing"
)

// v1 is a two-socket machine as hwloc 1 writes it: nodes contain packages,
// caches have their level in depth, CPU 3 is offline.
const v1 = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
 <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" online_cpuset="0x00000007" allowed_cpuset="0x0000000f">
  <info name="Architecture" value="x86_64"/>
  <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
   <latency value="10.000000"/><latency value="21.000000"/><latency value="21.000000"/><latency value="10.000000"/>
  </distances>
  <object type="NUMANode" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005">
   <object type="Socket" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005">
    <object type="Cache" cpuset="0x00000005" depth="2" cache_size="1048576" cache_type="0">
     <object type="Cache" cpuset="0x00000005" depth="1" cache_size="32768" cache_type="2">
      <object type="Core" os_index="0" cpuset="0x00000005">
       <object type="PU" os_index="0" cpuset="0x00000001"/><object type="PU" os_index="2" cpuset="0x00000004"/>
      </object>
     </object>
    </object>
   </object>
  </object>
  <object type="NUMANode" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a">
   <object type="Socket" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a">
    <object type="Core" os_index="0" cpuset="0x0000000a">
     <object type="PU" os_index="1" cpuset="0x00000002"/><object type="PU" os_index="3" cpuset="0x00000008"/>
    </object>
   </object>
  </object>
 </object>
</topology>`

// v2 has a hybrid's kinds, clusters, a die, an offline CPU without a PU and
// memory that shares its CPUs with a node.
const v2 = `<topology version="2.0">
 <object type="Machine" cpuset="0x00000007" complete_cpuset="0x0000000f">
  <info name="Architecture" value="x86_64"/>
  <object type="NUMANode" os_index="0" cpuset="0x00000007" complete_cpuset="0x0000000f"/>
  <object type="NUMANode" os_index="1" cpuset="0x00000007" complete_cpuset="0x0000000f"/>
  <object type="Package" os_index="0" cpuset="0x00000007" complete_cpuset="0x0000000f">
   <object type="Die" os_index="0" cpuset="0x00000007">
    <object type="Core" os_index="0" cpuset="0x00000003"><object type="PU" os_index="0" cpuset="0x00000001"/><object type="PU" os_index="1" cpuset="0x00000002"/></object>
    <object type="Group" subtype="Cluster" cpuset="0x00000004">
     <object type="Core" os_index="8" cpuset="0x00000004"><object type="PU" os_index="2" cpuset="0x00000004"/></object>
    </object>
   </object>
  </object>
 </object>
 <distances2 type="Core" nbobjs="1" kind="5" indexing="os"><indexes length="2">0 </indexes><u64values length="2">1 </u64values></distances2>
 <distances2 type="NUMANode" nbobjs="2" kind="5" indexing="os"><indexes length="4">0 1 </indexes><u64values length="6">10 17 </u64values><u64values length="6">17 10 </u64values></distances2>
 <cpukind cpuset="0x00000003"><info name="CoreType" value="IntelCore"/></cpukind>
 <cpukind cpuset="0x00000004"><info name="CoreType" value="IntelAtom"/></cpukind>
</topology>`

func TestHwloc(t *testing.T) {
	tests := []struct {
		name, xml string
		want      []string
	}{
		{"version 1", v1, []string{
			"cpus 0-3: 4, online 0-2: 3", "core: 2 0+2 1+3", "package: 2 0+2 1+3", "llc: 1 0+2 (unknown: 1,3)",
			"node 0: cpus 0,2 distance [10 21]", "node 1: cpus 1,3 distance [21 10]", "llc bytes: 1048576",
		}},
		{"version 2", v2, []string{
			"cpus 0-3: 4, online 0-2: 3", "core: 2 0-1 2 (unknown: 3)", "cluster: 1 2", "die: 1 0-2", "node 0: cpus 0-3 distance [10 17]",
			"node 1: cpus  distance [17 10]", "node 1 holds CPUs of node 0: memory only", "kind core: cpus 0-1", "kind atom: cpus 2", "ITMT priorities unknown",
		}},
		{"version 9", strings.Replace(v2, `version="2.0"`, `version="9.1"`, 1), []string{`hwloc XML version "9.1" is newer`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := FromHwloc(strings.NewReader(tt.xml), "box")
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := Describe(&b, m); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("want %q in\n%s", want, b.String())
				}
			}
		})
	}
}

func TestHwlocErrors(t *testing.T) {
	const bomb = `<!DOCTYPE t [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><topology><info name="&b;"/></topology>`
	many := strings.Repeat(`<object type="PU" os_index="1"/>`, maxXMLObjects+2)
	tests := []struct{ name, xml, want string }{
		{"entity bomb", bomb, "line 1: a document type with declarations is not accepted"},
		{"undeclared entity", `<topology><info name="&b;"/></topology>`, "invalid character entity"},
		{"deep", strings.Repeat("<topology>", 70), "elements nest deeper than 64"},
		{"many", "<topology>" + many, "more than 200000 objects"},
		{"truncated", v1[:600], "line"},
		{"truncated between elements", v1[:strings.Index(v1, "<object type=\"NUMANode\"")], "truncated inside <object>"},
		{"other XML", "<html></html>", "got <html>, want one <topology>"},
		{"crossed", "<topology><object type=\"PU\" os_index=\"0\"></topology></object>", "unexpected </topology>"},
		{"empty", "<topology/>", "no CPUs"},
		{"bad set", `<topology><object type="PU" os_index="0" cpuset="0xzz"/></topology>`, `line 1: PU: cpuset: parse CPU mask "0xzz"`},
		{"infinite set", `<topology><object type="Machine" cpuset="0xf...f"/></topology>`, "the set is infinite"},
		{"high CPU", `<topology><object type="PU" os_index="99999999"/></topology>`, "CPU 99999999 is not below 8192"},
		{"twice", `<topology><object type="PU" os_index="0"/><object type="PU" os_index="0"/></topology>`, "PU 0 is given twice"},
		{"too many distances", strings.Replace(v2, "10 17 ", "10 17 17 10 9 ", 1), "more than 4 values for 2 objects"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := FromHwloc(strings.NewReader(tt.xml), "box")
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, %v, want %q", m, err, tt.want)
			}
		})
	}
}

// TestGB10Forms compares one machine's sysfs dump with its hwloc export: the
// groups agree; hwloc has merged similar capacities.
func TestGB10Forms(t *testing.T) {
	a, b := mustLoad(t, "testdata/topologies/nvidia-dgx-gb10.tar.bz2"), mustLoad(t, "testdata/topologies/nvidia-dgx-gb10.xml")
	for c := range a.CPUs {
		x, y := a.CPUs[c], b.CPUs[c]
		if x.Core != y.Core || x.LLC != y.LLC || x.Package != y.Package || x.Node != y.Node {
			t.Errorf("CPU %d: sysfs %+v, hwloc %+v", c, x, y)
		}
		if capGreater(x.Capacity, y.Capacity) || capGreater(y.Capacity, x.Capacity) {
			t.Errorf("CPU %d: capacities %d and %d", c, x.Capacity, y.Capacity)
		}
	}
}
