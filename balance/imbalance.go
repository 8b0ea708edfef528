// SPDX-License-Identifier: Apache-2.0

package balance

// Migration is enum migration_type: what an imbalance is measured in.
type Migration uint8

// The migration types.
const (
	MigrateLoad Migration = iota
	MigrateUtil
	MigrateTask
	MigrateMisfit
)

// String returns the kernel's name without its prefix migrate_.
func (m Migration) String() string { return [...]string{"load", "util", "task", "misfit"}[m] }
