// SPDX-License-Identifier: Apache-2.0

package trace

import "errors"

// Sink takes a stream of events: a writer, the validator, an analysis. Begin is
// called once before the first event, End once after the last. A Sink that
// fails returns the error of the first failure from End. Sinks are not safe for
// concurrent use.
type Sink interface {
	Begin(Header) error
	Event(Event)
	// NewTask announces a task that the header did not have; tasks are
	// numbered in the order of their announcement.
	NewTask(Task)
	// End ends the stream at time last, in ns.
	End(last int64) error
}

// Tee is a Sink that passes a stream to several, in order: a writer and the
// Validator, say.
type Tee []Sink

// Begin returns the first error and passes nothing on after it.
func (t Tee) Begin(h Header) error {
	for _, s := range t {
		if err := s.Begin(h); err != nil {
			return err
		}
	}
	return nil
}

// Event passes e on.
func (t Tee) Event(e Event) {
	for _, s := range t {
		s.Event(e)
	}
}

// NewTask passes task on.
func (t Tee) NewTask(task Task) {
	for _, s := range t {
		s.NewTask(task)
	}
}

// End ends all sinks and joins their errors.
func (t Tee) End(last int64) error {
	var all error
	for _, s := range t {
		all = errors.Join(all, s.End(last))
	}
	return all
}
