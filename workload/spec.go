// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"sibyl/cpumask"
	"sibyl/internal/rng"
	"sibyl/machine"
)

// Spec names a workload and its settings. The zero value is not a workload.
type Spec struct {
	Name string
	// Set holds key=value settings in the order in which they were given;
	// later ones win.
	Set []string
}

// Kind is a built-in workload: what it is, its settings, and how it is built.
type Kind struct {
	Name, About string
	Settings    []Setting
	build       func(*settings, *machine.Machine, uint64) (*Instance, error)
}

// Setting is one key of --set.
type Setting struct {
	Key, Default, About string
}

// noiseSettings are the settings that every workload has. The rates and the
// coefficient of variation default to the fitted ones of the machine, if it
// has any (package fitted), and to none otherwise.
var noiseSettings = []Setting{
	{"noise", "auto", "background activity: auto (the machine's fitted rates), off, on"},
	{"noise-first", "", "wakeups a second of each core's first thread"},
	{"noise-other", "", "wakeups a second of each other thread"},
	{"noise-cv", "", "spread of noise-first over cores (coefficient of variation)"},
	{"noise-irq", "0.70", "share of interrupts: leave no idle stamp (assumed)"},
	{"noise-kthread", "0.295", "share of per-CPU kthreads (assumed)"},
	{"noise-daemon", "0.005", "share of daemons that placement places (assumed)"},
	{"noise-burst", "3us", "mean length of one burst (assumed)"},
}

// Kinds returns the built-in workloads, by name.
func Kinds() []Kind {
	kinds := []Kind{
		gemmKind("openblas-sgemm", "OpenBLAS benchmark/sgemm.goto: fork, fill, one GEMM with spinning barriers"),
		gemmKind("nvpl-sgemm", "NVPL benchblas: one GEMM whose workers also sleep between steps"),
		hogsKind(),
		hackbenchKind(),
	}
	for i := range kinds {
		kinds[i].Settings = append(kinds[i].Settings, noiseSettings...)
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].Name < kinds[j].Name })
	return kinds
}

// Find returns the built-in workload of that name.
func Find(name string) (Kind, error) {
	var known []string
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
		known = append(known, k.Name)
	}
	return Kind{}, fmt.Errorf("find workload %q: unknown; known are %s", name, strings.Join(known, ", "))
}

// Check reports the first thing that is wrong with the spec without building
// it.
func (s Spec) Check() error {
	k, err := Find(s.Name)
	if err != nil {
		return err
	}
	_, err = newSettings(k, s.Set)
	return err
}

// Build makes one run's instance for machine m. Random draws come from streams
// of seed that are named after what they decide.
func (s Spec) Build(m *machine.Machine, seed uint64) (*Instance, error) {
	k, err := Find(s.Name)
	if err != nil {
		return nil, err
	}
	set, err := newSettings(k, s.Set)
	if err != nil {
		return nil, err
	}
	in, err := k.build(set, m, seed)
	if err == nil {
		err = set.err
	}
	if err != nil {
		return nil, fmt.Errorf("build workload %s: %w", s.Name, err)
	}
	return in, nil
}

// settings are a kind's defaults with the user's values over them. The first
// value that does not parse is kept in err, so that builders read straight on.
type settings struct {
	kind Kind
	vals map[string]string // looked up by key, never ranged over
	err  error
}

func newSettings(k Kind, set []string) (*settings, error) {
	s := &settings{kind: k, vals: map[string]string{}}
	var keys []string
	for _, d := range k.Settings {
		s.vals[d.Key] = d.Default
		keys = append(keys, d.Key)
	}
	for _, kv := range set {
		key, val, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, fmt.Errorf("set workload %s: %q: want key=value", k.Name, kv)
		}
		if _, known := s.vals[key]; !known {
			return nil, fmt.Errorf("set workload %s: unknown key %q; known are %s", k.Name, key, strings.Join(keys, ", "))
		}
		s.vals[key] = val
	}
	return s, nil
}

func (s *settings) fail(key, want string) {
	if s.err == nil {
		s.err = fmt.Errorf("setting %s=%s: want %s", key, s.vals[key], want)
	}
}

// integer reads a whole number from lo to hi.
func (s *settings) integer(key string, lo, hi int64) int64 {
	v, err := strconv.ParseInt(s.vals[key], 10, 64)
	if err != nil || v < lo || v > hi {
		s.fail(key, fmt.Sprintf("a whole number from %d to %d", lo, hi))
		return lo
	}
	return v
}

// number reads a decimal number from 0 to hi.
func (s *settings) number(key string, hi float64) float64 {
	v, err := strconv.ParseFloat(s.vals[key], 64)
	if err != nil || !(v >= 0 && v <= hi) {
		s.fail(key, fmt.Sprintf("a number from 0 to %g", hi))
		return 0
	}
	return v
}

// duration reads a duration as Go writes it, in ns.
func (s *settings) duration(key string) int64 {
	d, err := time.ParseDuration(s.vals[key])
	if err != nil || d < 0 || d > 24*time.Hour {
		s.fail(key, "a duration such as 250ms, at most 24h")
		return 0
	}
	return int64(d)
}

// cpus reads a CPU list; an empty one stands for all online CPUs. CPUs that
// are not online are an error, as sched_setaffinity would at best ignore them.
func (s *settings) cpus(key string, m *machine.Machine) cpumask.Mask {
	online := m.Online()
	if s.vals[key] == "" {
		return online
	}
	want, err := cpumask.Parse(m.NrCPUs(), s.vals[key])
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("setting %s: %w", key, err)
		}
		return online
	}
	want.And(want, online)
	if want.Empty() {
		s.fail(key, "at least one online CPU")
		return online
	}
	return want
}

// noise reads the noise settings. The noise covers the nodes that home touches:
// what happens elsewhere reaches the workload through the balancer only.
func (s *settings) noise(m *machine.Machine, home cpumask.Mask) Noise {
	var n Noise
	first, other, cv, fitted := fittedNoise(m)
	switch s.vals["noise"] {
	case "off":
		return Noise{}
	case "auto":
		if !fitted && s.vals["noise-first"] == "" && s.vals["noise-other"] == "" {
			return Noise{}
		}
	case "on":
	default:
		s.fail("noise", "auto, on or off")
	}
	n.RateFirst, n.RateOther, n.CV = first, other, cv
	for _, v := range []struct {
		key string
		to  *float64
		hi  float64
	}{{"noise-first", &n.RateFirst, 1e6}, {"noise-other", &n.RateOther, 1e6}, {"noise-cv", &n.CV, 10}} {
		if s.vals[v.key] != "" {
			*v.to = s.number(v.key, v.hi)
		}
	}
	if s.vals["noise"] == "on" && n.RateFirst <= 0 && n.RateOther <= 0 {
		s.fail("noise", "noise-first or noise-other beside it: no rates were fitted for this machine")
	}
	n.Interrupts = s.number("noise-irq", 1)
	n.Kthreads = s.number("noise-kthread", 1)
	n.Daemons = s.number("noise-daemon", 1)
	if sum := n.Interrupts + n.Kthreads + n.Daemons; s.err == nil && (sum < 0.999999 || sum > 1.000001) {
		s.err = fmt.Errorf("settings noise-irq, noise-kthread and noise-daemon sum to %g: want 1", sum)
	}
	n.BurstNS = max(1, s.duration("noise-burst"))
	n.CPUs = cpumask.New(m.NrCPUs())
	for c := range m.CPUs {
		for h := range home.All() {
			if m.CPUs[c].Online && m.CPUs[c].Node == m.CPUs[h].Node {
				n.CPUs.Set(c)
				break
			}
		}
	}
	return n
}

// stream returns a named random stream of the run.
func stream(seed uint64, name string) *rng.Stream { return rng.New(seed, "workload/"+name) }
