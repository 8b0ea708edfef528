// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/machine"
)

// Sizes of the drawing in pixels.
const (
	cellW, cellH = 46, 50 // a hardware thread
	cellGap      = 2      // between the threads of a core
	corePad      = 4
	boxPad       = 10
	boxGap       = 8
	labelH       = 20
	pageW        = 1240 // what rows are broken at
	margin       = 20
	smallText    = 12
	titleText    = 20
)

// style is the drawing's look: light colours, and dark ones where the viewer
// asks for them. Every text stands on a background of its own scheme.
const style = `text{font-family:"DejaVu Sans",Verdana,sans-serif;fill:#1b1f24}
.title{font-size:20px;font-weight:bold}
.note,.label{font-size:12px}
.label{font-weight:bold}
.cpu{font-size:13px;font-weight:bold;text-anchor:middle}
.value{font-size:11px;text-anchor:middle}
.page{fill:#ffffff}
.package{fill:#eef1f5;stroke:#57606a}
.node{fill:#e3e9f0;stroke:#57606a}
.llc{fill:#fff4d6;stroke:#9a6700}
.cluster{fill:#ffe3c2;stroke:#9a6700}
.core{fill:#ffffff;stroke:#57606a}
.thread{fill:#d9ecff;stroke:#0969da}
.off{fill:#ececec;stroke:#8c959f;stroke-dasharray:3 2}
.bar{fill:#0969da}
.rail{fill:#b9d4ee}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.page{fill:#0d1117}
.package{fill:#161b22;stroke:#8b949e}
.node{fill:#1c2430;stroke:#8b949e}
.llc{fill:#2b2410;stroke:#bb8009}
.cluster{fill:#38240f;stroke:#bb8009}
.core{fill:#0d1117;stroke:#8b949e}
.thread{fill:#12314f;stroke:#388bfd}
.off{fill:#21262d;stroke:#6e7681}
.bar{fill:#58a6ff}
.rail{fill:#1f4468}
}
`

// box is a rectangle of the drawing: a grouping of CPUs, a core, or (with
// neither boxes nor label) nothing.
type box struct {
	class, label string
	boxes        []*box
	threads      []int // of a core
	x, y, w, h   int
}

// TopologySVG draws the machine: packages, nodes, last-level caches, clusters,
// cores and their threads, each with its CPU number, capacity (also as a bar)
// and priority, and below it the sched domains. Groups that repeat the one
// around them share its frame.
func TopologySVG(w io.Writer, m *machine.Machine, h *domain.Hierarchy) error {
	root := &box{boxes: tree(m)}
	arrange(root, pageW)
	title := m.Name
	if title == "" {
		title = "machine without a name"
	}
	width := max(root.w, 640)
	head := lines(fmt.Sprintf("%s, %s", orUnknown(m.Arch), counts(m)), smallText, width)
	foot := footer(m, h, width)

	top := margin + titleText + 8 + len(head)*18 + 8
	height := top + root.h + 14 + len(foot)*18 + margin
	s := &svg{}
	fmt.Fprintf(&s.b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n",
		width+2*margin, height, width+2*margin, height)
	fmt.Fprintf(&s.b, "<title>%s</title>\n<style>%s</style>\n", escape(title+": topology"), style)
	s.rect("page", 0, 0, width+2*margin, height, 0)
	s.text("title", margin, margin+titleText-4, fit(title, titleText, width))
	for i, line := range head {
		s.text("note", margin, margin+titleText+18+i*18, line)
	}
	for _, b := range root.boxes {
		draw(s, m, b, margin, top)
	}
	for i, line := range foot {
		s.text("note", margin, top+root.h+26+i*18, line)
	}
	s.b.WriteString("</svg>\n")
	_, err := w.Write(s.b.Bytes())
	return err
}

// footer explains the drawing and lists what it cannot show.
func footer(m *machine.Machine, h *domain.Hierarchy, width int) []string {
	out := lines("each thread: CPU number, capacity (bar: of 1024), p: priority (larger is preferred); dashed: offline", smallText, width)
	if memory := memoryNodes(m); memory != "" {
		out = append(out, lines("nodes without CPUs: "+memory, smallText, width)...)
	}
	for _, k := range classes(h) {
		var levels []string
		for _, d := range k.chain {
			levels = append(levels, fmt.Sprintf("%s %d", d.Name, d.Weight))
		}
		if len(levels) == 0 {
			levels = []string{"none"}
		}
		text := "sched domains of CPU " + strings.ReplaceAll(k.cpus.String(), ",", ", ") + ": " + strings.Join(levels, ", ")
		out = append(out, lines(text, smallText, width)...)
	}
	for _, text := range warnings(m, h) {
		out = append(out, lines("warning: "+text, smallText, width)...)
	}
	return out
}

func memoryNodes(m *machine.Machine) string {
	used := make([]bool, len(m.Nodes))
	for c := range m.CPUs {
		if n := m.CPUs[c].Node; m.CPUs[c].Possible && n >= 0 && n < len(used) {
			used[n] = true
		}
	}
	ids := cpumask.New(cpumask.MaxCPUs)
	for i, n := range m.Nodes {
		if !used[i] && n.ID >= 0 && n.ID < cpumask.MaxCPUs {
			ids.Set(n.ID)
		}
	}
	return ids.String()
}

// grouping is one kind of frame, outside in.
type grouping struct {
	class string
	index func(*machine.CPU) int
	label func(i int) string
}

// tree returns the outermost boxes of the machine.
func tree(m *machine.Machine) []*box {
	groupings := []grouping{
		{"package", func(c *machine.CPU) int { return c.Package }, func(i int) string { return fmt.Sprintf("package %d", i) }},
		{"node", func(c *machine.CPU) int { return c.Node }, func(i int) string {
			if i < len(m.Nodes) {
				i = m.Nodes[i].ID
			}
			return fmt.Sprintf("node %d", i)
		}},
		{"llc", func(c *machine.CPU) int { return c.LLC }, func(i int) string {
			if i < len(m.CacheBytes) && m.CacheBytes[i] > 0 {
				return fmt.Sprintf("LLC %d (%s)", i, size(m.CacheBytes[i]))
			}
			return fmt.Sprintf("LLC %d", i)
		}},
		{"cluster", func(c *machine.CPU) int { return c.Cluster }, func(i int) string { return fmt.Sprintf("cluster %d", i) }},
	}
	if nodeAround(m) {
		groupings[0], groupings[1] = groupings[1], groupings[0]
	}
	var cpus []int
	for c := range m.Possible().All() {
		cpus = append(cpus, c)
	}
	return divide(m, cpus, groupings)
}

// nodeAround tells whether nodes hold packages, and not the reverse.
func nodeAround(m *machine.Machine) bool {
	nodes, packages := map[int]int{}, map[int]int{}
	for c := range m.Possible().All() {
		cpu := &m.CPUs[c]
		if n, ok := nodes[cpu.Package]; ok && n != cpu.Node {
			return false // a package on several nodes
		}
		nodes[cpu.Package] = cpu.Node
		packages[cpu.Node]++
	}
	return len(packages) < len(nodes)
}

// divide splits CPUs by the first grouping and what is in them by the others.
// A frame that would hold all of the one around it shares that one; caches and
// clusters of single cores get none.
func divide(m *machine.Machine, cpus []int, groupings []grouping) []*box {
	if len(groupings) == 0 {
		return cores(m, cpus)
	}
	g := groupings[0]
	parts, order := split(m, cpus, g.index)
	single := g.class == "llc" || g.class == "cluster"
	for _, p := range parts {
		_, in := split(m, p, func(c *machine.CPU) int { return c.Core })
		single = single && len(in) == 1
	}
	if single {
		return divide(m, cpus, groupings[1:])
	}
	var boxes []*box
	for i, p := range parts {
		inner := divide(m, p, groupings[1:])
		if order[i] < 0 { // unknown
			boxes = append(boxes, inner...)
			continue
		}
		b := &box{class: g.class, label: g.label(order[i]), boxes: inner}
		if len(inner) == 1 && inner[0].class != "core" {
			b.label += " · " + inner[0].label
			b.boxes = inner[0].boxes
		}
		boxes = append(boxes, b)
	}
	return boxes
}

// split groups CPUs by index, in order of their first CPU.
func split(m *machine.Machine, cpus []int, index func(*machine.CPU) int) (parts [][]int, order []int) {
	at := map[int]int{}
	for _, c := range cpus {
		i := index(&m.CPUs[c])
		k, seen := at[i]
		if !seen {
			k = len(parts)
			at[i] = k
			parts, order = append(parts, nil), append(order, i)
		}
		parts[k] = append(parts[k], c)
	}
	return parts, order
}

func cores(m *machine.Machine, cpus []int) []*box {
	parts, order := split(m, cpus, func(c *machine.CPU) int { return c.Core })
	var boxes []*box
	for i, p := range parts {
		if order[i] < 0 { // unknown: each CPU is drawn alone
			for _, c := range p {
				boxes = append(boxes, &box{class: "core", threads: []int{c}})
			}
			continue
		}
		boxes = append(boxes, &box{class: "core", threads: p})
	}
	return boxes
}

// arrange sets the box's size and its children's places, in rows that keep
// within limit where they can.
func arrange(b *box, limit int) {
	if b.threads != nil {
		n := len(b.threads)
		b.w, b.h = n*cellW+(n-1)*cellGap+2*corePad, cellH+2*corePad
		return
	}
	pad, head := boxPad, labelH
	if b.class == "" {
		pad, head = 0, 0
	}
	x, y, row, right := pad, pad+head, 0, 0
	for _, c := range b.boxes {
		arrange(c, limit-2*pad)
		if x > pad && x+c.w > limit-pad {
			x, y, row = pad, y+row+boxGap, 0
		}
		c.x, c.y = x, y
		x += c.w + boxGap
		row = max(row, c.h)
		right = max(right, c.x+c.w)
	}
	b.w, b.h = right+pad, y+row+pad
	b.w = max(b.w, textWidth(b.label, smallText+1)+2*boxPad)
}

func draw(s *svg, m *machine.Machine, b *box, dx, dy int) {
	x, y := b.x+dx, b.y+dy
	s.rect(b.class, x, y, b.w, b.h, 4)
	if b.threads != nil {
		for i, c := range b.threads {
			drawThread(s, m, c, x+corePad+i*(cellW+cellGap), y+corePad)
		}
		return
	}
	s.text("label", x+boxPad, y+boxPad+10, b.label)
	for _, inner := range b.boxes {
		draw(s, m, inner, x, y)
	}
}

func drawThread(s *svg, m *machine.Machine, c, x, y int) {
	cpu := &m.CPUs[c]
	state, class := "", "thread"
	if !cpu.Online {
		state, class = ", offline", "off"
	}
	fmt.Fprintf(&s.b, "<g><title>%s</title>\n", escape(fmt.Sprintf("CPU %d%s: core %s, thread %d, capacity %d (%s), priority %d (%s)%s", c, state,
		index(cpu.Core), cpu.Thread, cpu.Capacity, orUnknown(cpu.CapacitySource), cpu.Priority, orUnknown(cpu.PrioritySource), kindText(cpu.Type))))
	s.rect(class, x, y, cellW, cellH, 3)
	s.text("cpu", x+cellW/2, y+14, fmt.Sprint(c))
	s.text("value", x+cellW/2, y+27, fmt.Sprint(cpu.Capacity))
	s.rect("rail", x+5, y+31, cellW-10, 3, 1)
	s.rect("bar", x+5, y+31, (cellW-10)*min(max(cpu.Capacity, 0), 1024)/1024, 3, 1)
	s.text("value", x+cellW/2, y+46, fit(fmt.Sprintf("p %d", cpu.Priority), 11, cellW+4))
	s.b.WriteString("</g>\n")
}

func kindText(t string) string {
	if t == "" {
		return ""
	}
	return ", " + t
}

// size prints bytes as caches are written: 164 MiB.
func size(bytes int64) string {
	switch {
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d B", bytes)
}
