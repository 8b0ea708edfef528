// SPDX-License-Identifier: Apache-2.0

package machine

import "sibyl/fitted"

// ApplyFitted sets the core-mode parameters that were fitted for the machine's
// model, as far as p has them. Everything else of the description stays.
func (m *Machine) ApplyFitted(p fitted.Set) {
	if m.Model == "" {
		return
	}
	c := &m.CoreMode
	c.FreqKHz = p.Or(m.Model+".clock", c.FreqKHz)
	c.Out = p.Or(m.Model+".mode-out", c.Out)
	c.RefillNS = p.Or(m.Model+".refill", c.RefillNS)
	if first, ok := p.Get(m.Model + ".mode-in-first"); ok {
		c.In = []int64{first, p.Or(m.Model+".mode-in-other", first)}
	}
	two, ok2 := p.Get(m.Model + ".speed-2")
	four, ok4 := p.Get(m.Model + ".speed-4")
	if ok2 && ok4 {
		// Nobody measured three threads: half way between.
		c.ThreadSpeed = []int64{1_000_000, two, (two + four) / 2, four}
	}
}
