// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sibyl/cpumask"
)

// schemaVersion is the value of the key machine, which every file begins with.
const schemaVersion = 1

// maxYAML bounds a machine file.
const maxYAML = 2 << 20

// file is the project's own machine schema, kept small: unknown keys
// are errors. A machine is given either by layout, for regular machines, or by
// cpus and the lists of groups.
type file struct {
	Machine   int    `yaml:"machine"`
	Name      string `yaml:"name"`
	Model     string `yaml:"model,omitempty"`
	Arch      string `yaml:"arch"`
	HZ        int    `yaml:"hz,omitempty"`
	CounterHz int64  `yaml:"counter_hz,omitempty"`
	Note      string `yaml:"note,omitempty"`

	Layout *layout `yaml:"layout,omitempty"`

	CPUs     cpuList    `yaml:"cpus,omitempty"`
	Offline  cpuList    `yaml:"offline,omitempty"`
	Cores    []cpuList  `yaml:"cores,omitempty"`
	Clusters []cpuList  `yaml:"clusters,omitempty"`
	LLCs     []cpuList  `yaml:"llcs,omitempty"`
	Dies     []cpuList  `yaml:"dies,omitempty"`
	Packages []cpuList  `yaml:"packages,omitempty"`
	Nodes    []nodeFile `yaml:"nodes,omitempty"`

	LLCBytes []int64 `yaml:"llc_bytes,omitempty,flow"` // one for all, or one each

	Capacity valueFile  `yaml:"capacity,omitempty"`
	Priority valueFile  `yaml:"priority,omitempty"`
	Types    []typeFile `yaml:"types,omitempty"`
	CoreIDs  []idFile   `yaml:"core_ids,omitempty"`

	Packing  packingFile  `yaml:"packing,omitempty"`
	CoreMode coreModeFile `yaml:"core_mode,omitempty"`
	Warnings []string     `yaml:"warnings,omitempty"`
}

// layout generates a regular machine.
type layout struct {
	Packages int `yaml:"packages"`
	Cores    int `yaml:"cores"`   // per package
	Threads  int `yaml:"threads"` // per core
	// Numbering is smt-last (the first threads of all cores of the machine,
	// then the second ones), package-smt-last (the same within each package)
	// or smt-first (all threads of a core, then the next core).
	Numbering string `yaml:"numbering"`
	// How many neighbouring cores form a group; 0 for a level that the machine
	// lacks. A last-level cache spans the package unless told otherwise.
	CoresPerCluster int `yaml:"cores_per_cluster,omitempty"`
	CoresPerLLC     int `yaml:"cores_per_llc,omitempty"`
	CoresPerDie     int `yaml:"cores_per_die,omitempty"`
	CoresPerNode    int `yaml:"cores_per_node,omitempty"` // default: the package
	RemoteDistance  int `yaml:"remote_distance,omitempty"`
}

type nodeFile struct {
	ID       int     `yaml:"id"`
	CPUs     cpuList `yaml:"cpus"`
	Distance []int   `yaml:"distance,flow"` // to all nodes in the order of this list
}

// valueFile gives a number per CPU: per_core repeats over the cores, then cpus
// overrides.
type valueFile struct {
	Source  string      `yaml:"source,omitempty"`
	PerCore []int       `yaml:"per_core,omitempty,flow"`
	CPUs    []valueList `yaml:"cpus,omitempty"`
}

func (v valueFile) IsZero() bool { return v.Source == "" && v.PerCore == nil && v.CPUs == nil }

type valueList struct {
	CPUs   cpuList `yaml:"cpus"`
	Value  int     `yaml:"value"`
	Source string  `yaml:"source,omitempty"` // if it differs
}

type typeFile struct {
	CPUs cpuList `yaml:"cpus"`
	Type string  `yaml:"type"`
}

type idFile struct {
	CPUs cpuList `yaml:"cpus"`
	ID   int     `yaml:"id"`
}

type packingFile struct {
	SMT   bool `yaml:"smt,omitempty"`
	Cores bool `yaml:"cores,omitempty"`
}

type coreModeFile struct {
	FreqKHz     int64   `yaml:"freq_khz,omitempty"`
	Qualify     int64   `yaml:"qualify,omitempty"`
	In          []int64 `yaml:"in,omitempty,flow"`
	Out         int64   `yaml:"out,omitempty"`
	RefillNS    int64   `yaml:"refill_ns,omitempty"`
	FlopsST     int64   `yaml:"flops_st,omitempty"`
	FlopsSMT    int64   `yaml:"flops_smt,omitempty"`
	ThreadSpeed []int64 `yaml:"thread_speed,omitempty,flow"`
}

func (c coreModeFile) IsZero() bool {
	return c.FreqKHz == 0 && c.Qualify == 0 && c.In == nil && c.Out == 0 && c.RefillNS == 0 &&
		c.FlopsST == 0 && c.FlopsSMT == 0 && c.ThreadSpeed == nil
}

// cpuList is a CPU list in the kernel's format; `0-11 by 2` stands for the
// lists 0-1, 2-3, … where several groups may be given.
//
// It holds the text, which is parsed where it is used: a file may name 8192
// CPUs in six bytes as often as it likes, and the first list that names a CPU
// again ends the reading.
type cpuList struct {
	text string
	line int
}

func (l *cpuList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: want a CPU list such as 0-3,8", n.Line)
	}
	l.text, l.line = n.Value, n.Line
	return nil
}

// cpus returns the CPUs of the list, which must name one group.
func (l cpuList) cpus() ([]int, error) {
	cpus, err := cpumask.ParseList(l.text)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", l.line, err)
	}
	return cpus, nil
}

// groups returns the groups that the list names: one, or several by `by`.
func (l cpuList) groups() ([][]int, error) {
	text, by, chunked := strings.Cut(l.text, " by ")
	cpus, err := cpuList{text, l.line}.cpus()
	if err != nil || len(cpus) == 0 {
		return nil, err
	}
	if !chunked {
		return [][]int{cpus}, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(by))
	if err != nil || n < 1 || len(cpus)%n != 0 {
		return nil, fmt.Errorf("line %d: %q: want a number of CPUs per group that divides %d", l.line, clip(l.text), len(cpus))
	}
	return slices.Collect(slices.Chunk(cpus, n)), nil
}

func listOf(cpus []int) cpuList { return cpuList{text: cpumask.FormatList(cpus)} }

func (l cpuList) MarshalYAML() (any, error) { return l.text, nil }

func (l cpuList) IsZero() bool { return l.text == "" }

// FromYAML reads a machine file of the project's schema.
func FromYAML(r io.Reader) (*Machine, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxYAML+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxYAML {
		return nil, fmt.Errorf("read machine file: more than %d MiB", maxYAML>>20)
	}
	var f file
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return nil, yamlError(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("read machine file: more than one YAML document")
	}
	m, err := f.build()
	if err != nil {
		return nil, fmt.Errorf("read machine file: %w", err)
	}
	return m, nil
}

// yamlError makes one line of the decoder's errors and drops Go's type names.
func yamlError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("read machine file: empty")
	}
	text := err.Error()
	if te, ok := errors.AsType[*yaml.TypeError](err); ok {
		text = te.Errors[0]
		if n := len(te.Errors); n > 1 {
			text += fmt.Sprintf(" (and %d more)", n-1)
		}
	}
	text = strings.TrimPrefix(text, "yaml: ")
	if before, after, ok := strings.Cut(text, " in type machine."); ok {
		_, rest, _ := strings.Cut(after, " ")
		text = before + " in the machine schema"
		if rest != "" {
			text += " " + rest
		}
	}
	text = strings.NewReplacer("into machine.file", "where a machine description is wanted", "into machine.", "into ", "\n", " ").Replace(text)
	return fmt.Errorf("read machine file: %s", text)
}
