// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// progress shows one line on a terminal that says how far long work is. Its
// zero value, and the one of an Env without a terminal, shows nothing. Calls
// must not overlap, as those of experiment.Run do not.
type progress struct {
	w     io.Writer // nil: shows nothing
	width int
	what  string
	now   func() time.Time
	start time.Time
	last  time.Time
	shown bool
}

// redraw is how often the line changes at most.
const redraw = 100 * time.Millisecond

// progress begins a progress line; what names the things that are counted.
func (e Env) progress(what string) *progress {
	p := &progress{what: what, now: time.Now}
	if e.Width > 0 {
		p.w, p.width = e.Stderr, e.Width
	}
	p.start = p.now()
	return p
}

// update shows that done of total things are done.
func (p *progress) update(done, total int) {
	if p.w == nil {
		return
	}
	t := p.now()
	if p.shown && done < total && t.Sub(p.last) < redraw {
		return
	}
	p.last, p.shown = t, true
	line := progressLine(p.what, done, total, t.Sub(p.start))
	if n := utf8.RuneCountInString(line); n >= p.width { // a full line would scroll
		line = string([]rune(line)[:max(0, p.width-1)])
	}
	_, _ = fmt.Fprintf(p.w, "\r%s\x1b[K", line) // a lost line of progress is no error
}

// end removes the line.
func (p *progress) end() {
	if p.w != nil && p.shown {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// progressLine says how much is done, how fast, and how long the rest takes at
// that rate.
func progressLine(what string, done, total int, spent time.Duration) string {
	s := fmt.Sprintf("%d/%d %s", done, total, what)
	if done <= 0 || spent <= 0 {
		return s
	}
	rate := float64(done) / spent.Seconds()
	if rate >= 1 {
		s += fmt.Sprintf(", %.1f/s", rate)
	} else {
		s += fmt.Sprintf(", %.1f s each", 1/rate)
	}
	if left := total - done; left > 0 {
		s += fmt.Sprintf(", %v left", (time.Duration(float64(left)/rate*float64(time.Second)) + time.Second - 1).Truncate(time.Second))
	}
	return s
}
