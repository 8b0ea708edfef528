// SPDX-License-Identifier: Apache-2.0

package state

// Sync recomputes CPU c's bits in Idle, Avail, IdlePolicy and IdleCore. It must
// be called after every change of c's NrRunning, NrQueued, NrIdle, Curr,
// TTWUPending or Preempted and before a rule reads the bitmaps.
func (s *State) Sync(c int) {
	cpu := &s.CPUs[c]
	idle := cpu.Curr == None && cpu.NrRunning == 0 && !cpu.TTWUPending
	avail := idle && !cpu.Preempted
	s.Idle.Assign(c, idle)
	s.Avail.Assign(c, avail)
	s.IdlePolicy.Assign(c, cpu.NrRunning > 0 && cpu.NrRunning == cpu.NrIdle)
	if avail == cpu.counted {
		return
	}
	cpu.counted = avail
	core := s.H.Core[c]
	before := s.availInCore[core] == s.coreSize[core]
	if avail {
		s.availInCore[core]++
	} else {
		s.availInCore[core]--
	}
	if whole := s.availInCore[core] == s.coreSize[core]; whole != before {
		if whole {
			s.IdleCore.Or(s.IdleCore, s.H.Siblings[c])
		} else {
			s.IdleCore.AndNot(s.IdleCore, s.H.Siblings[c])
		}
	}
}

// RestIdle is is_core_idle(): every SMT sibling of c other than c is Idle. It
// says nothing about c itself.
func (s *State) RestIdle(c int) bool {
	if s.IdleCore.Has(c) {
		return true
	}
	for i, w := range s.H.Siblings[c] {
		w &^= s.Idle[i]
		if c>>6 == i {
			w &^= 1 << (uint(c) & 63)
		}
		if w != 0 {
			return false
		}
	}
	return true
}

// RestAvail is the test of __update_idle_core: every sibling of c other than c
// is Avail.
func (s *State) RestAvail(c int) bool {
	core := s.H.Core[c]
	n := s.availInCore[core]
	if s.CPUs[c].counted {
		n--
	}
	return n == s.coreSize[core]-1
}

// ShareCache is cpus_share_cache().
func (s *State) ShareCache(a, b int) bool { return a == b || s.H.LLCID[a] == s.H.LLCID[b] }

// ShareResources is cpus_share_resources().
func (s *State) ShareResources(a, b int) bool { return a == b || s.H.ShareID[a] == s.H.ShareID[b] }

// HasIdleCores is test_idle_cores(c): the hint of c's sd_balance_shared.
// llc selects the LLC's object instead (editions up to 7.1).
func (s *State) HasIdleCores(c int, llc bool) bool {
	i := s.hintSlot(c, llc)
	return i >= 0 && s.Shared[i].HasIdleCores
}

// SetIdleCores is set_idle_cores(c, v).
func (s *State) SetIdleCores(c int, llc, v bool) {
	if i := s.hintSlot(c, llc); i >= 0 {
		s.Shared[i].HasIdleCores = v
	}
}

func (s *State) hintSlot(c int, llc bool) int {
	if llc {
		return s.H.LLCShared[c]
	}
	return s.H.BalanceShared[c]
}

// EnterIdle is update_idle_core(), called when c switches to its idle task:
// the hint is set if it was clear and the rest of c's core is available.
func (s *State) EnterIdle(c int, llc bool) {
	if s.H.SMTActive && !s.HasIdleCores(c, llc) && s.RestAvail(c) {
		s.SetIdleCores(c, llc, true)
	}
}
