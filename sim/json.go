// SPDX-License-Identifier: Apache-2.0

package sim

import "encoding/json"

// MarshalJSON gives the form that scripts rely on (`simulate --json`): seed,
// duration_ns, metrics, counters and events; keys may be added, never renamed.
func (r *Result) MarshalJSON() ([]byte, error) {
	type metric struct {
		Value float64 `json:"value"`
		Unit  string  `json:"unit"`
	}
	metrics := map[string]metric{} // encoding/json sorts the keys
	for _, m := range r.Metrics {
		metrics[m.Name] = metric{m.Value, m.Unit}
	}
	c := &r.Counters
	counters := map[string]int64{
		"st_to_smt_completed": c.Modes.STToSMT, "smt_to_st_completed": c.Modes.SMTToST,
		"smt_to_st_aborted": c.Modes.Aborted, "st_to_smt_cycles": c.Modes.STToSMTCycles,
		"smt_to_st_cycles": c.Modes.SMTToSTCycles, "smt_time_ns": c.Modes.SMTTime,
		"wakeups": c.Wakeups, "forks": c.Forks, "switches": c.Switches, "migrations": c.Migrations,
		"pulls": c.Pulls, "active_balances": c.Active, "nohz_kicks": c.Kicks,
		"balance_passes": c.Passes, "ticks": c.Ticks, "noise": c.Noise, "other_share_ppm": c.OtherShare,
	}
	type task struct {
		Name    string `json:"name"`
		CPU     int    `json:"cpu"`
		FirstNS int64  `json:"first_ns"`
		OtherNS int64  `json:"other_ns"`
	}
	tasks := make([]task, 0, len(r.Tasks))
	for _, t := range r.Tasks {
		tasks = append(tasks, task(t))
	}
	warnings := r.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	return json.Marshal(struct {
		Seed       uint64            `json:"seed"`
		DurationNS int64             `json:"duration_ns"`
		Metrics    map[string]metric `json:"metrics"`
		Counters   map[string]int64  `json:"counters"`
		Events     int64             `json:"events"`
		Tasks      []task            `json:"tasks"`
		Warnings   []string          `json:"warnings"`
	}{r.Seed, r.DurationNS, metrics, counters, r.Events, tasks, warnings})
}
