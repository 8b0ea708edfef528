// SPDX-License-Identifier: Apache-2.0

package balance

// GroupType is enum group_type: how busy a group is, ascending by how urgently
// it needs to give tasks away.
type GroupType uint8

// The group types. The kernel's llc_balance, between imbalanced and
// overloaded, is left out.
const (
	HasSpare GroupType = iota
	FullyBusy
	MisfitTask
	SMTBalance
	AsymPacking
	Imbalanced
	Overloaded
)

// String returns the kernel's name without its prefix group_.
func (t GroupType) String() string {
	return [...]string{"has_spare", "fully_busy", "misfit_task", "smt_balance", "asym_packing", "imbalanced", "overloaded"}[t]
}
