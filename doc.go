// SPDX-License-Identifier: Apache-2.0

// Package sibyl is the root of a deterministic simulator of Linux task
// placement on SMT and asymmetric CPUs. It has no code of its own: its tests
// hold what is true of the whole repository (docs/architecture.md). The command
// is cmd/sibyl.
package sibyl
