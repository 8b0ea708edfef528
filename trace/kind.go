// SPDX-License-Identifier: Apache-2.0

package trace

import "strconv"

// slot is a field of Event.
type slot uint8

const (
	taskSlot   slot = iota + 1 // a task: Task
	prevSlot                   // a task or -1: Prev
	targetSlot                 // a CPU: Target
	cpuArgSlot                 // a CPU: Arg
	argSlot                    // a number: Arg
	modeSlot                   // a mode's name: Arg
	detailSlot                 // text: Detail
)

// field is one field that a kind of event uses, and its name in text.
type field struct {
	key  string
	slot slot
	// none tells that -1 stands for none: the idle task, no waker, no CPU.
	none bool
}

// kinds has each kind's name in text and the fields that it uses, in the order
// of the text.
var kinds = [nrKinds]struct {
	name   string
	fields []field
}{
	Switch:   {"switch", []field{{"prev", prevSlot, true}, {"next", taskSlot, true}, {"runnable", argSlot, false}}},
	Waking:   {"waking", []field{{"task", taskSlot, false}, {"by", prevSlot, true}, {"from", targetSlot, true}}},
	Wakeup:   {"wakeup", []field{{"task", taskSlot, false}, {"on", targetSlot, false}}},
	Fork:     {"fork", []field{{"task", taskSlot, false}, {"by", prevSlot, true}, {"on", targetSlot, false}}},
	Migrate:  {"migrate", []field{{"task", taskSlot, false}, {"from", cpuArgSlot, true}, {"to", targetSlot, false}}},
	Exit:     {"exit", []field{{"task", taskSlot, false}}},
	Decision: {"decision", []field{{"task", taskSlot, false}, {"by", prevSlot, true}, {"prev", cpuArgSlot, true}, {"chosen", targetSlot, false}, {"path", detailSlot, false}}},
	Mode:     {"mode", []field{{"is", modeSlot, false}}},
	IRQEnter: {"irq-enter", []field{{"name", detailSlot, false}}},
	IRQExit:  {"irq-exit", []field{{"name", detailSlot, false}}},
	Kick:     {"kick", []field{{"target", targetSlot, false}, {"flags", argSlot, false}}},
	Balance:  {"balance", []field{{"from", targetSlot, false}, {"tasks", argSlot, false}}},
	Lost:     {"lost", []field{{"events", argSlot, false}}},
}

// String returns the kind's name in text.
func (k Kind) String() string {
	if k == 0 || k >= nrKinds {
		return "kind " + strconv.Itoa(int(k))
	}
	return kinds[k].name
}

// get returns a number of an event.
func (e *Event) get(s slot) int64 {
	switch s {
	case taskSlot:
		return int64(e.Task)
	case prevSlot:
		return int64(e.Prev)
	case targetSlot:
		return int64(e.Target)
	default:
		return e.Arg
	}
}

// set sets a number of an event. v fits the slot.
func (e *Event) set(s slot, v int64) {
	switch s {
	case taskSlot:
		e.Task = int32(v)
	case prevSlot:
		e.Prev = int32(v)
	case targetSlot:
		e.Target = int32(v)
	default:
		e.Arg = v
	}
}

// bits is how many bits a slot's number has.
func (s slot) bits() int {
	switch s {
	case taskSlot, prevSlot, targetSlot, cpuArgSlot:
		return 32
	default:
		return 64
	}
}

// Used returns the event with the fields zero that its kind does not use.
func (e Event) Used() Event {
	u := Event{Time: e.Time, CPU: e.CPU, Kind: e.Kind}
	if e.Kind == 0 || e.Kind >= nrKinds {
		return u
	}
	for _, f := range kinds[e.Kind].fields {
		if f.slot == detailSlot {
			u.Detail = e.Detail
		} else {
			u.set(f.slot, e.get(f.slot))
		}
	}
	return u
}
