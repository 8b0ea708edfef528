// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sibyl/cpumask"
	"sibyl/policy"
	"sibyl/state"
)

// The scenarios in testdata are read as dialogues:
//
//	machine shape=smt2 [on]               a fresh idle machine
//	put cpu=0 n=2 [util=512] [allowed=0-1] [hot] [delayed] [vruntime=..]
//	set cpu=0 rt=300                      RT tasks' utilisation, capacities follow
//	misfit cpu=0                          the tick's test of the running task
//	pass dst=1 domain=MC idle=newly|idle|busy [now=..] [jiffies=..] [move]
//	active src=1 dst=0                    the stopper's answer, moved
//	enter                                 every idle CPU stops its tick
//	tick cpu=0 jiffies=5                  Kick
//	ilb cpu=1 jiffies=5                   the kick's work
//	show                                  who runs where
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		var y *system
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "machine" {
				var name string
				d.ScanArgs(t, "shape", &name)
				sh, ok := shapes[name]
				if !ok {
					d.Fatalf(t, "no shape %q", name)
				}
				if d.HasArg("on") {
					sh = sh.on()
				}
				y = newSystem(t, sh, policy.Rules{})
				return y.hierarchyText()
			}
			return y.command(t, d)
		})
	})
}

func (y *system) hierarchyText() string {
	var b strings.Builder
	c := y.H.Active.First()
	for d := y.H.Base[c]; d != nil; d = d.Parent {
		fmt.Fprintf(&b, "cpu %d %s span %s groups %d\n", c, d.Name, d.Span, len(d.Groups))
	}
	return b.String()
}

func (y *system) command(t *testing.T, d *datadriven.TestData) string {
	num := func(key string, def int) int {
		d.MaybeScanArgs(t, key, &def)
		return def
	}
	switch d.Cmd {
	case "put":
		var allowed string
		d.MaybeScanArgs(t, "allowed", &allowed)
		for range num("n", 1) {
			task := y.AddTask("t", nil, state.None)
			util := int64(num("util", 100))
			task.Avg.UtilAvg, task.Avg.RunnableAvg = util, util
			task.Avg.LoadAvg = int64(num("load", 1024))
			task.HLoad = task.Avg.LoadAvg
			task.SE.VRuntime = int64(num("vruntime", 0))
			task.SE.Delayed = d.HasArg("delayed")
			task.LastRan = -1 << 40
			if d.HasArg("hot") {
				task.LastRan = 0
			}
			if allowed != "" {
				m, err := cpumask.Parse(y.H.NrCPUs, allowed)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				y.SetAllowed(task, m)
			}
			y.queue(task, num("cpu", 0))
		}
		return ""
	case "set":
		q := &y.CPUs[num("cpu", 0)]
		q.RTUtil = int64(num("rt", int(q.RTUtil)))
		y.settle()
		return ""
	case "misfit":
		c := num("cpu", 0)
		y.UpdateMisfit(c, y.CPUs[c].Curr)
		return fmt.Sprintf("misfit load %d\n", y.CPUs[c].MisfitLoad)
	case "pass":
		return y.passText(t, d, num)
	case "active":
		src, dst := num("src", 0), num("dst", 0)
		id := y.ActiveTask(src, dst, int64(num("now", 0)))
		if id == state.None {
			return "none\n"
		}
		task := y.Tasks[id]
		y.take(task)
		y.queue(task, dst)
		return fmt.Sprintf("task %d: %d -> %d\n", id, src, dst)
	case "enter":
		y.tickless()
		return fmt.Sprintf("idle mask %s\n", y.Nohz.IdleMask)
	case "tick":
		target, flags := y.Kick(num("cpu", 0), int64(num("jiffies", 0)))
		if target < 0 {
			return "no kick\n"
		}
		return fmt.Sprintf("kick %d: %s\n", target, flagText(flags))
	case "ilb":
		return y.ilbText(num("cpu", 0), int64(num("jiffies", 0)))
	case "show":
		return y.runText()
	}
	d.Fatalf(t, "unknown command")
	return ""
}

func flagText(flags uint8) string {
	var names []string
	for i, n := range []string{"BALANCE", "STATS", "NEWILB", "NEXT"} {
		if flags>>i&1 != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, "|")
}

// passText runs a pass and writes what it saw and what it wants.
func (y *system) passText(t *testing.T, d *datadriven.TestData, num func(string, int) int) string {
	var name, kind string
	dst := num("dst", 0)
	d.ScanArgs(t, "domain", &name)
	d.ScanArgs(t, "idle", &kind)
	idle := map[string]Idle{"busy": NotIdle, "idle": CPUIdle, "newly": NewlyIdle}[kind]
	dom := y.level(t, dst, name)
	var b strings.Builder
	p := y.Pass(dom, dst, idle, int64(num("now", 0)), int64(num("jiffies", 0)))
	if !p.Continue {
		b.WriteString("another CPU balances\n")
	} else {
		for _, g := range dom.Groups {
			var st groupStats
			y.sumGroup(&st, g, g.Span.Has(dst), true)
			fmt.Fprintf(&b, "group %s: %s nr %d idle %d load %d util %d capacity %d", g.Span, st.typ, st.nr, st.idle, st.load, st.util, st.capacity)
			if st.avgLoad != 0 {
				fmt.Fprintf(&b, " avg %d", st.avgLoad)
			}
			if st.misfit != 0 {
				fmt.Fprintf(&b, " misfit %d", st.misfit)
			}
			b.WriteString("\n")
		}
		if n := y.env.cpus; !n.Equal(dom.Span) {
			fmt.Fprintf(&b, "left in the pass: %s\n", n)
		}
		b.WriteString(planText(p))
	}
	ds := y.Domains[dom.ID]
	fmt.Fprintf(&b, "failed %d interval %d ms", ds.NrBalanceFailed, ds.BalanceInterval)
	if dom.Parent != nil && y.Groups[dom.Parent.Groups[0].ID].Imbalance {
		b.WriteString(" parent imbalanced")
	}
	b.WriteString("\n")
	if d.HasArg("move") {
		y.move(p)
		b.WriteString(y.runText())
	}
	return b.String()
}

func planText(p *Plan) string {
	if p.Src < 0 {
		if p.Busiest == nil {
			return "balanced: no busiest group\n"
		}
		return fmt.Sprintf("balanced: busiest %s %s, local %s\n", p.Busiest.Span, p.Type, p.Local)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "busiest %s %s, local %s: move %s %d from %d:", p.Busiest.Span, p.Type, p.Local, p.Migration, p.Imbalance, p.Src)
	for _, m := range p.Tasks {
		fmt.Fprintf(&b, " task %d -> %d", m.Task, m.Dst)
	}
	if len(p.Tasks) == 0 {
		b.WriteString(" nothing")
	}
	if p.Active {
		b.WriteString(", active balance")
	}
	b.WriteString("\n")
	return b.String()
}

// ilbText does the work of a kick: every pass's tasks are moved at once.
func (y *system) ilbText(self int, jiffies int64) string {
	var b strings.Builder
	flags := y.BeginILB(self, jiffies)
	if flags == 0 {
		return "nothing to serve\n"
	}
	fmt.Fprintf(&b, "serves %s\n", flagText(flags))
	for {
		c, refresh, walk := y.NextILB()
		if c < 0 {
			break
		}
		fmt.Fprintf(&b, "cpu %d:", c)
		if refresh {
			b.WriteString(" refresh")
		}
		if walk {
			b.WriteString(" walk")
			idle := CPUIdle
			y.BeginDomains(c)
			for d := y.H.Base[c]; d != nil; d = d.Parent {
				more := true
				if y.Due(d, idle == NotIdle, jiffies) {
					p := y.Pass(d, c, idle, 0, jiffies)
					more = p.Continue
					b.WriteString(" " + d.Name)
					for _, m := range p.Tasks {
						fmt.Fprintf(&b, " (task %d from %d)", m.Task, p.Src)
						idle = NotIdle
					}
					if p.Active {
						fmt.Fprintf(&b, " (active from %d)", p.Src)
					}
					y.move(p)
				}
				y.DomainDone(d, idle == NotIdle, jiffies)
				if !more {
					b.WriteString(" stop")
					break
				}
			}
			y.FinishDomains(c, jiffies)
		}
		b.WriteString("\n")
	}
	y.EndILB()
	n := y.Nohz
	fmt.Fprintf(&b, "next balance %d, next blocked %d, has blocked %t, needs update %t\n", n.NextBalance, n.NextBlocked, n.HasBlocked, n.NeedsUpdate)
	return b.String()
}

// runText lists the busy CPUs with their tasks, the current one first.
func (y *system) runText() string {
	var parts []string
	for c := range y.CPUs {
		if y.CPUs[c].NrRunning == 0 {
			continue
		}
		var ids []string
		for id := y.MRUFirst(c); id != state.None; id = y.MRUAfter(id) {
			ids = append(ids, strconv.Itoa(int(id)))
		}
		parts = append(parts, fmt.Sprintf("%d:[%s]", c, strings.Join(ids, " ")))
	}
	return strings.Join(parts, " ") + "\n"
}
