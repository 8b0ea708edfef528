// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"io"
	"strings"

	"sibyl/placement"
	"sibyl/state"
)

// Explain writes for people why the task went where it went: the request, the
// rules in order, the result and what the decision left behind.
func (d *Decision) Explain(w io.Writer) error {
	var b strings.Builder
	r := &d.Request
	fmt.Fprintf(&b, "decision %d at %d.%06d s: %s %s (%s)\n", d.Seq, r.Now/1e9, r.Now%1e9/1e3, d.verb(), d.taskName(int64(r.Task)), r.Flags)
	fmt.Fprintf(&b, "prev CPU %d, decided on CPU %d by %s", r.Prev, r.Here, d.wakerName())
	if t := d.task(int64(r.Task)); t != nil {
		fmt.Fprintf(&b, "; util %d, recent CPU %d, %d allowed CPUs", max(t.Util, t.UtilEst), t.RecentUsed, len(t.Allowed))
	}
	b.WriteByte('\n')
	if err := d.Path.Format(&b); err != nil {
		return err
	}
	fmt.Fprintf(&b, "CPU %d", d.Result)
	if t := d.task(int64(r.Task)); t != nil && t.RecentUsed != d.After.RecentUsed {
		fmt.Fprintf(&b, "; recent_used_cpu %d -> %d", t.RecentUsed, d.After.RecentUsed)
	}
	left := map[int]bool{}
	for _, i := range d.After.IdleCores {
		left[i] = true
	}
	for i := range d.Before.Shared {
		if d.Before.Shared[i].HasIdleCores && !left[i] {
			fmt.Fprintf(&b, "; has_idle_cores of shared object %d cleared", i)
		}
	}
	b.WriteByte('\n')
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write decision %d: %w", d.Seq, err)
	}
	return nil
}

func (d *Decision) verb() string {
	switch f := d.Request.Flags; {
	case f&placement.Fork != 0:
		return "fork of"
	case f&placement.Exec != 0:
		return "exec of"
	}
	return "wakeup of"
}

func (d *Decision) wakerName() string {
	who := "the idle task"
	if d.Request.Waker != state.None {
		who = d.taskName(int64(d.Request.Waker))
	}
	if !d.Request.InTask {
		who = "an interrupt over " + who
	}
	return who
}

func (d *Decision) taskName(id int64) string {
	if t := d.task(id); t != nil && t.Name != "" {
		return fmt.Sprintf("%s (task %d)", t.Name, id)
	}
	return fmt.Sprintf("task %d", id)
}

// task returns the description of a task, nil if there is none.
func (d *Decision) task(id int64) *Task {
	for i := range d.Before.Tasks {
		if d.Before.Tasks[i].ID == id {
			return &d.Before.Tasks[i]
		}
	}
	return nil
}
