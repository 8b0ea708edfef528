// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"slices"
	"strings"

	"sibyl/cpumask"
)

// Remedy is something that can be done.
type Remedy struct {
	// Key is a stable name: cpu-list, irq-affinity, smt-off, boot-option,
	// newer-kernel, sched-ext.
	Key string `json:"key"`
	// For has the keys of the findings that it helps with.
	For []string `json:"for"`
	// Text says what it does, Cost what it costs.
	Text string `json:"text"`
	Cost string `json:"cost"`
	// Needs is nothing, root, reboot (which includes root).
	Needs string `json:"needs"`
	// Commands do it; COMMAND stands for the program to run.
	Commands []string `json:"commands"`
}

// remedies chooses by what was found, the least invasive first: what touches
// one process, then the running system, then the next boot, then the kernel,
// then who schedules.
func (d *doctor) remedies() {
	var idle []string // findings that one task a core cures
	for _, f := range []struct {
		on  bool
		key string
	}{{d.modes, "core-modes"}, {d.siblings, "unequal-threads"}, {d.asym, "capacity"}, {d.ilb, "nohz-ilb"}} {
		if f.on {
			idle = append(idle, f.key)
		}
	}
	d.cpuList(idle)
	d.irqAffinity()
	d.smtOff(idle)
	d.bootOption()
	d.newerKernel()
	d.schedExt(idle)
}

func (d *doctor) remedy(r Remedy) { d.Remedies = append(d.Remedies, r) }

func (d *doctor) cpuList(idle []string) {
	// That balancing wakes siblings is no reason to bind a program.
	if idle = without(idle, "nohz-ilb"); len(idle) > 0 && len(d.Machine.UsableThreads) > 0 {
		d.remedy(Remedy{
			Key: "cpu-list", For: idle, Needs: "nothing",
			Text:     "Run the program on one thread of each core, so that it never shares a core with itself.",
			Cost:     "No more than one task a core; other programs may still use the other threads.",
			Commands: []string{"taskset -c " + strided(d.Machine.UsableThreads, false) + " COMMAND"},
		})
	}
	if d.chatty {
		d.remedy(Remedy{
			Key: "cpu-list", For: []string{"sync-wakeup"}, Needs: "nothing",
			Text:     "Keep tasks that wake each other in turn on CPUs that share a last-level cache, by a CPU list; sibyl topology shows which do.",
			Cost:     "Only for programs that are known to talk in pairs.",
			Commands: []string{"taskset -c LIST COMMAND"},
		})
	}
}

// irqAffinity is for cores with modes only: elsewhere an interrupt on a sibling
// costs no more than its own time.
func (d *doctor) irqAffinity() {
	if !d.modes {
		return
	}
	d.remedy(Remedy{
		Key: "irq-affinity", For: []string{"core-modes"}, Needs: "root",
		Text: "Keep interrupts and unbound kernel work on the first threads, so that the other threads sleep. Interrupts that a driver manages refuse, which is harmless.",
		Cost: "Interrupts take time from the tasks on the first threads; irqbalance must be stopped or told the same. Gone after a reboot.",
		Commands: []string{
			"LIST=" + strided(d.Machine.FirstThreads, true),
			"MASK=" + hexMask(d.Machine.FirstThreads),
			`for f in /proc/irq/*/smp_affinity_list; do echo $LIST >$f; done`,
			"echo $MASK >/proc/irq/default_smp_affinity",
			"echo $MASK >/sys/devices/virtual/workqueue/cpumask",
		},
	})
}

func (d *doctor) smtOff(idle []string) {
	if len(idle) == 0 || !d.smtOn() {
		return
	}
	r := Remedy{
		Key: "smt-off", For: idle, Needs: "root",
		Text:     "Switch SMT off. Where a benchmark is to show single-thread speed, this is what vendors do.",
		Cost:     "Each core keeps one CPU; what several threads of a core do together is lost. echo on brings them back.",
		Commands: []string{"echo off >/sys/devices/system/cpu/smt/control"},
	}
	switch d.s.SMT.Control {
	case "off", "forceoff":
		return // done, whatever the description says
	case "notsupported", "notimplemented":
		r.Text = "Take the other threads of the cores offline, since this kernel has no switch for SMT."
		r.Cost = "Each core keeps one CPU; what several threads of a core do together is lost. echo 1 brings them back."
		r.Commands = []string{
			`OTHERS="` + strings.Join(d.otherThreads(), " ") + `"`,
			`for c in $OTHERS; do echo 0 >/sys/devices/system/cpu/cpu$c/online; done`,
		}
	}
	d.remedy(r)
}

// otherThreads lists the online CPUs that are not the first of their core.
func (d *doctor) otherThreads() []string {
	var out []string
	for _, k := range d.Machine.Kinds {
		for _, c := range k.CPUs {
			if _, first := slices.BinarySearch(d.Machine.FirstThreads, c); !first {
				out = append(out, fmt.Sprint(c))
			}
		}
	}
	return out
}

func (d *doctor) bootOption() {
	m := d.mechanism("smt-siblings")
	if m.Has != Yes || !d.modes && !d.siblings || !d.Machine.OrderedThreads {
		return
	}
	d.remedy(Remedy{
		Key: "boot-option", Needs: "reboot", For: d.siblingFindings(),
		Text:     "Boot with sched_smt_asym_packing=on: idle choices then go to the preferred thread of a core.",
		Cost:     "A reboot.",
		Commands: []string{"# on the kernel's command line: sched_smt_asym_packing=on"},
	})
}

func (d *doctor) siblingFindings() []string {
	var out []string
	if d.modes {
		out = append(out, "core-modes")
	}
	if d.siblings {
		out = append(out, "unequal-threads")
	}
	return out
}

func (d *doctor) newerKernel() {
	var findings, versions []string
	if d.asym {
		findings, versions = append(findings, "capacity"), append(versions, "7.2 minds busy siblings when it compares capacities")
	}
	if d.ilb {
		findings, versions = append(findings, "nohz-ilb"), append(versions, "7.3 balances from a fully idle core")
	}
	if (d.modes || d.siblings) && d.Machine.OrderedThreads && d.mechanism("smt-siblings").Has == No {
		findings, versions = append(findings, d.siblingFindings()...), append(versions, "the one after 7.3 has sched_smt_asym_packing=on")
	}
	if len(findings) == 0 {
		return
	}
	d.remedy(Remedy{
		Key: "newer-kernel", Needs: "reboot", For: findings,
		Text:     "Boot a newer kernel: " + strings.Join(versions, "; ") + ".",
		Cost:     "A reboot and a kernel that must be tested. sibyl simulate and compare predict what it changes.",
		Commands: []string{},
	})
}

func (d *doctor) schedExt(idle []string) {
	idle = without(idle, "nohz-ilb")
	if len(idle) == 0 {
		return
	}
	r := Remedy{
		Key: "sched-ext", Needs: "root", For: idle,
		Text:     "Let a sched_ext scheduler place tasks, one that fills idle cores first, until it is stopped: no reboot and no patch. This program does not bring one yet.",
		Cost:     "It replaces the fair class for all normal tasks.",
		Commands: []string{},
	}
	switch {
	case d.s.SchedExt.Present == No:
		return // the kernel cannot
	case d.s.BTF.Present == No:
		return // the loader needs it
	case d.s.SchedExt.Ops == "sibyl":
		return // done
	case d.s.SchedExt.State == "enabled":
		r.Cost += " The scheduler that is loaded now must be stopped first."
	case d.s.SchedExt.Present == Unknown:
		r.Cost += " Whether this kernel has sched_ext is not known."
	}
	d.remedy(r)
}

func without(list []string, s string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(v string) bool { return v == s })
}

// strided formats CPUs with the same step between them shortly, as the kernel
// writes it (0-126:1/2) or as taskset does (0-126:2); other lists as ranges.
func strided(cpus []int, kernel bool) string {
	if len(cpus) < 3 {
		return cpumask.FormatList(cpus)
	}
	step := cpus[1] - cpus[0]
	for i := 1; i < len(cpus); i++ {
		if cpus[i]-cpus[i-1] != step {
			return cpumask.FormatList(cpus)
		}
	}
	if step < 2 {
		return cpumask.FormatList(cpus)
	}
	if kernel {
		return fmt.Sprintf("%d-%d:1/%d", cpus[0], cpus[len(cpus)-1], step)
	}
	return fmt.Sprintf("%d-%d:%d", cpus[0], cpus[len(cpus)-1], step)
}

// hexMask formats CPUs as the kernel's masks are written.
func hexMask(cpus []int) string {
	if len(cpus) == 0 {
		return "0"
	}
	words := make([]uint32, slices.Max(cpus)/32+1)
	for _, c := range cpus {
		words[c/32] |= 1 << (c % 32)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%x", words[len(words)-1])
	for i := len(words) - 2; i >= 0; i-- {
		fmt.Fprintf(&b, ",%08x", words[i])
	}
	return b.String()
}
