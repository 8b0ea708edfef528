// SPDX-License-Identifier: Apache-2.0

package perfetto

import "fmt"

// Kinds of tracks; a track's UUID is made of its kind and its CPU or core.
const (
	rootTrack uint64 = (iota + 1) << 32
	totalTrack
	coreTrack
	cpuTrack
	irqTrack
	modeTrack
	countTrack
)

// track describes a track.
type track struct {
	id, parent uint64
	name       string
	rank       int  // among the children of the parent
	group      bool // has children, which are ordered by rank
	counter    bool
}

// tracks writes all tracks: the machine, its cores, and in each core its CPUs
// by number, then its mode and count.
func (t *Writer) tracks(cores int) {
	t.track(track{id: rootTrack, name: "machine: " + t.head.Source, group: true})
	if cores > 0 {
		t.track(track{id: totalTrack, parent: rootTrack, name: "ST->SMT completed", counter: true})
	}
	members := make([][]int, cores)
	for cpu, core := range t.head.Core {
		if core >= 0 {
			members[core] = append(members[core], cpu)
		}
	}
	for core, cpus := range members {
		id := uint64(core)
		t.track(track{id: coreTrack | id, parent: rootTrack, name: fmt.Sprintf("core %d", core), rank: 1 + core, group: true})
		for i, cpu := range cpus {
			t.cpuTracks(cpu, coreTrack|id, 2*i)
		}
		t.track(track{id: modeTrack | id, parent: coreTrack | id, name: fmt.Sprintf("core %d mode", core), rank: 2 * len(cpus)})
		t.track(track{id: countTrack | id, parent: coreTrack | id, name: fmt.Sprintf("core %d ST->SMT completed", core), rank: 2*len(cpus) + 1, counter: true})
	}
	for cpu := range t.head.NrCPUs {
		if t.head.Core == nil || t.head.Core[cpu] < 0 {
			t.cpuTracks(cpu, rootTrack, 1+cores+2*cpu)
		}
	}
}

// cpuTracks writes the tracks of a CPU: its tasks and its interrupts.
func (t *Writer) cpuTracks(cpu int, parent uint64, rank int) {
	name := fmt.Sprintf("CPU %d", cpu)
	if cpu < len(t.head.Thread) && t.head.Thread[cpu] >= 0 {
		name = fmt.Sprintf("CPU %d (PE%d)", cpu, t.head.Thread[cpu])
	}
	t.track(track{id: cpuTrack | uint64(cpu), parent: parent, name: name, rank: rank})
	t.track(track{id: irqTrack | uint64(cpu), parent: parent, name: name + " interrupts", rank: rank + 1})
}

// track writes a track's description.
func (t *Writer) track(d track) {
	t.start()
	t.body = varint(t.body[:0], trackUUID, d.id)
	t.body = text(t.body, trackName, d.name)
	if d.parent != 0 {
		t.body = varint(t.body, trackParent, d.parent)
	}
	if d.counter {
		t.body = message(t.body, trackCounter, varint(nil, counterUnit, unitCount))
	}
	if d.group {
		t.body = varint(t.body, trackOrdering, orderExplicit)
	}
	t.body = varint(t.body, trackRank, uint64(d.rank))
	t.packet = message(t.packet, packetDescriptor, t.body)
	t.flush()
}
