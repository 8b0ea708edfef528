// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// svg collects the elements of one drawing. All coordinates are integers, so
// that the bytes are the same everywhere.
type svg struct{ b bytes.Buffer }

// escape makes text safe in element content and attribute values.
func escape(s string) string {
	var b strings.Builder
	// EscapeText only fails if the writer does.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

func (s *svg) rect(class string, x, y, w, h, round int) {
	fmt.Fprintf(&s.b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\"/>\n", class, x, y, w, h, round)
}

func (s *svg) text(class string, x, y int, text string) {
	fmt.Fprintf(&s.b, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, escape(text))
}

// textWidth bounds the width of text in the drawing's sans-serif font, whose
// characters are taken as 0.62 of the size, a wide one's proportion.
func textWidth(text string, size int) int {
	return (utf8.RuneCountInString(text)*size*62 + 99) / 100
}

// fit cuts text to the width.
func fit(text string, size, width int) string {
	return clip(text, max(1, width*100/(size*62)))
}

// lines breaks text between words into lines of at most width.
func lines(text string, size, width int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case textWidth(line+" "+word, size) <= width:
			line += " " + word
		default:
			out = append(out, fit(line, size, width))
			line = word
		}
	}
	if line != "" {
		out = append(out, fit(line, size, width))
	}
	return out
}
