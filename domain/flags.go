// SPDX-License-Identifier: Apache-2.0

package domain

import "strings"

// flagNames are the kernel's names without the SD_ prefix, by bit.
var flagNames = [...]string{
	"BALANCE_NEWIDLE", "BALANCE_EXEC", "BALANCE_FORK", "BALANCE_WAKE",
	"WAKE_AFFINE", "ASYM_CPUCAPACITY", "ASYM_CPUCAPACITY_FULL",
	"SHARE_CPUCAPACITY", "CLUSTER", "SHARE_LLC", "SERIALIZE",
	"ASYM_PACKING", "PREFER_SIBLING", "NUMA",
}

// defaultFlags are those that sd_init gives to every domain.
const defaultFlags = BalanceNewidle | BalanceExec | BalanceFork | WakeAffine | PreferSibling

// needGroups are the flags with SDF_NEEDS_GROUPS: all but SD_WAKE_AFFINE.
const needGroups = ^WakeAffine

// Names returns the kernel's names of the flags, SD_SHARE_LLC and so on, in
// declaration order.
func (f Flags) Names() []string {
	names := []string{}
	for bit, name := range flagNames {
		if f>>bit&1 != 0 {
			names = append(names, "SD_"+name)
		}
	}
	return names
}

// Has tells whether all flags of g are in f.
func (f Flags) Has(g Flags) bool { return f&g == g }

// String lists the flags without their prefix: "WAKE_AFFINE SHARE_LLC".
func (f Flags) String() string {
	var b strings.Builder
	for bit, name := range flagNames {
		if f>>bit&1 != 0 {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(name)
		}
	}
	return b.String()
}
