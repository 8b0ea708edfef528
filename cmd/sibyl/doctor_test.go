// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Verbs that doctor's texts tell to run exist. Its transcripts have the texts.
func TestDoctorNamesVerbsThatExist(t *testing.T) {
	files, err := filepath.Glob("../../host/testdata/doctor/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	known := verbNames(newRoot(Env{}))
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(scheduler\s+)?\bsibyl(?: |\n +)([a-z]+)`).FindAllStringSubmatch(string(text), -1) {
			if m[1] != "" {
				continue // the name of a loaded scheduler
			}
			seen++
			if !slices.Contains(known, m[2]) {
				t.Errorf("%s: no verb for %q", file, m[0])
			}
		}
	}
	if seen == 0 {
		t.Error("no verb is named: the search is wrong")
	}
}
