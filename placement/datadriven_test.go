// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

// TestRules runs the scenarios of testdata. Their commands:
//
//	machine cores=4 [nodes= llcs= clusters= threads=] [split] [cap=(c0,c1,…)] [prio=(p0,p1,…)]
//	        [smt-packing=on|off] [no-asym] [partition=(list)]
//	    A new, idle system with task p, its waker w and hogs; the rules
//	    stay. cap is by core, prio by CPU. Prints the keys and CPU 0's domains.
//	rules [Rule…] [Rule=n]
//	    Sets policy.Rules to exactly these fields.
//	cpus [busy=(list)] [idle=(list)] [sched-idle=(list)] [preempted=(list)] [pending=(list)]
//	    Puts CPUs into these conditions, in this order.
//	cpu cpus=(list) [field=n…]
//	    Sets fields: running delayed load util runnable est now actual stamp latency.
//	hint cpu=n idle-cores=true|false | scan=n
//	    Sets has_idle_cores of sd_balance_shared, or nr_idle_scan of sd_llc
//	    and sd_balance_shared.
//	task p|w [allowed=(list)] [field=n…] [flags…]
//	    Sets fields: cpu recent util est load last flips min max; on=n puts
//	    it on that CPU, running; flags: sched-idle normal kthread exiting
//	    pinned.
//	select prev=n here=n [sync] [current-cpu] [fork] [exec] [irq] [idle-waker] [raw]
//	    One decision: its path, result and side effects. raw skips the
//	    wrapper.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			t.Skip("not a scenario")
		}
		var y *system
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "machine" {
				var out string
				var rules policy.Rules
				if y != nil {
					rules = y.Rules
				}
				y, out = machineCommand(t, d, rules)
				return out
			}
			if y == nil {
				d.Fatalf(t, "no machine yet")
			}
			switch d.Cmd {
			case "rules":
				y.Rules = policy.Rules{}
				for _, a := range d.CmdArgs {
					setRule(t, d, &y.Rules, a)
				}
			case "cpus":
				cpusCommand(t, d, y)
			case "cpu":
				cpuCommand(t, d, y)
			case "hint":
				hintCommand(t, d, y)
			case "task":
				taskCommand(t, d, y)
			case "select":
				return selectCommand(t, d, y)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return ""
		})
	})
}

func list(t *testing.T, d *datadriven.TestData, a datadriven.CmdArg) []int {
	cpus, err := cpumask.ParseList(strings.Join(a.Vals, ","))
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return cpus
}

func number(t *testing.T, d *datadriven.TestData, a datadriven.CmdArg) int {
	if len(a.Vals) != 1 {
		d.Fatalf(t, "%s: want one number", a.Key)
	}
	n, err := strconv.Atoi(a.Vals[0])
	if err != nil {
		d.Fatalf(t, "%s: %v", a.Key, err)
	}
	return n
}

func numbers(t *testing.T, d *datadriven.TestData, a datadriven.CmdArg) []int {
	var ns []int
	for _, v := range a.Vals {
		n, err := strconv.Atoi(v)
		if err != nil {
			d.Fatalf(t, "%s: %v", a.Key, err)
		}
		ns = append(ns, n)
	}
	return ns
}

func machineCommand(t *testing.T, d *datadriven.TestData, rules policy.Rules) (*system, string) {
	var s shape
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "nodes":
			s.nodes = number(t, d, a)
		case "llcs":
			s.llcs = number(t, d, a)
		case "clusters":
			s.clusters = number(t, d, a)
		case "cores":
			s.cores = number(t, d, a)
		case "threads":
			s.threads = number(t, d, a)
		case "split":
			s.split = true
		case "cap":
			ns := numbers(t, d, a)
			s.capacity = func(core int) int { return ns[core] }
		case "prio":
			ns := numbers(t, d, a)
			s.priority = func(cpu int) int { return ns[cpu] }
		case "smt-packing":
			s.options.SMTPacking = map[string]domain.SMTPacking{"on": domain.PackingOn, "off": domain.PackingOff}[a.Vals[0]]
		case "no-asym":
			s.options.NoAsymCapacity = true
		case "partition":
			s.options.Partition = cpumask.Of(cpumask.MaxCPUs, list(t, d, a)...)
		default:
			d.Fatalf(t, "unknown argument %s", a.Key)
		}
	}
	if p := s.options.Partition; p != nil {
		n := len(s.machine().CPUs)
		s.options.Partition = p[:len(cpumask.New(n))]
	}
	h := s.hierarchy(t)
	y := newSystem(t, h, rules)
	var b strings.Builder
	fmt.Fprintf(&b, "smt=%v asym=%v cluster=%v\n", h.SMTActive, h.AsymActive, h.ClusterActive)
	for dom := h.Base[0]; dom != nil; dom = dom.Parent {
		fmt.Fprintf(&b, "%s %s groups=%d packing=%v\n", dom.Name, dom.Span, len(dom.Groups), dom.Flags&domain.AsymPacking != 0)
	}
	return y, b.String()
}

func setRule(t *testing.T, d *datadriven.TestData, r *policy.Rules, a datadriven.CmdArg) {
	f := reflect.ValueOf(r).Elem().FieldByName(a.Key)
	switch {
	case !f.IsValid():
		d.Fatalf(t, "no rule %s", a.Key)
	case f.Kind() == reflect.Bool:
		f.SetBool(true)
	default:
		f.SetUint(uint64(number(t, d, a)))
	}
}

func cpusCommand(t *testing.T, d *datadriven.TestData, y *system) {
	for _, a := range d.CmdArgs {
		f := map[string]func(...int){
			"busy": y.busy, "idle": y.idle, "sched-idle": y.idlePolicy, "preempted": y.preempted, "pending": y.pending,
		}[a.Key]
		if f == nil {
			d.Fatalf(t, "unknown condition %s", a.Key)
		}
		f(list(t, d, a)...)
	}
}

func cpuCommand(t *testing.T, d *datadriven.TestData, y *system) {
	if len(d.CmdArgs) == 0 || d.CmdArgs[0].Key != "cpus" {
		d.Fatalf(t, "want cpus=(list) first")
	}
	for _, c := range list(t, d, d.CmdArgs[0]) {
		cpu := &y.CPUs[c]
		for _, a := range d.CmdArgs[1:] {
			n := number(t, d, a)
			switch a.Key {
			case "running":
				cpu.NrRunning, cpu.NrQueued, cpu.NrRunnable = int32(n), int32(n), int32(n)
			case "delayed":
				cpu.NrRunnable = cpu.NrQueued - int32(n)
			case "load":
				cpu.Avg.LoadAvg = int64(n)
			case "util":
				cpu.Avg.UtilAvg = int64(n)
			case "runnable":
				cpu.Avg.RunnableAvg = int64(n)
			case "est":
				cpu.UtilEst = int64(n)
			case "now":
				cpu.CapNow = int64(n)
			case "actual":
				cpu.CapActual = int64(n)
			case "stamp":
				cpu.IdleStamp = int64(n)
			case "latency":
				cpu.ExitLatency = int32(n)
			default:
				d.Fatalf(t, "unknown field %s", a.Key)
			}
		}
		y.Sync(c)
	}
	for i := range y.Groups {
		y.InitGroup(i)
	}
}

func hintCommand(t *testing.T, d *datadriven.TestData, y *system) {
	c := -1
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "cpu":
			c = number(t, d, a)
		case "idle-cores":
			y.hint(c, a.Vals[0] == "true")
		case "scan":
			for _, i := range []int{y.H.BalanceShared[c], y.H.LLCShared[c]} {
				if i >= 0 {
					y.Shared[i].NrIdleScan = number(t, d, a)
				}
			}
		default:
			d.Fatalf(t, "unknown argument %s", a.Key)
		}
	}
}

func taskCommand(t *testing.T, d *datadriven.TestData, y *system) {
	task := y.p
	for i, a := range d.CmdArgs {
		switch a.Key {
		case "p":
		case "w":
			task = y.w
		case "allowed":
			y.allow(task, list(t, d, a)...)
		case "sched-idle":
			task.Policy = state.IdlePolicy
		case "normal":
			task.Policy = state.Normal
		case "kthread":
			task.Kthread = true
		case "exiting":
			task.Exiting = true
		case "pinned":
			task.MigrationDisabled = true
		case "on":
			c := number(t, d, a)
			y.busy(c)
			y.CPUs[c].Curr, task.CPU, task.Queued = task.ID, c, true
		default:
			n := number(t, d, a)
			switch a.Key {
			case "cpu":
				task.CPU = n
			case "recent":
				task.RecentUsed = n
			case "util":
				task.Avg.UtilAvg, task.Avg.LastUpdate = int64(n), 1024
			case "est":
				task.UtilEst = int64(n)
			case "load":
				task.Avg.LoadAvg, task.HLoad, task.Avg.LastUpdate = int64(n), int64(n), 1024
			case "last":
				task.LastWakee = state.TaskID(n)
			case "flips":
				task.WakeeFlips, task.WakeeDecay = uint32(n), y.wakeup(0, 0, 0).Now
			case "min":
				task.UclampMin, y.UclampUsed = int64(n), true
			case "max":
				task.UclampMax, y.UclampUsed = int64(n), true
			default:
				d.Fatalf(t, "argument %d: unknown field %s", i, a.Key)
			}
		}
	}
}

func selectCommand(t *testing.T, d *datadriven.TestData, y *system) string {
	r := y.wakeup(0, 0, 0)
	raw := false
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "prev":
			r.Prev = number(t, d, a)
		case "here":
			r.Here = number(t, d, a)
		case "sync":
			r.Flags |= Sync
		case "current-cpu":
			r.Flags |= CurrentCPU
		case "fork":
			r.Flags = Fork
		case "exec":
			r.Flags, raw, r.Waker = Exec, true, y.p.ID
		case "irq":
			r.InTask = false
		case "idle-waker":
			r.Waker, r.InTask = state.None, false
		case "raw":
			raw = true
		default:
			d.Fatalf(t, "unknown argument %s", a.Key)
		}
	}
	before := effects(y, r)
	var path Path
	y.Path = &path
	var c int
	if raw {
		c = y.Select(r)
	} else {
		c = y.SelectTaskRQ(r)
	}
	y.Path = nil
	var b strings.Builder
	if err := path.Format(&b); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "cpu %d", c)
	for i, after := range effects(y, r) {
		if after != before[i] {
			fmt.Fprintf(&b, "; %s -> %s", before[i], after)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// effects describes what a decision may change.
func effects(y *system, r Request) []string {
	last, flips := y.CPUs[r.Here].IdleLastWakee, y.CPUs[r.Here].IdleWakeeFlips
	if r.Waker != state.None {
		last, flips = y.Tasks[r.Waker].LastWakee, y.Tasks[r.Waker].WakeeFlips
	}
	es := []string{
		fmt.Sprintf("recent %d", y.Tasks[r.Task].RecentUsed),
		fmt.Sprintf("last wakee %d, flips %d", last, flips),
	}
	for i := range y.Shared {
		es = append(es, fmt.Sprintf("idle-cores[%d] %v", i, y.Shared[i].HasIdleCores))
	}
	return es
}
