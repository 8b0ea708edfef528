// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/machine"
	"sibyl/placement"
	"sibyl/policy"
	"sibyl/state"
)

// testMachine has nodes x cores x 2 CPUs, siblings (i, i+N/2), and capacities
// that differ by core.
func testMachine(nodes, cores int, asym bool) *machine.Machine {
	all := nodes * cores
	m := &machine.Machine{Name: "test", Arch: "arm64", HZ: 250, CPUs: make([]machine.CPU, 2*all)}
	for c := range m.CPUs {
		core := c % all
		m.CPUs[c] = machine.CPU{
			Possible: true, Online: true, Core: core, Thread: c / all, Cluster: -1, LLC: core / cores,
			Die: -1, Package: core / cores, Node: core / cores, CoreID: -1, Capacity: 1024, Priority: -c,
		}
		if asym {
			m.CPUs[c].Capacity -= 100 * (core % 5)
		}
	}
	for i := range nodes {
		n := machine.Node{ID: i}
		for j := range nodes {
			n.Distance = append(n.Distance, 10+10*min(1, max(i-j, j-i)))
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

func build(t testing.TB, h Header) *domain.Hierarchy {
	t.Helper()
	d, err := domain.Build(h.Machine, h.Options)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// live is a system that takes random decisions.
type live struct {
	s    *state.State
	p    *placement.Placer
	task *state.Task
	n    int
}

func newLive(h *domain.Hierarchy, r policy.Rules) *live {
	l := &live{s: state.New(h, 250), n: h.NrCPUs}
	for _, name := range []string{"a", "p \"quoted\"", "w", "hog"} {
		l.s.AddTask(name, nil, state.None)
	}
	l.task = l.s.Tasks[1]
	l.p = placement.New(l.s, r)
	return l
}

func (l *live) shake(t *rapid.T) placement.Request {
	s := l.s
	cpu := rapid.IntRange(0, l.n-1)
	for c := range s.CPUs {
		x := &s.CPUs[c]
		x.Curr, x.NrRunning, x.NrQueued, x.NrRunnable, x.NrIdle = state.None, 0, 0, 0, 0
		x.Avg.LoadAvg, x.Avg.UtilAvg, x.Avg.RunnableAvg = 0, 0, 0
		x.Preempted = rapid.IntRange(0, 9).Draw(t, "preempted") == 0
		x.TTWUPending = rapid.IntRange(0, 9).Draw(t, "ttwu") == 0
		x.IdleStamp = int64(rapid.IntRange(0, 100).Draw(t, "stamp"))
		x.ExitLatency = int32(rapid.IntRange(-1, 2).Draw(t, "latency"))
		x.Avg.LastUpdate = int64(rapid.IntRange(0, 1000).Draw(t, "updated")) << 20
		if rapid.Bool().Draw(t, "busy") {
			x.Curr, x.NrRunning = 3, int32(rapid.IntRange(1, 3).Draw(t, "running"))
			x.NrQueued, x.NrRunnable = x.NrRunning, x.NrRunning
			x.NrIdle = int32(rapid.IntRange(0, 1).Draw(t, "idlepolicy"))
			x.Avg.LoadAvg = int64(rapid.IntRange(0, 3000).Draw(t, "load"))
			x.Avg.UtilAvg = int64(rapid.IntRange(0, 1024).Draw(t, "util"))
			x.Avg.RunnableAvg = x.Avg.UtilAvg * int64(x.NrRunning)
		}
		x.CapNow = x.CapMax - int64(rapid.IntRange(0, 60).Draw(t, "pressure"))
		s.Sync(c)
	}
	for i := range s.Groups {
		if rapid.Bool().Draw(t, "fresh") {
			s.InitGroup(i)
		}
	}
	for i := range s.Shared {
		s.Shared[i].HasIdleCores = rapid.Bool().Draw(t, "hint")
		s.Shared[i].NrIdleScan = rapid.IntRange(0, l.n).Draw(t, "scan")
	}
	mask := cpumask.New(l.n)
	for c := range l.n {
		mask.Assign(c, rapid.IntRange(0, 4).Draw(t, "allowed") > 0)
	}
	s.SetAllowed(l.task, mask)
	k := l.task
	k.CPU = cpu.Draw(t, "cpu")
	k.RecentUsed = cpu.Draw(t, "recent")
	k.Avg.LoadAvg, k.Avg.UtilAvg = int64(rapid.IntRange(0, 1024).Draw(t, "tload")), int64(rapid.IntRange(0, 1024).Draw(t, "tutil"))
	k.Avg.LoadSum, k.Avg.UtilSum, k.Avg.LastUpdate = uint64(k.Avg.LoadAvg)*47000, uint64(k.Avg.UtilAvg)*47000, 1<<20
	k.HLoad = k.Avg.LoadAvg
	k.LastWakee = state.TaskID(rapid.IntRange(-1, 3).Draw(t, "last"))
	w := s.Tasks[2]
	w.LastWakee = state.TaskID(rapid.IntRange(-1, 3).Draw(t, "wlast"))
	w.WakeeFlips, k.WakeeFlips = uint32(rapid.IntRange(0, 100).Draw(t, "wflips")), uint32(rapid.IntRange(0, 9).Draw(t, "flips"))
	s.UclampUsed = rapid.Bool().Draw(t, "uclamp")
	r := placement.Request{
		Task: k.ID, Prev: cpu.Draw(t, "prev"), Here: cpu.Draw(t, "here"), Waker: w.ID, InTask: rapid.Bool().Draw(t, "intask"),
		Now: int64(rapid.IntRange(0, 10).Draw(t, "now")) * 1_000_000_000,
	}
	r.Flags = rapid.SampledFrom([]placement.Flags{placement.TTWU, placement.TTWU | placement.Sync, placement.Fork, placement.Exec}).Draw(t, "flags")
	switch rapid.IntRange(0, 3).Draw(t, "waker") {
	case 0:
		r.Waker = state.None
		s.CPUs[r.Here].IdleLastWakee = state.TaskID(rapid.IntRange(-1, 3).Draw(t, "ilast"))
	case 1:
		if r.Flags == placement.Exec {
			r.Waker = r.Task
		}
	}
	return r
}

// decide takes one recorded decision.
func (l *live) decide(seq int64, r placement.Request) Decision {
	d := Capture(l.s, r)
	d.Seq = seq
	var path placement.Path
	l.p.Path = &path
	var c int
	if d.Wrapped {
		c = l.p.SelectTaskRQ(r)
	} else {
		c = l.p.Select(r)
	}
	d.Finish(l.s, c, &path)
	return d
}

var empty = cmpopts.EquateEmpty()

// TestRoundTripAndReplay: a decision survives its text form, and the rules,
// given what it holds, come to the same result by the same path and leave the
// same traces.
func TestRoundTripAndReplay(t *testing.T) {
	for name, h := range map[string]Header{
		"symmetric": {Machine: testMachine(2, 3, false), Rules: policy.Rules{SMTRedirect: true}, Options: domain.Options{SMTPacking: domain.PackingOn}},
		"asym":      {Machine: testMachine(1, 5, true)},
		"plain":     {Machine: testMachine(2, 3, true), Rules: policy.Rules{AsymCapacity: policy.AsymPlain, LLCHintOnAsym: true}},
		"partition": {Machine: testMachine(2, 3, false), Options: domain.Options{Partition: cpumask.Of(12, 0, 1, 2, 3, 6, 7, 8)}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLive(build(t, h), h.Rules)
			rapid.Check(t, func(t *rapid.T) {
				log := Log{Header: h}
				for i := range rapid.IntRange(1, 2).Draw(t, "n") {
					log.Decisions = append(log.Decisions, l.decide(int64(i), l.shake(t)))
				}
				var b bytes.Buffer
				if err := log.WriteText(&b); err != nil {
					t.Fatal(err)
				}
				text := b.String()
				back, err := ReadText(&b)
				if err != nil {
					t.Fatalf("%v in\n%s", err, text)
				}
				if diff := cmp.Diff(log.Decisions, back.Decisions, empty); diff != "" {
					t.Fatalf("round trip:\n%s", diff)
				}
				var again bytes.Buffer
				if err := back.WriteText(&again); err != nil || again.String() != text {
					t.Fatalf("second writing differs: %v\n%s", err, cmp.Diff(text, again.String()))
				}
				hier, err := domain.Build(back.Header.Machine, back.Header.Options)
				if err != nil {
					t.Fatal(err)
				}
				for i := range back.Decisions {
					d := &back.Decisions[i]
					out, err := Replay(hier, back.Header.Rules, d)
					if err != nil {
						t.Fatal(err)
					}
					if out.Result != d.Result {
						t.Fatalf("replayed %d by %s, was %d by %s", out.Result, &out.Path, d.Result, &d.Path)
					}
					if diff := cmp.Diff(d.Path, out.Path, empty); diff != "" {
						t.Fatalf("path:\n%s", diff)
					}
					if diff := cmp.Diff(d.After, out.After, empty); diff != "" {
						t.Fatalf("effects of %+v:\n%s", d.Request, diff)
					}
				}
			})
		})
	}
}

// TestSwitchKinds: the text form writes flags and small numbers of the switch
// structs; a field of another kind would be lost.
func TestSwitchKinds(t *testing.T) {
	for _, v := range []any{policy.Rules{}, domain.Options{}, machine.Packing{}} {
		r := reflect.TypeOf(v)
		for f := range r.Fields() {
			if k := f.Type.Kind(); k != reflect.Bool && k != reflect.Uint8 && f.Name != "Partition" {
				t.Errorf("%s.%s is a %s: the text form does not hold it", r, f.Name, k)
			}
		}
	}
}

const header = magic + `
machine "m" arch="arm64" hz=250
node 0 10
place 0 possible online core=0 node=0
place 1 possible online core=1 node=0 priority=-1
domains
rules
`

func TestReadErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "line 0: want \"sibyl decisions 1\""},
		{"junk", "line 1: want"},
		{magic + "\nplace 1", "line 2: place: want CPU 0 next"},
		{magic + "\nplace 0 core=9999", "line 2: place 0: index 9999 is out of range"},
		{magic + "\nplace 0 core=x", "want an integer"},
		{magic + "\nplace 0 online=1", "want online without a value"},
		{magic + "\nrules NoSuchRule", "unknown switch \"NoSuchRule\""},
		{magic + "\nrules NoWAIdle=1", "want a flag name alone"},
		{magic + "\nrules SyncWakeup=300", "want a small number"},
		{magic + "\nnode 0 10 20", "2 distances for 1 nodes"},
		{magic + "\ndomains partition=0-3", "partition: CPU 3 is not below 0"},
		{header + "decision x", "line 8: want decision and its number"},
		{header + "decision 1\nresult 0", "decision 1 has no system line"},
		{header + "decision 1\nsystem tick=1 cpus=3", "line 9: system line has 3 CPUs, the header 2"},
		{header + "decision 1\nsystem tick=1 cpus=2 shared=99", "99 shared objects"},
		{header + "decision 1\nsystem tick=1 cpus=2\ncpu 2 load=1", "line 10: number \"2\": want 0 to 1"},
		{header + "decision 1\nrequest task=-1", "out of range"},
		{header + "decision 1\ntask 1 p", "quoted string"},
		{header + "decision 1\ntask 1 \"p\" cpu=1", "want allowed=CPUs"},
		{header + "decision 1\nstep nowhere 1 yes \"x\"", "unknown rule \"nowhere\""},
		{header + "decision 1\nstep target 1 maybe \"x\"", "then yes or no"},
		{header + "decision 1\nfoo", "unknown line \"foo\""},
	} {
		_, err := ReadText(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want one with %q", tt.text, err, tt.want)
		}
	}
}

// TestReplayErrors: a decision that does not fit the domains is refused.
func TestReplayErrors(t *testing.T) {
	h := Header{Machine: testMachine(1, 2, false)}
	hier := build(t, h)
	l := newLive(hier, h.Rules)
	good := l.decide(1, placement.Request{Task: 1, Flags: placement.TTWU, Waker: 2})
	for want, spoil := range map[string]func(*Decision){
		"describes 3 CPUs":  func(d *Decision) { d.Before.CPUs = d.Before.CPUs[:3] },
		"shared objects":    func(d *Decision) { d.Before.Shared = nil },
		"not an online CPU": func(d *Decision) { d.Request.Prev = 4 },
		"tick length":       func(d *Decision) { d.Before.TickNS = 0 },
		"has no task":       func(d *Decision) { d.Request.Task = -1 },
		"group 99":          func(d *Decision) { d.Before.Groups = []Group{{ID: 99}} },
		"does not exist":    func(d *Decision) { d.Before.Tasks[0].CPU = 9 },
		"may run on CPU 7":  func(d *Decision) { d.Before.Tasks[0].Allowed = []int{7} },
		"is not described":  func(d *Decision) { d.Before.Tasks = d.Before.Tasks[:1] },
	} {
		d := good
		d.Before.Tasks = append([]Task(nil), good.Before.Tasks...)
		spoil(&d)
		if _, err := Replay(hier, h.Rules, &d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := Replay(hier, h.Rules, &good); err != nil {
		t.Error(err)
	}
}

var update = flag.Bool("update", false, "write testdata/decision.txt anew")

// example is a decision of the conformance guest (mechanisms 10.7): every core
// has a busy thread, the search falls back to an idle one.
func example(t *testing.T) Log {
	m := &machine.Machine{Name: "guest", Arch: "amd64", HZ: 250, Nodes: []machine.Node{{Distance: []int{10}}}}
	for c := range 8 {
		m.CPUs = append(m.CPUs, machine.CPU{
			Possible: true, Online: true, Core: c / 2, Thread: c % 2, Cluster: -1, Die: 0, Package: 0, CoreID: -1, Capacity: 1024, Priority: -c,
		})
	}
	h := Header{Machine: m}
	l := newLive(build(t, h), h.Rules)
	for _, c := range []int{0, 1, 2, 4, 5, 6, 7} {
		x := &l.s.CPUs[c]
		x.Curr, x.NrRunning, x.NrQueued, x.NrRunnable = 3, 1, 1, 1
		x.Avg.LoadAvg, x.Avg.UtilAvg, x.Avg.RunnableAvg = 1024, 900, 900
		l.s.Sync(c)
	}
	l.s.SetIdleCores(6, false, true)
	l.task.CPU, l.task.RecentUsed = 6, 1
	d := l.decide(7, placement.Request{Task: 1, Prev: 6, Here: 6, Waker: 2, Flags: placement.TTWU, InTask: true, Now: 5_000_000_000})
	return Log{Header: h, Decisions: []Decision{d}}
}

// TestGolden holds the text form still: testdata/decision.txt is read, written
// back unchanged and replayed.
func TestGolden(t *testing.T) {
	name := filepath.Join("testdata", "decision.txt")
	if *update {
		var b bytes.Buffer
		log := example(t)
		if err := log.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	log, err := ReadText(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := log.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
	hier := build(t, log.Header)
	for i := range log.Decisions {
		out, err := Replay(hier, log.Header.Rules, &log.Decisions[i])
		if err != nil || out.Result != log.Decisions[i].Result {
			t.Errorf("decision %d: replayed %d, %v; path %s", i, out.Result, err, &out.Path)
		}
	}
}

func TestExplain(t *testing.T) {
	var b bytes.Buffer
	log := example(t)
	if err := log.Decisions[0].Explain(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for at, want := range map[int]string{
		0:              `decision 7 at 5.000000 s: wakeup of p "quoted" (task 1) (WF_TTWU)`,
		1:              "prev CPU 6, decided on CPU 6 by w (task 2); util 0, recent CPU 1, 8 allowed CPUs",
		3:              " 2  target         cpu 6    no   select_idle_sibling: target 6 is busy (choose_idle_cpu)",
		len(lines) - 1: "CPU 3; recent_used_cpu 1 -> 6; has_idle_cores of shared object 0 cleared",
	} {
		if lines[at] != want {
			t.Errorf("line %d: %q, want %q", at, lines[at], want)
		}
	}
}

// FuzzReadText: any input is read or refused; what is read can be written and
// read again, and replayed or refused.
func FuzzReadText(f *testing.F) {
	if b, err := os.ReadFile(filepath.Join("testdata", "decision.txt")); err == nil {
		f.Add(b)
	}
	f.Add([]byte(header + "decision 1\nrequest task=0 prev=0 flags=8 here=0 waker=-1 now=0\nsystem tick=4000000 cpus=2 shared=1\ntask 0 \"p\" allowed=0-1 cpu=0\nresult 0\nafter recent=0\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		log, err := ReadText(bytes.NewReader(in))
		if err != nil {
			return
		}
		var a, b bytes.Buffer
		if err := log.WriteText(&a); err != nil {
			t.Fatal(err)
		}
		first := a.String()
		back, err := ReadText(&a)
		if err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		if err := back.WriteText(&b); err != nil || b.String() != first {
			t.Fatalf("second writing differs: %v\n%s", err, cmp.Diff(first, b.String()))
		}
		if len(log.Header.Machine.CPUs) > 64 {
			return
		}
		hier, err := domain.Build(log.Header.Machine, log.Header.Options)
		if err != nil {
			return
		}
		for i := range log.Decisions {
			if err := log.Decisions[i].Explain(io.Discard); err != nil {
				t.Fatal(err)
			}
			_, _ = Replay(hier, log.Header.Rules, &log.Decisions[i])
		}
	})
}
