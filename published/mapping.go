// SPDX-License-Identifier: Apache-2.0

package published

import (
	"bytes"
	_ "embed"
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed mapping.yaml
var mappingYAML []byte

// Role is what a published row is to the model.
type Role string

// The roles that `reproduce` prints apart.
const (
	Fitted     Role = "fitted"
	Input      Role = "input"
	Derived    Role = "derived"
	Ordinal    Role = "ordinal"
	Predicted  Role = "predicted"
	Unmodelled Role = "unmodelled"
)

// Setup is a run of the simulator that published rows are compared with.
type Setup struct {
	Machine  string   `yaml:"machine"`
	Workload string   `yaml:"workload"`
	Policy   string   `yaml:"policy"`
	Era      string   `yaml:"era"`
	Set      []string `yaml:"set"`
	// Length is the published length of one run in seconds, an input: counts
	// per run are rates times it. 0: the simulated length.
	Length float64 `yaml:"length"`
	Seeds  int     `yaml:"seeds"`
	// Noise prefixes the parameters of the noise rates, where they are not
	// the machine's own.
	Noise string `yaml:"noise"`
}

// Case says what a published configuration is in the simulator.
type Case struct {
	Table         string          `yaml:"table"`
	Workload      string          `yaml:"workload"`
	Configuration string          `yaml:"configuration"`
	Run           string          `yaml:"run"`
	Roles         map[string]Role `yaml:"roles"` // by metric; never ranged over
	Tolerance     float64         `yaml:"tolerance"`
	Why           string          `yaml:"why"`
}

// Mapping is the whole data file.
type Mapping struct {
	Runs map[string]Setup `yaml:"runs"` // looked up by name, never ranged over
	Rows []Case           `yaml:"rows"`
}

// Map returns the embedded mapping.
func Map() (*Mapping, error) { return parseMapping(mappingYAML) }

func parseMapping(data []byte) (*Mapping, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var m Mapping
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("read mapping of published rows: %w", err)
	}
	for _, c := range m.Rows {
		if _, ok := m.Runs[c.Run]; !ok {
			return nil, fmt.Errorf("read mapping of published rows: %s %s: run %q is not described", c.Table, c.Configuration, c.Run)
		}
	}
	return &m, nil
}

// find returns the case of a published row, nil if the model has none.
func (m *Mapping) find(r Row) *Case {
	for i := range m.Rows {
		c := &m.Rows[i]
		if c.Table == r.Table && c.Configuration == r.Configuration && (c.Workload == "" || c.Workload == r.Workload) {
			return c
		}
	}
	return nil
}
