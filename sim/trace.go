// SPDX-License-Identifier: Apache-2.0

package sim

import "sibyl/trace"

// setupTrace tells the sink what the events will refer to. Tasks that are
// created later are announced by their Fork event.
func (s *Sim) setupTrace() error {
	if s.cfg.Trace == nil {
		return nil
	}
	h := trace.Header{Source: "sibyl simulate", NrCPUs: s.h.NrCPUs, Core: s.h.Core, Start: s.now}
	for c := range s.cfg.Machine.CPUs {
		h.Thread = append(h.Thread, s.cfg.Machine.CPUs[c].Thread)
	}
	return s.cfg.Trace.Begin(h)
}
