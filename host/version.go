// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a kernel version. The zero value is an unknown one.
type Version struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
	Patch int `json:"patch"`
	// Extra is what follows the numbers: a distribution's own count, -rc4.
	Extra string `json:"extra"`
}

// ParseVersion parses a release such as 7.3.4+deb14-cloud-amd64, 7.3-rc2 or
// 6.12.117. An error names the release.
func ParseVersion(release string) (Version, error) {
	bad := func() (Version, error) {
		if len(release) > 80 {
			release = release[:80] + "…"
		}
		return Version{}, fmt.Errorf("parse kernel release %q: want MAJOR.MINOR and what follows, such as 7.3.4-arm64", release)
	}
	var n [3]int
	rest := release
	for i := range n {
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		v, err := strconv.Atoi(rest[:end])
		if err != nil || v > 1<<16 {
			return bad() // no digits, or too many
		}
		n[i], rest = v, rest[end:]
		if !strings.HasPrefix(rest, ".") || i == 2 || len(rest) < 2 || rest[1] < '0' || rest[1] > '9' {
			if i == 0 {
				return bad()
			}
			break
		}
		rest = rest[1:]
	}
	if n[0] == 0 {
		return bad()
	}
	return Version{n[0], n[1], n[2], rest}, nil
}

// Known tells whether there is a version.
func (v Version) Known() bool { return v.Major != 0 }

// AtLeast tells whether v is major.minor or later. A release candidate of
// major.minor counts as it: features come before the first candidate.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Distribution tells whether somebody who builds kernels for others may have
// added changes: a suffix besides -rcN is all that can be seen.
func (v Version) Distribution() bool {
	s, ok := strings.CutPrefix(v.Extra, "-rc")
	if !ok {
		return v.Extra != "" && v.Extra != "+"
	}
	return strings.TrimRight(strings.TrimLeft(s, "0123456789"), "+") != ""
}

// String returns major.minor.
func (v Version) String() string {
	if !v.Known() {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}
