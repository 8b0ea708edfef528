// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sibyl/state"
)

const (
	maxLine = 1 << 20
	// maxLoaded bounds the CPU entries that ReadText keeps: about 3,000
	// decisions of a machine with 352 CPUs.
	maxLoaded = 1 << 20
	maxNodes  = 1024
	maxSteps  = 1 << 16
)

// Reader reads the text form one decision at a time. It is not safe for
// concurrent use.
type Reader struct {
	Header Header

	sc      *bufio.Scanner
	line    int
	pending string // a line that was read ahead
	have    bool
}

// NewReader reads the header of a text log.
func NewReader(r io.Reader) (*Reader, error) {
	rd := &Reader{sc: bufio.NewScanner(r)}
	rd.sc.Buffer(nil, maxLine)
	if err := rd.readHeader(); err != nil {
		return nil, rd.wrap(err)
	}
	return rd, nil
}

// ReadText reads a whole text log. Logs too long to be held are refused; they
// are read with a Reader.
func ReadText(r io.Reader) (*Log, error) {
	rd, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	l := &Log{Header: rd.Header}
	for loaded := 0; ; {
		d, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return nil, err
		}
		if loaded += len(d.Before.CPUs); loaded > maxLoaded {
			return nil, rd.wrap(errors.New("too many decisions to hold (read them one by one)"))
		}
		l.Decisions = append(l.Decisions, d)
	}
}

func (rd *Reader) wrap(err error) error {
	return fmt.Errorf("read decisions: line %d: %w", rd.line, err)
}

// next returns the next line that is not blank or a comment; false at the end.
func (rd *Reader) next() (string, bool, error) {
	if rd.have {
		rd.have = false
		return rd.pending, true, nil
	}
	for rd.sc.Scan() {
		rd.line++
		if s := strings.TrimSpace(rd.sc.Text()); s != "" && s[0] != '#' {
			return s, true, nil
		}
	}
	if err := rd.sc.Err(); err != nil {
		rd.line++
		return "", false, err
	}
	return "", false, nil
}

func (rd *Reader) unread(s string) { rd.pending, rd.have = s, true }

// Next reads one decision. The error is io.EOF at the end.
func (rd *Reader) Next() (Decision, error) {
	s, ok, err := rd.next()
	if err != nil {
		return Decision{}, rd.wrap(err)
	}
	if !ok {
		return Decision{}, io.EOF
	}
	var d Decision
	seq, ok := strings.CutPrefix(s, "decision ")
	if d.Seq, err = strconv.ParseInt(seq, 10, 64); err != nil || !ok {
		return Decision{}, rd.wrap(fmt.Errorf("want decision and its number, not %q", clip(s)))
	}
	d.Request.Waker = state.None
	d.Before.Idle.Last, d.After.Waker.Last = -1, -1
	for {
		s, ok, err := rd.next()
		if err == nil && ok && !strings.HasPrefix(s, "decision ") {
			if err = rd.blockLine(&d, s); err == nil {
				continue
			}
		}
		if err != nil {
			return Decision{}, rd.wrap(err)
		}
		if ok {
			rd.unread(s)
		}
		if d.Before.CPUs == nil {
			return Decision{}, rd.wrap(fmt.Errorf("decision %d has no system line", d.Seq))
		}
		return d, nil
	}
}

// indexed reads the number that a line begins with, below n.
func indexed(rest string, n int) (int, []string, error) {
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0, nil, errors.New("want a number after the line's first word")
	}
	i, err := strconv.Atoi(words[0])
	if err != nil || i < 0 || i >= n {
		return 0, nil, fmt.Errorf("number %q: want 0 to %d", clip(words[0]), n-1)
	}
	return i, words[1:], nil
}

func setAll(fs []field, words []string) error {
	for _, w := range words {
		if err := setField(fs, w); err != nil {
			return err
		}
	}
	return nil
}

// quoted takes a Go string literal off the front of s.
func quoted(s string) (value, rest string, err error) {
	q, err := strconv.QuotedPrefix(s)
	if err == nil {
		value, err = strconv.Unquote(q)
	}
	if err != nil {
		return "", "", fmt.Errorf("want a quoted string at %q", clip(s))
	}
	return value, strings.TrimLeft(s[len(q):], " "), nil
}
