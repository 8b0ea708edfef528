// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entry is a file of an archive, or a link if it has a target.
type entry struct {
	name, body, target string
	hard               bool
}

func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.body)), Typeflag: tar.TypeReg}
		if e.target != "" {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.target, 0
			if e.hard {
				h.Typeflag = tar.TypeLink
			}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const cpu0 = "box/sys/" + cpuDir + "/cpu0/"

func TestTar(t *testing.T) {
	core := entry{name: cpu0 + "topology/core_id", body: "0\n"}
	tests := []struct {
		name string
		data []byte
		want string // part of the error; "" for none
	}{
		{"plain", pack(t, core), ""},
		{"gzip", zip(t, pack(t, core)), ""},
		{"leading dot", pack(t, entry{name: "./sys/" + cpuDir + "/cpu0/topology/core_id", body: "0"}), ""},
		{"hard link", pack(t, core, entry{name: "box/sys/" + cpuDir + "/cpu1/topology/core_id", target: core.name, hard: true}), ""},
		{"inner link", pack(t, core, entry{name: cpu0 + "node0", target: "../../node/node0"}), ""},
		{"climbing name", pack(t, core, entry{name: "box/../../etc/passwd", body: "x"}), "the name leaves the archive"},
		{"absolute name", pack(t, entry{name: "/sys/" + cpuDir + "/cpu0/online", body: "1"}), "the name leaves the archive"},
		{"absolute link", pack(t, core, entry{name: cpu0 + "driver", target: "/etc/passwd"}), `the link to "/etc/passwd" leaves the archive`},
		{"climbing link", pack(t, core, entry{name: cpu0 + "driver", target: "../../../../../../../etc/passwd"}), "leaves the archive"},
		{"huge entry", pack(t, entry{name: cpu0 + "online", body: strings.Repeat("1", maxFile+1)}), "65537 bytes, more than the 65536"},
		{"large entry of no interest", pack(t, core, entry{name: "box/log", body: strings.Repeat("1", 1<<20)}), ""},
		{"cut", pack(t, core)[:700], "the archive is truncated"},
		{"cut between entries", pack(t, core)[:1024], "truncated (no end mark)"},
		{"cut gzip", zip(t, pack(t, core))[:60], "the archive is truncated"},
		{"two trees", pack(t, core, entry{name: "other/sys/" + cpuDir + "/cpu0/online", body: "1"}), `holds two, "box/sys" and "other/sys"`},
		{"no tree", pack(t, entry{name: "readme", body: "x"}), "no devices/system/cpu in the archive"},
		{"zstd", []byte("\x28\xb5\x2f\xfd...."), "recompress with gzip or bzip2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := FromTar(bytes.NewReader(tt.data), "amd64-box")
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			case err == nil && m.CPUs[0].Core != 0:
				t.Errorf("CPU 0: %+v", m.CPUs[0])
			case err != nil && strings.Contains(err.Error(), "\n"):
				t.Errorf("error of more than one line: %q", err)
			}
		})
	}
}

// TestTarBomb checks that decompression stops at the limit.
func TestTarBomb(t *testing.T) {
	data := zip(t, pack(t, entry{name: "box/zero", body: strings.Repeat("\x00", 1<<20)}))
	_, _, err := readTar(bytes.NewReader(data), 1<<19)
	if want := "entry 2, after box/zero: too many bytes after decompression"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestSniff checks that content, not the name, says what a file is.
func TestSniff(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"a.yaml":  {pack(t, entry{name: cpu0 + "topology/core_id", body: "0\n"}), ""},
		"b.tar":   {[]byte("machine: 1\narch: arm64\ncpus: 0\n"), ""},
		"c.txt":   {[]byte("\ufeff <?xml version='1.0'?><topology><object type='PU' os_index='0'/></topology>"), ""},
		"d":       {[]byte("\x7fELF\x00\x01"), "not a machine description"},
		"e.empty": {nil, "empty"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, tt.data, 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := Load(path)
		switch {
		case tt.want == "" && (err != nil || m.NrCPUs() != 1):
			t.Errorf("%s: %v, %v", name, m, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path)):
			t.Errorf("%s: got %v, want %q and the path", name, err, tt.want)
		}
	}
}
