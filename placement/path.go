// SPDX-License-Identifier: Apache-2.0

package placement

// Path is the list of rules that led to one decision.
type Path struct {
	Steps []Step
}

// Step is one rule's answer.
type Step struct {
	Rule Rule
	CPU  int // the CPU that the rule looked at or chose, -1 for none
	// Yes tells whether the rule accepted.
	Yes bool
	// Why is a short reason in words that name the kernel's functions.
	Why string
}

// Rule identifies a rule.
type Rule uint8
