// SPDX-License-Identifier: Apache-2.0

// Package coremode is the machine that turns a two-thread core between
// single-thread mode (ST), in which one thread has the whole core, and
// two-thread mode (SMT), in which resources are statically partitioned
// (hardware.md 3.2), with the PMU counters of NVIDIA's T410 (hardware.md 1.1).
//
// It is pure: the caller tells when a thread leaves and enters WFI and calls
// Timer when Next falls due.
package coremode

import "sibyl/machine"

// Mode is the state of one core.
type Mode uint8

// The modes of a core. In and Out are the switches between the two steady
// modes; no thread makes progress in them.
const (
	ST Mode = iota
	In
	SMT
	Out
)

// String returns the mode's name as traces and tables print it.
func (m Mode) String() string {
	switch m {
	case ST:
		return "ST"
	case In:
		return "ST->SMT"
	case SMT:
		return "SMT"
	case Out:
		return "SMT->ST"
	}
	return "?"
}

// Params are one machine's mode parameters in both units: cycles for the
// counters, nanoseconds for the clock.
type Params struct {
	FreqKHz   int64
	Qualify   int64 // ns of unbroken WFI before Out begins
	In        []int64
	InCycles  []int64
	Out       int64
	OutCycles int64
}

// NewParams converts a machine's parameters. ok is false if the machine's
// cores have no modes.
func NewParams(c machine.CoreMode) (p Params, ok bool) {
	if c.Qualify <= 0 || c.FreqKHz <= 0 {
		return Params{}, false
	}
	p = Params{
		FreqKHz:   c.FreqKHz,
		Qualify:   cyclesToNS(c.Qualify, c.FreqKHz),
		Out:       cyclesToNS(c.Out, c.FreqKHz),
		OutCycles: c.Out,
		InCycles:  c.In,
	}
	for _, cycles := range c.In {
		p.In = append(p.In, cyclesToNS(cycles, c.FreqKHz))
	}
	if len(p.In) == 0 {
		p.In, p.InCycles = []int64{0}, []int64{0}
	}
	return p, true
}

func cyclesToNS(cycles, kHz int64) int64 { return (cycles*1_000_000 + kHz/2) / kHz }

func nsToCycles(ns, kHz int64) int64 { return (ns*kHz + 500_000) / 1_000_000 }

// Counters are the TMS_* events, summed over the core's threads.
type Counters struct {
	STToSMT       int64 // 0x1f2: completed, by the active thread
	SMTToST       int64 // 0x1f3: completed, by the thread not in WFI
	Aborted       int64 // 0x1f4: SMT->ST given up because the other thread woke
	STToSMTCycles int64 // 0x1f0: counted by both threads
	SMTToSTCycles int64 // 0x1f1: aborted attempts included, by one thread
	// SMTTime is the time in SMT mode with at least one thread active, ns.
	// It is not a PMU event; verdicts use it.
	SMTTime int64
}

// Never is the Next of a core that will not change by itself.
const Never int64 = 1<<63 - 1

// Core is one core. The zero value is a core with both threads in WFI.
type Core struct {
	Mode   Mode
	Next   int64 // when Timer must be called; Never if not at all
	Counts Counters

	active  uint32   // bit per thread: not in WFI
	since   [2]int64 // when each thread entered WFI
	entered int64    // when the present mode began
	cause   int      // thread whose wakeup began In
	init    bool
}

// Active tells whether thread pe is out of WFI.
func (c *Core) Active(pe int) bool { return c.active>>uint(pe)&1 != 0 }

// Wake tells that thread pe left WFI at now. It returns whether the mode
// changed. Waking a thread that is active is no event.
func (c *Core) Wake(p *Params, pe int, now int64) bool {
	if !c.init {
		c.init, c.Next = true, Never
	}
	if c.Active(pe) {
		return false
	}
	alone := c.active == 0
	c.active |= 1 << uint(pe)
	switch {
	case alone:
		return false // a core with both threads in WFI is in ST
	case c.Mode == ST:
		c.cause = pe
		c.enter(In, now)
		c.Next = now + p.In[min(pe, len(p.In)-1)]
		return true
	case c.Mode == Out:
		c.Counts.Aborted++
		c.Counts.SMTToSTCycles += nsToCycles(now-c.entered, p.FreqKHz)
		c.enter(SMT, now)
		c.Next = Never
		return true
	case c.Mode == SMT:
		c.Next = Never // the qualification interval is broken
	}
	return false
}

// Sleep tells that thread pe entered WFI at now. It returns whether the mode
// changed. With both threads in WFI the core drops to ST without counting.
func (c *Core) Sleep(p *Params, pe int, now int64) bool {
	if !c.Active(pe) {
		return false
	}
	c.active &^= 1 << uint(pe)
	c.since[pe&1] = now
	if c.active == 0 {
		changed := c.Mode != ST
		c.enter(ST, now)
		c.Next = Never
		return changed
	}
	if c.Mode == SMT {
		c.Next = now + p.Qualify
	}
	return false
}

// Timer makes the change that falls due at Next. roundTrip is true when the
// core has just completed a whole excursion to SMT and back.
func (c *Core) Timer(p *Params, now int64) (roundTrip bool) {
	c.Next = Never
	switch c.Mode {
	case In:
		c.Counts.STToSMT++
		c.Counts.STToSMTCycles += 2 * p.InCycles[min(c.cause, len(p.InCycles)-1)]
		c.enter(SMT, now)
		if c.active&(c.active-1) == 0 {
			// The other thread went back to WFI during the switch; its
			// qualification began then.
			asleep := 0
			if c.Active(0) {
				asleep = 1
			}
			c.Next = max(now, c.since[asleep]+p.Qualify)
		}
	case SMT:
		c.enter(Out, now)
		c.Next = now + p.Out
	case Out:
		c.Counts.SMTToST++
		c.Counts.SMTToSTCycles += p.OutCycles
		c.enter(ST, now)
		return true
	}
	return false
}

func (c *Core) enter(m Mode, now int64) {
	if c.Mode == SMT {
		c.Counts.SMTTime += now - c.entered
	}
	c.Mode, c.entered = m, now
}
