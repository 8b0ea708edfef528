// SPDX-License-Identifier: Apache-2.0

package runqueue

// Slice protection (RUN_TO_PARITY): a picked entity keeps the CPU, though
// another may have the earlier deadline, as long as it is eligible and has not
// reached VProt.

// protected is protect_slice.
func protected(e *Entity) bool { return e.VRuntime-e.VProt < 0 }

// protect is set_protect_slice for the entity c that was just made current: up
// to its deadline, or if a shorter request is queued to where c stops being
// eligible (up to 7.2: to the end of a slice that short).
func (q *Queue) protect(c *Entity) {
	c.VProt = c.Deadline
	if q.rules.ProtectToDeadline {
		return
	}
	short := q.minSlice(c.Slice)
	if short == c.Slice {
		return
	}
	end := c.VRuntime + vdelta(short, c.Weight)
	if !q.rules.ProtectOwnTime {
		end = q.ineligibleAt()
	}
	if end-c.VProt < 0 {
		c.VProt = end
	}
}

// shorten is update_protect_slice: since somebody waits, the current entity c
// goes on for no more than the shortest request, counted from V if c is ahead
// of it (up to 7.2: from its own time).
func (q *Queue) shorten(c *Entity) {
	if q.rules.ProtectToDeadline {
		return
	}
	from := c.VRuntime
	if !q.rules.ProtectOwnTime {
		if v := q.AvgVRuntime(); v-from < 0 {
			from = v
		}
	}
	if end := from + vdelta(q.minSlice(c.Slice), c.Weight); end-c.VProt < 0 {
		c.VProt = end
	}
}

// unprotect is cancel_protect_slice.
func unprotect(c *Entity) {
	if protected(c) {
		c.VProt = c.VRuntime
	}
}
