// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sibyl/cpumask"
)

// The bounds of an hwloc file. Nothing in it nests deeper than a handful of
// levels; the largest machines have some 100,000 objects.
const (
	maxXML        = 32 << 20
	maxXMLDepth   = 64
	maxXMLObjects = 200_000
)

// hwlocObject is one object of the tree, as far as it places CPUs.
type hwlocObject struct {
	kind     string // in hwloc 2's spelling: Package, L3Cache, …
	index    int    // os_index, -1 if none
	line     int
	cpus     cpumask.Mask // made for as many CPUs as it needs
	hasSet   bool
	complete cpumask.Mask
	online   cpumask.Mask
	hasOn    bool
	cache    int // level of a cache that holds data, 0 if it is none
	size     int64
	cluster  bool // a group that Linux or Intel calls cluster or module
}

// hwlocKind is a cpukind element: CPUs with common properties.
type hwlocKind struct {
	cpus cpumask.Mask
	info map[string]string
}

// hwlocMatrix is a distance matrix.
type hwlocMatrix struct {
	what    string // object type, "" for hwloc 1, which has depths instead
	latency bool
	n       int
	indexes []int
	values  []int
	line    int
}

// hwloc is what one pass over a file collects.
type hwloc struct {
	dec      *xml.Decoder
	version  string
	objects  []hwlocObject
	kinds    []hwlocKind
	matrices []hwlocMatrix
	info     map[string]string
	elements int
}

// FromHwloc reads a machine from an hwloc XML export (lstopo --of xml) of
// hwloc 1, 2 or 3. The file is read as a stream; document types with internal
// declarations are refused, so no entity is ever expanded.
func FromHwloc(r io.Reader, name string) (*Machine, error) {
	h := &hwloc{dec: xml.NewDecoder(&boundedReader{r: r, n: maxXML}), info: map[string]string{}}
	if err := h.parse(); err != nil {
		if errors.Is(err, errTooLong) {
			err = fmt.Errorf("more than %d MiB", maxXML>>20)
		}
		return nil, fmt.Errorf("read hwloc XML: %w", oneLine(err))
	}
	m, err := h.build()
	if err != nil {
		return nil, fmt.Errorf("read hwloc XML: %w", err)
	}
	m.Name = name
	return m, nil
}

func oneLine(err error) error {
	if strings.Contains(err.Error(), "\n") {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return err
}

func (h *hwloc) line() int {
	l, _ := h.dec.InputPos()
	return l
}

// parse walks the file's elements.
func (h *hwloc) parse() error {
	var stack []string
	root := false
	for {
		tok, err := h.dec.RawToken()
		if errors.Is(err, io.EOF) {
			if len(stack) > 0 {
				return fmt.Errorf("line %d: the file is truncated inside <%s>", h.line(), stack[len(stack)-1])
			}
			if !root {
				return errors.New("no <topology> element")
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch t := tok.(type) {
		case xml.Directive:
			if strings.ContainsAny(string(t), "[") || len(t) > 1024 {
				return fmt.Errorf("line %d: a document type with declarations is not accepted", h.line())
			}
		case xml.StartElement:
			if len(stack) == 0 {
				if root || t.Name.Local != "topology" {
					return fmt.Errorf("line %d: got <%s>, want one <topology>", h.line(), clip(t.Name.Local))
				}
				root = true
				h.version = attr(t, "version")
			}
			if h.elements++; h.elements > 8*maxXMLObjects || len(h.objects) > maxXMLObjects {
				return fmt.Errorf("line %d: more than %d objects", h.line(), maxXMLObjects)
			}
			if len(stack) == maxXMLDepth {
				return fmt.Errorf("line %d: elements nest deeper than %d", h.line(), maxXMLDepth)
			}
			if err := h.element(t, stack); err != nil {
				return fmt.Errorf("line %d: %w", h.line(), err)
			}
			stack = append(stack, t.Name.Local)
		case xml.EndElement:
			if len(stack) == 0 || stack[len(stack)-1] != t.Name.Local {
				return fmt.Errorf("line %d: unexpected </%s>", h.line(), clip(t.Name.Local))
			}
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) > 0 {
				if err := h.text(string(t), stack[len(stack)-1]); err != nil {
					return fmt.Errorf("line %d: %w", h.line(), err)
				}
			}
		}
	}
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func parentOf(stack []string) string {
	if len(stack) == 0 {
		return ""
	}
	return stack[len(stack)-1]
}

func (h *hwloc) element(t xml.StartElement, stack []string) error {
	parent := parentOf(stack)
	switch t.Name.Local {
	case "object":
		return h.object(t)
	case "info":
		name, value := attr(t, "name"), attr(t, "value")
		if parent == "cpukind" && len(h.kinds) > 0 {
			h.kinds[len(h.kinds)-1].info[name] = value
		} else if name == "Architecture" {
			h.info[name] = value
		}
	case "cpukind":
		if len(h.kinds) >= 1024 {
			return errors.New("more than 1024 kinds of CPU")
		}
		cpus, err := parseSet(attr(t, "cpuset"))
		if err != nil {
			return fmt.Errorf("cpukind: cpuset: %w", err)
		}
		h.kinds = append(h.kinds, hwlocKind{cpus: cpus, info: map[string]string{}})
	case "distances", "distances2":
		n, err := strconv.Atoi(attr(t, "nbobjs"))
		if err != nil || n < 1 || n > maxNodes {
			return fmt.Errorf("%s: nbobjs %q: want 1 to %d", t.Name.Local, clip(attr(t, "nbobjs")), maxNodes)
		}
		mx := hwlocMatrix{n: n, what: attr(t, "type"), line: h.line(), latency: true}
		if t.Name.Local == "distances2" {
			// HWLOC_DISTANCES_KIND_MEANS_LATENCY is bit 2; only os indices name nodes.
			kind, _ := strconv.Atoi(attr(t, "kind"))
			mx.latency = kind&4 != 0 && attr(t, "indexing") == "os"
		}
		if len(h.matrices) >= 64 {
			return errors.New("more than 64 distance matrices")
		}
		h.matrices = append(h.matrices, mx)
	case "latency":
		if parent != "distances" {
			return nil
		}
		v, err := strconv.ParseFloat(attr(t, "value"), 64)
		if err != nil || !(v > 0 && v < 1e6) {
			return fmt.Errorf("latency %q: want a positive number", clip(attr(t, "value")))
		}
		return h.values([]int{int(v + 0.5)})
	}
	return nil
}

// values adds to the current matrix.
func (h *hwloc) values(v []int) error {
	mx := &h.matrices[len(h.matrices)-1]
	if mx.values = append(mx.values, v...); len(mx.values) > mx.n*mx.n {
		return fmt.Errorf("distances: more than %d values for %d objects", mx.n*mx.n, mx.n)
	}
	return nil
}

// text reads the numbers of a distances2 element.
func (h *hwloc) text(s, element string) error {
	if element != "indexes" && element != "u64values" || len(h.matrices) == 0 {
		return nil
	}
	mx := &h.matrices[len(h.matrices)-1]
	if !mx.latency || mx.what != "NUMANode" {
		return nil
	}
	var nums []int
	for f := range strings.FieldsSeq(s) {
		v, err := strconv.ParseUint(f, 10, 31)
		if err != nil {
			return fmt.Errorf("%s: got %q, want a number", element, clip(f))
		}
		nums = append(nums, int(v))
	}
	if element == "u64values" {
		return h.values(nums)
	}
	if mx.indexes = append(mx.indexes, nums...); len(mx.indexes) > mx.n {
		return fmt.Errorf("indexes: more than %d", mx.n)
	}
	return nil
}

// object reads one object; objects without CPUs (devices, memory caches) are
// passed over.
func (h *hwloc) object(t xml.StartElement) error {
	o := hwlocObject{kind: attr(t, "type"), index: -1, line: h.line()}
	if o.kind == "" {
		return errors.New("object without a type")
	}
	switch o.kind {
	case "Socket": // hwloc up to 1.10
		o.kind = "Package"
	case "Cache": // hwloc 1: the level is an attribute
		o.kind = "L" + clip(attr(t, "depth")) + "Cache"
	}
	switch o.kind {
	case "Machine", "System", "Package", "Die", "Group", "Core", "PU", "NUMANode", "Cluster", "Module":
	case "L1Cache", "L2Cache", "L3Cache", "L4Cache", "L5Cache":
		if attr(t, "cache_type") != "2" { // 2 is an instruction cache
			o.cache = int(o.kind[1] - '0')
		}
	default:
		return nil
	}
	o.cluster = o.kind == "Cluster" || o.kind == "Module" || o.kind == "Group" &&
		(attr(t, "subtype") == "Cluster" || attr(t, "kind") == "222" || attr(t, "kind") == "102")
	if v := attr(t, "os_index"); v != "" {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return fmt.Errorf("%s: os_index %q: want a number", o.kind, clip(v))
		}
		o.index = int(n)
	}
	if v := attr(t, "cache_size"); v != "" && o.cache > 0 {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%s: cache_size %q: want a number of bytes", o.kind, clip(v))
		}
		o.size = n
	}
	for _, a := range t.Attr {
		var dst *cpumask.Mask
		switch a.Name.Local {
		case "cpuset":
			dst, o.hasSet = &o.cpus, true
		case "complete_cpuset":
			dst = &o.complete
		case "online_cpuset":
			dst, o.hasOn = &o.online, true
		default:
			continue
		}
		cpus, err := parseSet(a.Value)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", o.kind, a.Name.Local, err)
		}
		*dst = cpus
	}
	h.objects = append(h.objects, o)
	return nil
}

// parseSet reads a cpuset into a mask no larger than it must be.
func parseSet(s string) (cpumask.Mask, error) {
	cpus, err := parseMask(s)
	if err != nil || len(cpus) == 0 {
		return nil, err
	}
	return cpumask.Of(cpus[len(cpus)-1]+1, cpus...), nil
}
