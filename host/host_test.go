// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"sibyl/machine"
)

// TestDoctor prints the report for a machine and the files of a system. Its
// arguments are a machine's name (Load's) and what to change in it; the input has
// lines
//
//	FILE: content   (\n and \0 in the content are escapes)
//	FILE!           (no permission)
func TestDoctor(t *testing.T) {
	datadriven.Walk(t, "testdata/doctor", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "doctor" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			var name string
			d.ScanArgs(t, "machine", &name)
			m, err := machine.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			if d.HasArg("set") {
				var set string
				d.ScanArgs(t, "set", &set)
				if m, err = machine.Set(m, set); err != nil {
					t.Fatal(err)
				}
			}
			if d.HasArg("equal-priorities") {
				for c := range m.CPUs {
					m.CPUs[c].Priority = 0
				}
			}
			s := Read(files(t, d.Input))
			if d.HasArg("elsewhere") {
				s = Elsewhere()
			}
			r := Doctor(s, m)
			var text, js bytes.Buffer
			if err := r.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text.String()) {
				if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > width {
					t.Errorf("%s: more than %d columns: %s", d.Pos, width, line)
				}
			}
			if err := r.WriteJSON(&js); err != nil {
				t.Fatal(err)
			}
			// Lists are never null; the one number that may be unknown is.
			if strings.Contains(strings.ReplaceAll(js.String(), `"perf_event_paranoid": null`, ""), "null") {
				t.Errorf("%s: null in JSON:\n%s", d.Pos, js.String())
			}
			if d.HasArg("json") {
				return js.String()
			}
			return text.String()
		})
	})
}

// denied is a file system some of whose files cannot be opened.
// It has Open only, so that every access goes through it.
type denied struct {
	files fstest.MapFS
	names map[string]bool
}

func (d denied) Open(name string) (fs.File, error) {
	if d.names[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.files.Open(name)
}

func files(t *testing.T, input string) fs.FS {
	t.Helper()
	d := denied{fstest.MapFS{}, map[string]bool{}}
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutSuffix(line, "!"); ok {
			d.names[name] = true
			d.files[name] = &fstest.MapFile{}
			continue
		}
		name, text, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("want FILE: content, not %q", line)
		}
		text = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00").Replace(text)
		d.files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return d
}

func TestParseVersion(t *testing.T) {
	for _, tc := range []struct {
		release string
		want    string // major minor patch extra, distribution; or the error
	}{
		{"7.3.4", "7 3 4 '' false"},
		{"7.3.4+deb14-cloud-amd64", "7 3 4 '+deb14-cloud-amd64' true"},
		{"6.12.117-1-arm64", "6 12 117 '-1-arm64' true"},
		{"7.3-rc2", "7 3 0 '-rc2' false"},
		{"7.3.0-rc2+", "7 3 0 '-rc2+' false"},
		{"7.3.0-rc2-next-20260801", "7 3 0 '-rc2-next-20260801' true"},
		{"5.14.0-503.el9.aarch64+64k", "5 14 0 '-503.el9.aarch64+64k' true"},
		{"7.3.4.5", "7 3 4 '.5' true"},
		{"7.3.x", "7 3 0 '.x' true"},
		{"", "parse kernel release"},
		{"linux", "parse kernel release"},
		{"7", "parse kernel release"},
		{"7.", "parse kernel release"},
		{"0.1", "parse kernel release"},
		{"99999999999999999999.1", "parse kernel release"},
		{"-7.3", "parse kernel release"},
	} {
		v, err := ParseVersion(tc.release)
		got := fmt.Sprintf("%d %d %d '%s' %t", v.Major, v.Minor, v.Patch, v.Extra, v.Distribution())
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("%q: %s, want %s", tc.release, got, tc.want)
		}
	}
	v := Version{Major: 7, Minor: 3}
	if !v.AtLeast(7, 3) || !v.AtLeast(6, 99) || v.AtLeast(7, 4) || v.AtLeast(8, 0) {
		t.Error("AtLeast")
	}
}

// Names are found also where two reads meet, and only whole.
func TestFindNames(t *testing.T) {
	for _, at := range []int{0, 1, 65_530, 65_535, 65_536, 131_060, 200_000} {
		data := append(bytes.Repeat([]byte{0}, at), "\x00needle\x00xneedles\x00"...)
		found, err := findNames(fstest.MapFS{"f": {Data: data}}, "f", "needle", "needles", "xneedle")
		if err != nil || !found[0] || found[1] || found[2] {
			t.Errorf("at %d: %v, %v", at, found, err)
		}
	}
}

func TestMasks(t *testing.T) {
	for _, tc := range []struct {
		mask string
		want string
	}{
		{"f", "[0 1 2 3]"},
		{"00000000,00000001", "[0]"},
		{"80000000,00000000", "[63]"},
		{"A", "[1 3]"},
		{"", "parse mask"},
		{"xyz", "parse mask"},
		{"f,,\x00", "parse mask"},
		{"P", "parse mask"},
	} {
		cpus, err := parseMask(tc.mask)
		got := fmt.Sprint(cpus)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("%q: %s, want %s", tc.mask, got, tc.want)
		}
		if err == nil {
			if back, err := parseMask(hexMask(cpus)); err != nil || fmt.Sprint(back) != got {
				t.Errorf("%q: written as %q, read as %v, %v", tc.mask, hexMask(cpus), back, err)
			}
		}
	}
}

func TestStrided(t *testing.T) {
	for _, tc := range []struct {
		cpus            []int
		taskset, kernel string
	}{
		{[]int{0, 1, 2, 3}, "0-3", "0-3"},
		{[]int{0, 2, 4, 6}, "0-6:2", "0-6:1/2"},
		{[]int{1, 5, 9}, "1-9:4", "1-9:1/4"},
		{[]int{0, 2, 4, 8}, "0,2,4,8", "0,2,4,8"},
		{[]int{3, 7}, "3,7", "3,7"},
	} {
		if a, b := strided(tc.cpus, false), strided(tc.cpus, true); a != tc.taskset || b != tc.kernel {
			t.Errorf("%v: %s and %s, want %s and %s", tc.cpus, a, b, tc.taskset, tc.kernel)
		}
	}
}

func TestRights(t *testing.T) {
	minusOne, two := -1, 2
	for _, tc := range []struct {
		name        string
		rights      Rights
		trace, load Tri
	}{
		{"root", Rights{SysAdmin: Yes, BPF: Yes, Perfmon: Yes}, Yes, Yes},
		{"sysadmin only", Rights{SysAdmin: Yes, BPF: No, Perfmon: No}, Yes, Yes},
		{"bpf and perfmon", Rights{SysAdmin: No, BPF: Yes, Perfmon: Yes}, Yes, Yes},
		{"bpf alone", Rights{SysAdmin: No, BPF: Yes, Perfmon: No}, No, No},
		{"perfmon alone", Rights{SysAdmin: No, BPF: No, Perfmon: Yes}, Yes, No},
		{"nobody", Rights{SysAdmin: No, BPF: No, Perfmon: No, PerfParanoid: &two, TraceFS: No}, No, No},
		{"not paranoid", Rights{SysAdmin: No, BPF: No, Perfmon: No, PerfParanoid: &minusOne}, Yes, No},
		{"tracefs for all", Rights{SysAdmin: No, BPF: No, Perfmon: No, TraceFS: Yes}, Yes, No},
		{"locked down", Rights{SysAdmin: Yes, BPF: Yes, Perfmon: Yes, Lockdown: "confidentiality"}, Yes, No},
		{"unknown", Rights{SysAdmin: Unknown, BPF: Unknown, Perfmon: Unknown}, Unknown, Unknown},
	} {
		if a, b := tc.rights.CanTrace(), tc.rights.CanLoad(); a != tc.trace || b != tc.load {
			t.Errorf("%s: trace %s, load %s; want %s, %s", tc.name, a, b, tc.trace, tc.load)
		}
	}
}

// A long command goes on at the first column, so that a shell reads it whole.
func TestLongCommand(t *testing.T) {
	var p page
	list := strings.Repeat("123,", 60) + "4"
	p.command("    ", "taskset -c "+list+" COMMAND")
	for line := range strings.Lines(p.String()) {
		if len(strings.TrimRight(line, "\n")) > width {
			t.Errorf("%d columns", len(line))
		}
	}
	if got := strings.ReplaceAll(p.String(), "\\\n", ""); got != "    taskset -c "+list+" COMMAND\n" {
		t.Errorf("a shell reads %q", got)
	}
}

// Reading an empty or nonsensical system neither fails nor guesses.
func TestReadNothing(t *testing.T) {
	s := Read(fstest.MapFS{})
	if s.SMT.Active != Unknown || s.SchedExt.Present != Unknown || s.BTF.Present != Unknown || s.Version.Known() ||
		s.Rights.CanLoad() != Unknown || s.Rights.CanTrace() != Unknown {
		t.Errorf("guessed: %+v", s)
	}
	if len(s.Unread) < 8 {
		t.Errorf("only %d unread facts", len(s.Unread))
	}
}

func FuzzRead(f *testing.F) {
	f.Add("7.3.4", "1", "quiet sched_smt_asym_packing=on", "0-3", "f,ffffffff", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-3\n")
	f.Add("x", "2", "-- isolcpus=3", "9999", ",", "CapEff: zz")
	m, err := machine.Load("smt2-x86")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, release, smt, cmdline, irq, mask, status string) {
		file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
		r := Doctor(Read(fstest.MapFS{
			"proc/sys/kernel/osrelease":             file(release),
			"proc/cmdline":                          file(cmdline),
			"proc/sys/kernel/sched_energy_aware":    file(smt),
			"proc/self/status":                      file(status),
			"proc/cpuinfo":                          file(status),
			"proc/irq/7/effective_affinity_list":    file(irq),
			"proc/irq/default_smp_affinity":         file(mask),
			"sys/devices/system/cpu/smt/active":     file(smt),
			"sys/devices/system/cpu/smt/control":    file(cmdline),
			"sys/kernel/sched_ext/state":            file(release),
			"sys/kernel/sched_ext/root/ops":         file(cmdline),
			"sys/kernel/btf/vmlinux":                file(status),
			"sys/kernel/security/lockdown":          file(cmdline),
			"sys/kernel/tracing/events/sched/sched": file(irq),
		}), m)
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	})
}
