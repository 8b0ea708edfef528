// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"sibyl/cpumask"
)

// parseMask reads a CPU mask as the kernel's %*pb prints it: groups of up to
// eight hexadecimal digits, the most significant first, separated by commas
// (`00000000,00000101`). hwloc's form, with 0x before each group and empty
// groups for zero, is read as well. The result is ascending.
func parseMask(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, fmt.Errorf("parse CPU mask: empty")
	}
	if strings.Contains(s, "...") {
		return nil, fmt.Errorf("parse CPU mask %q: the set is infinite", clip(s))
	}
	var cpus []int
	words := strings.Split(s, ",")
	for i := len(words) - 1; i >= 0; i-- {
		word := strings.TrimPrefix(words[i], "0x")
		if word == "" && len(words) > 1 {
			continue
		}
		v, err := strconv.ParseUint(word, 16, 32)
		if err != nil || strings.ContainsAny(word, "+-_") {
			return nil, fmt.Errorf("parse CPU mask %q: item %q: want up to 8 hexadecimal digits", clip(s), clip(words[i]))
		}
		base := 32 * (len(words) - 1 - i)
		for ; v != 0; v &= v - 1 {
			c := base + bits.TrailingZeros64(v)
			if c >= cpumask.MaxCPUs {
				return nil, fmt.Errorf("parse CPU mask %q: CPU %d is not below %d", clip(s), c, cpumask.MaxCPUs)
			}
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// clip bounds what an error quotes of its input.
func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}
