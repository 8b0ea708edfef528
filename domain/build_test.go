// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"sibyl/cpumask"
	"sibyl/machine"
)

// TestHierarchy prints hierarchies for review. Commands:
//
//	build machine=NAME [cpu=N...] [offline=LIST] [partition=LIST] [options...]
//	load machine=NAME ...
//
// build takes a machine of machines_test.go, load a built-in one. Both print
// the domains of the CPUs (0 unless told), their groups, the shared
// objects and the shortcut pointers.
func TestHierarchy(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name, list string
			d.ScanArgs(t, "machine", &name)
			m := named(name)
			if d.Cmd == "load" {
				var err error
				if m, err = machine.Load(name); err != nil {
					t.Fatal(err)
				}
			}
			o := Options{}
			if d.HasArg("offline") {
				d.ScanArgs(t, "offline", &list)
				cpus, err := cpumask.ParseList(strings.ReplaceAll(list, "+", ","))
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range cpus {
					m.CPUs[c].Online = false
				}
			}
			if d.HasArg("partition") {
				d.ScanArgs(t, "partition", &list)
				part, err := cpumask.Parse(len(m.CPUs), strings.ReplaceAll(list, "+", ","))
				if err != nil {
					t.Fatal(err)
				}
				o.Partition = part
			}
			if d.HasArg("smt-packing") {
				d.ScanArgs(t, "smt-packing", &list)
				o.SMTPacking = map[string]SMTPacking{"on": PackingOn, "off": PackingOff}[list]
			}
			o.NoAsymCapacity = d.HasArg("no-asym")
			o.DropPreferSibling = d.HasArg("drop-prefer-sibling")
			o.NoAsymShared = d.HasArg("no-asym-shared")
			o.LLCIDFromDomain = d.HasArg("llc-id-from-domain")
			h, err := Build(m, o)
			if err != nil {
				return err.Error()
			}
			cpus := []int{0}
			if d.HasArg("cpu") {
				d.ScanArgs(t, "cpu", &list)
				if cpus, err = cpumask.ParseList(strings.ReplaceAll(list, "+", ",")); err != nil {
					t.Fatal(err)
				}
			}
			return dump(h, cpus, !d.HasArg("brief"))
		})
	})
}

func dump(h *Hierarchy, cpus []int, groups bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "active %s smt=%v asym=%v cluster=%v domains=%d groups=%d\n",
		h.Active, h.SMTActive, h.AsymActive, h.ClusterActive, len(h.Domains), len(h.Groups))
	for i, s := range h.Shared {
		if i == 4 {
			fmt.Fprintf(&b, "… %d shared objects\n", len(h.Shared))
			break
		}
		fmt.Fprintf(&b, "shared %d: %s busy=%d scan=%#x\n", i, s.Span, s.Weight, s.InitialIdleScan)
	}
	for _, c := range cpus {
		fmt.Fprintf(&b, "cpu %d: llc-size=%d llc-id=%d share-id=%d llc-shared=%d balance-shared=%d numa=%s packing=%s asym=%s\n",
			c, h.LLCSize[c], h.LLCID[c], h.ShareID[c], h.LLCShared[c], h.BalanceShared[c],
			name(h.NUMADomain[c]), name(h.AsymPacking[c]), name(h.AsymCapacity[c]))
		for d := h.Base[c]; d != nil; d = d.Parent {
			fmt.Fprintf(&b, "  %d %s %s weight=%d pct=%d tries=%d imb=%d shared=%d\n", d.Level, d.Name, d.Span, d.Weight,
				d.ImbalancePct, d.CacheNiceTries, d.ImbNUMANr, d.Shared)
			fmt.Fprintf(&b, "    %s\n", d.Flags)
			if !groups {
				continue
			}
			for i, g := range d.Groups {
				if i == 3 && len(d.Groups) > 5 {
					fmt.Fprintf(&b, "    … %d groups\n", len(d.Groups))
					break
				}
				fmt.Fprintf(&b, "    group %d %s cores=%d", g.ID, g.Span, g.Cores)
				if !g.BalanceMask.Equal(g.Span) {
					fmt.Fprintf(&b, " balance=%s", g.BalanceMask)
				}
				if g.AsymPreferCPU >= 0 {
					fmt.Fprintf(&b, " prefer=%d", g.AsymPreferCPU)
				}
				if g.Children != nil {
					fmt.Fprintf(&b, " children=%d", len(g.Children))
				}
				fmt.Fprintf(&b, " [%s]\n", g.Flags)
			}
		}
	}
	for _, w := range h.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func name(d *Domain) string {
	if d == nil {
		return "-"
	}
	return d.Name
}

func TestBuildIsFast(t *testing.T) {
	m := named("vera")
	start := time.Now()
	if _, err := Build(m, Options{}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("Build of 352 CPUs took %v", d)
	}
}

func BenchmarkBuildVera(b *testing.B) {
	m := named("vera")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(m, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuild8192 is the largest machine that Build accepts.
func BenchmarkBuild8192(b *testing.B) {
	m := shape{arch: "amd64", packages: 2, cores: 2048, threads: 2}.machine()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(m, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
