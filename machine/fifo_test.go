// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFIFOInTree: a FIFO in a copied tree is refused, not waited for.
func TestFIFOInTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "devices/system/cpu")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "online"), 0o666); err != nil {
		t.Skip("no FIFOs here:", err)
	}
	_, err := Load(strings.TrimSuffix(dir, "/devices/system/cpu"))
	if err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v, want a refusal", err)
	}
}
