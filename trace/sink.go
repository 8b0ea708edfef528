// SPDX-License-Identifier: Apache-2.0

package trace

// Sink takes a stream of events: a writer, the validator, an analysis. Begin is
// called once before the first event, End once after the last. A Sink that
// fails returns the error of the first failure from End.
type Sink interface {
	Begin(Header) error
	Event(Event)
	// NewTask announces a task that the header did not have; tasks are
	// numbered in the order of their announcement.
	NewTask(Task)
	End(last int64) error
}
