// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update rewrites the golden drawings: SIBYL_UPDATE=1 go test ./report.
var update = os.Getenv("SIBYL_UPDATE") != ""

func drawing(t *testing.T, name string) []byte {
	t.Helper()
	m, h := named(t, name)
	var b bytes.Buffer
	if err := TopologySVG(&b, m, h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTopologySVGGolden holds the bytes of small drawings.
func TestTopologySVGGolden(t *testing.T) {
	for _, name := range []string{"guest", "hybrid"} {
		got := drawing(t, name)
		file := filepath.Join("testdata", "svg", name+".svg")
		if update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s: the drawing differs from %s; look at it, then set SIBYL_UPDATE=1", name, file)
		}
	}
}

// TestTopologySVGWellFormed parses the drawings, counts the threads, and
// checks that rectangles stay inside the page and that frames do not overlap.
func TestTopologySVGWellFormed(t *testing.T) {
	for _, name := range []string{"vera", "altra", "hybrid", "guest", "snc"} {
		data := drawing(t, name)
		if !bytes.Equal(data, drawing(t, name)) {
			t.Errorf("%s: two drawings differ", name)
		}
		m, _ := named(t, name)
		threads := 0
		var width, height int
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			e, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			a := map[string]string{}
			for _, at := range e.Attr {
				a[at.Name.Local] = at.Value
			}
			switch {
			case e.Name.Local == "svg":
				width, height = atoi(t, a["width"]), atoi(t, a["height"])
			case e.Name.Local == "rect":
				if a["class"] == "thread" || a["class"] == "off" {
					threads++
				}
				if atoi(t, a["x"])+atoi(t, a["width"]) > width || atoi(t, a["y"])+atoi(t, a["height"]) > height {
					t.Errorf("%s: %s leaves the page", name, a["class"])
				}
			}
		}
		if want := m.Possible().Count(); threads != want {
			t.Errorf("%s: %d threads drawn, want %d", name, threads, want)
		}
		root := &box{boxes: tree(m)}
		arrange(root, pageW)
		checkBoxes(t, name, root)
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' {
			t.Fatalf("not a number: %q", s)
		}
		n = n*10 + int(r-'0')
	}
	return n
}

func checkBoxes(t *testing.T, name string, b *box) {
	t.Helper()
	for i, in := range b.boxes {
		if in.x < 0 || in.y < 0 || in.x+in.w > b.w || in.y+in.h > b.h {
			t.Errorf("%s: %s %q sticks out of %q", name, in.class, in.label, b.label)
		}
		for _, other := range b.boxes[:i] {
			if in.x < other.x+other.w && other.x < in.x+in.w && in.y < other.y+other.h && other.y < in.y+in.h {
				t.Errorf("%s: %q overlaps %q", name, in.label, other.label)
			}
		}
		checkBoxes(t, name, in)
	}
}

// TestTopologySVGEscapes: names come from files and may hold anything.
func TestTopologySVGEscapes(t *testing.T) {
	m, h := named(t, "guest")
	m.Name = "</title><script>\x00 & \xff"
	m.CPUs[0].CapacitySource = `"><x>`
	m.Warnings = []string{"]]>" + strings.Repeat("long ", 200)}
	var b bytes.Buffer
	if err := TopologySVG(&b, m, h); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b.Bytes(), new(any)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<script") || strings.Contains(b.String(), "<x>") {
		t.Error("markup of a name reached the drawing")
	}
}

// TestTopologySVGFails: the writer's error comes back.
func TestTopologySVGFails(t *testing.T) {
	m, h := named(t, "guest")
	r, w := io.Pipe()
	r.Close()
	if err := TopologySVG(w, m, h); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("TopologySVG to a closed pipe: %v", err)
	}
	if err := Topology(w, m, h); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Topology to a closed pipe: %v", err)
	}
}
