// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sibyl/cpumask"
	"sibyl/machine"
)

// wrap prints text behind first, broken between words before column 80, later
// lines behind rest. A word that is longer than a line is broken too.
func wrap(w io.Writer, first, rest, text string) {
	line := first
	fresh := true
	for word := range strings.FieldsSeq(text) {
		for {
			room := columns - utf8.RuneCountInString(line)
			if !fresh {
				room--
			}
			n := utf8.RuneCountInString(word)
			if n <= room {
				if !fresh {
					line += " "
				}
				line += word
				fresh = false
				break
			}
			if fresh {
				cut := runes(word, max(1, room))
				line += word[:cut]
				word = word[cut:]
			}
			fmt.Fprintln(w, line)
			line, fresh = rest, true
		}
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// runes returns the length in bytes of the first n runes of s.
func runes(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// wrapList prints a CPU list behind a label, broken after commas.
func wrapList(w io.Writer, label, list string) {
	indent := strings.Repeat(" ", len(label))
	for i, line := range breakList(list, columns-len(label)) {
		if i > 0 {
			label = indent
		}
		fmt.Fprintln(w, label+line)
	}
}

// breakList cuts a CPU list after commas into lines of at most width columns.
func breakList(list string, width int) []string {
	var lines []string
	for len(list) > width {
		cut := strings.LastIndexByte(list[:width], ',') + 1
		if cut == 0 {
			break
		}
		lines = append(lines, list[:cut])
		list = list[cut:]
	}
	return append(lines, list)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// index prints a group number, ? where it is unknown.
func index(i int) string {
	if i < 0 {
		return "?"
	}
	return fmt.Sprint(i)
}

// distinct prints how many groups the CPUs are in, ? where one is unknown.
func distinct(m *machine.Machine, set cpumask.Mask, index func(*machine.CPU) int) string {
	seen := map[int]bool{}
	for c := range set.All() {
		i := index(&m.CPUs[c])
		if i < 0 {
			return "?"
		}
		seen[i] = true
	}
	return fmt.Sprint(len(seen))
}

// span prints the smallest and largest value of the CPUs as "lo..hi".
func span(m *machine.Machine, set cpumask.Mask, value func(*machine.CPU) int) string {
	lo, hi, first := 0, 0, true
	for c := range set.All() {
		v := value(&m.CPUs[c])
		if first {
			lo, hi, first = v, v, false
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	if lo == hi {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d..%d", lo, hi)
}

// typeOf names a kind of core in eight columns, or says that the CPUs are
// offline.
func typeOf(k machine.Kind, online bool) string {
	if online {
		if part, ok := strings.CutPrefix(k.Type, "midr "); ok {
			return clip(part[strings.LastIndexByte(part, '/')+1:], 8) // the part number
		}
		return clip(k.Type, 8)
	}
	return "offline"
}

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) > n {
		return s[:runes(s, n-1)] + "…"
	}
	return s
}

// threadsOf returns for each CPU how many possible CPUs its core has.
func threadsOf(m *machine.Machine) []int {
	count := map[int]int{}
	for c := range m.CPUs {
		if m.CPUs[c].Possible {
			count[m.CPUs[c].Core]++
		}
	}
	threads := make([]int, len(m.CPUs))
	for c := range m.CPUs {
		threads[c] = 1
		if m.CPUs[c].Core >= 0 {
			threads[c] = count[m.CPUs[c].Core]
		}
	}
	return threads
}

// coreLists returns for each CPU the list of its core's possible CPUs.
func coreLists(m *machine.Machine) []string {
	cores := map[int][]int{}
	for c := range m.CPUs {
		if m.CPUs[c].Possible && m.CPUs[c].Core >= 0 {
			cores[m.CPUs[c].Core] = append(cores[m.CPUs[c].Core], c)
		}
	}
	lists := make([]string, len(m.CPUs))
	text := map[int]string{}
	for c := range m.CPUs {
		core := m.CPUs[c].Core
		if core < 0 {
			lists[c] = cpumask.FormatList([]int{c})
			continue
		}
		if text[core] == "" {
			text[core] = cpumask.FormatList(cores[core])
		}
		lists[c] = text[core]
	}
	return lists
}

// spanList remembers the text of masks by their storage, since the spans of a
// hierarchy are shared.
type spanList map[*uint64]string

func newSpanList() spanList { return spanList{} }

func (l spanList) text(m cpumask.Mask) string {
	if len(m) == 0 {
		return ""
	}
	s, ok := l[&m[0]]
	if !ok {
		s = m.String()
		l[&m[0]] = s
	}
	return s
}
