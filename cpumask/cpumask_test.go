// SPDX-License-Identifier: Apache-2.0

package cpumask

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func collect(seq func(func(int) bool)) []int {
	var out []int
	for c := range seq {
		out = append(out, c)
	}
	return out
}

// TestAgainstSets compares every operation with the same one on a plain set.
func TestAgainstSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		draw := func(name string) ([]int, Mask) {
			cpus := rapid.SliceOfDistinct(rapid.IntRange(0, n-1), rapid.ID[int]).Draw(t, name)
			slices.Sort(cpus)
			return cpus, Of(n, cpus...)
		}
		a, ma := draw("a")
		b, mb := draw("b")
		check := func(what string, got Mask, keep func(c int) bool) {
			var want []int
			for c := range n {
				if keep(c) {
					want = append(want, c)
				}
			}
			if !slices.Equal(collect(got.All()), want) {
				t.Fatalf("%s of %v and %v: %v, want %v", what, a, b, got, want)
			}
			if got.Count() != len(want) || got.Empty() != (len(want) == 0) {
				t.Fatalf("%s: count %d, empty %v", what, got.Count(), got.Empty())
			}
		}
		inA := func(c int) bool { return slices.Contains(a, c) }
		inB := func(c int) bool { return slices.Contains(b, c) }
		m := New(n)
		m.And(ma, mb)
		check("and", m, func(c int) bool { return inA(c) && inB(c) })
		if ma.CountAnd(mb) != m.Count() || ma.Intersects(mb) == m.Empty() {
			t.Fatal("CountAnd and Intersects disagree with And")
		}
		m.Or(ma, mb)
		check("or", m, func(c int) bool { return inA(c) || inB(c) })
		if !ma.SubsetOf(m) || (m.SubsetOf(ma) != m.Equal(ma)) {
			t.Fatal("SubsetOf")
		}
		m.AndNot(ma, mb)
		check("and not", m, func(c int) bool { return inA(c) && !inB(c) })

		start := rapid.IntRange(-3, n+70).Draw(t, "start")
		from := start
		if from < 0 || from >= len(ma)*64 {
			from = 0
		}
		var want []int
		for _, c := range append(append([]int(nil), a...), a...) {
			if (len(want) == 0 || len(want) < len(a)) && (c >= from || len(want) > 0 || a[len(a)-1] < from) {
				want = append(want, c)
			}
		}
		if got := collect(ma.Wrap(start)); !slices.Equal(got, want) {
			t.Fatalf("wrap of %v at %d: %v, want %v", a, start, got, want)
		}
		next := -1
		for _, c := range a {
			if c >= start && inB(c) {
				next = c
				break
			}
		}
		if got := ma.NextAnd(mb, start); got != next {
			t.Fatalf("NextAnd(%d) of %v and %v: %d, want %d", start, a, b, got, next)
		}
		first, last := -1, -1
		if len(a) > 0 {
			first, last = a[0], a[len(a)-1]
		}
		if ma.First() != first || ma.Last() != last {
			t.Fatalf("first %d, last %d of %v", ma.First(), ma.Last(), a)
		}
	})
}

// TestLiveWalk: a bit that is cleared during a walk is not visited later.
func TestLiveWalk(t *testing.T) {
	m := Of(128, 1, 5, 70, 100)
	var got []int
	for c := range m.Wrap(5) {
		got = append(got, c)
		m.Clear(70)
		m.Clear(1)
	}
	if !slices.Equal(got, []int{5, 100}) {
		t.Errorf("visited %v, want [5 100]", got)
	}
}

func TestOutsideIsNotIn(t *testing.T) {
	m := Of(10, 9)
	if m.Has(-1) || m.Has(64) || m.Has(1<<40) || m.Next(1000) != -1 || m.NextAnd(m, 1000) != -1 {
		t.Error("CPUs outside of the mask's size must not be in it")
	}
}

func TestParseList(t *testing.T) {
	for _, tc := range []struct{ in, want, err string }{
		{"", "", ""},
		{" \n", "", ""},
		{"0-3,8", "0-3,8", ""},
		{"8,0-3,2", "0-3,8", ""},
		{"0-31:2/8", "0-1,8-9,16-17,24-25", ""},
		{"0-", "", "want a CPU number or a range"},
		{"-3", "", "want a CPU number or a range"},
		{"3-1", "", "range ends before it starts"},
		{"a", "", "want a CPU number or a range"},
		{"1,,2", "", "want a CPU number or a range"},
		{"9000", "", "not below 8192"},
		{"0-4294967296", "", "want a CPU number or a range"},
		{"3:1/2", "", "want first-last:used/group"},
		{"0-3:0/2", "", "want first-last:used/group"},
		{"0-3:3/2", "", "want first-last:used/group"},
		{"0-3:1", "", "want first-last:used/group"},
		{strings.Repeat("x", 500), "", "..."},
	} {
		got, err := ParseList(tc.in)
		if tc.err == "" && (err != nil || FormatList(got) != tc.want) {
			t.Errorf("%q: %v, %v; want %s", tc.in, got, err, tc.want)
		}
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%q: %v; want an error with %q", tc.in, err, tc.err)
		}
	}
	if _, err := Parse(4, "0-4"); err == nil {
		t.Error("CPU 4 is not below 4")
	}
}

// FuzzParseList: what parses is written and parsed again to the same list.
func FuzzParseList(f *testing.F) {
	for _, s := range []string{"0-87,176-263", "0-31:2/8", "1,,", "0-", "-", "99999999999999999999", "0-8191"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseList(s)
		if err != nil {
			return
		}
		again, err := ParseList(FormatList(cpus))
		if err != nil || !slices.Equal(again, cpus) {
			t.Errorf("%q: %v, again %v, %v", s, cpus, again, err)
		}
	})
}
