// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sibyl/cpumask"
	"sibyl/domain"
	"sibyl/policy"
	"sibyl/state"
)

// drawRequest is a random request of a kind.
func drawRequest(t *rapid.T, y *system) Request {
	n := y.H.NrCPUs
	r := y.wakeup(rapid.IntRange(0, n-1).Draw(t, "prev"), rapid.IntRange(0, n-1).Draw(t, "here"), 0)
	y.p.CPU = r.Prev
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		r.Flags = Fork
	case 1:
		r.Flags = Exec
	case 2:
		r.Flags |= Sync
	case 3:
		r.Waker, r.InTask = state.None, false
	}
	return r
}

// saved is what a decision may change, to run another one from the same state.
type saved struct {
	p, w   state.Task
	cpus   []state.CPU
	shared []state.Shared
}

func (y *system) save() saved {
	return saved{*y.p, *y.w, slices.Clone(y.CPUs), slices.Clone(y.Shared)}
}

func (y *system) restore(s saved) {
	*y.p, *y.w = s.p, s.w
	copy(y.CPUs, s.cpus)
	copy(y.Shared, s.shared)
}

// TestRecordingChangesNothing: a decision with a path is the one without, and
// so are its side effects.
func TestRecordingChangesNothing(t *testing.T) {
	for name, sh := range shapes {
		t.Run(name, func(t *testing.T) {
			y := newSystem(t, sh.on().hierarchy(t), policy.Rules{})
			rapid.Check(t, func(t *rapid.T) {
				draw(t, y)
				y.Rules.SMTRedirect = rapid.Bool().Draw(t, "redirect")
				y.Rules.SyncWakeup = policy.SyncWakeup(rapid.IntRange(0, 3).Draw(t, "sync-wakeup"))
				y.p.LastWakee = rapid.SampledFrom([]state.TaskID{state.None, y.w.ID}).Draw(t, "last")
				r := drawRequest(t, y)
				before := y.save()
				y.Path = nil
				want := y.Select(r)
				effect := effects(y, r)
				y.restore(before)
				y.Path = &Path{}
				if got := y.Select(r); got != want {
					t.Fatalf("recorded %d, unrecorded %d; path %s", got, want, y.Path)
				}
				if got := effects(y, r); !slices.Equal(got, effect) {
					t.Fatalf("recorded effects %v, unrecorded %v", got, effect)
				}
				if len(y.Path.Steps) == 0 {
					t.Fatal("empty path")
				}
			})
		})
	}
}

// TestMaskHolds: after the wrapper the CPU is in the mask and active.
func TestMaskHolds(t *testing.T) {
	for name, sh := range shapes {
		t.Run(name, func(t *testing.T) {
			y := newSystem(t, sh.on().hierarchy(t), policy.Rules{})
			rapid.Check(t, func(t *rapid.T) {
				draw(t, y)
				y.Rules.SMTRedirect = true
				empty := y.p.Allowed.Empty()
				r := drawRequest(t, y)
				r.Flags &^= Exec
				if c := y.SelectTaskRQ(r); !y.p.Allowed.Has(c) || !y.H.Active.Has(c) {
					t.Fatalf("CPU %d is outside the mask %s", c, y.p.Allowed)
				}
				if empty && !y.p.Allowed.Equal(y.H.Active) {
					t.Fatalf("an empty mask became %s", y.p.Allowed)
				}
			})
		})
	}
}

// TestRedirectProperties holds select_idle_smt_cpu to the properties of
// mechanisms 10.6.
func TestRedirectProperties(t *testing.T) {
	for name, sh := range shapes {
		t.Run(name, func(t *testing.T) {
			plain, on := newSystem(t, sh.hierarchy(t), policy.Rules{}), newSystem(t, sh.on().hierarchy(t), policy.Rules{})
			flat := sh.on()
			flat.priority = func(int) int { return 7 }
			equal := newSystem(t, flat.hierarchy(t), policy.Rules{})
			rapid.Check(t, func(t *rapid.T) {
				draw(t, on)
				on.Rules.SMTRedirect = true
				on.Rules.RevalidateFitness = rapid.Bool().Draw(t, "revalidate")
				on.begin(on.wakeup(0, 0, 0))
				c := rapid.IntRange(0, on.H.NrCPUs-1).Draw(t, "c")
				got := on.redirect(c)
				if got != c {
					if !on.H.Siblings[c].Has(got) {
						t.Fatalf("redirect(%d) = %d leaves the core", c, got)
					}
					if !on.p.Allowed.Has(got) || !on.choose(got) || on.H.Priority[got] <= on.H.Priority[c] {
						t.Fatalf("redirect(%d) = %d: not allowed, not idle or not preferred", c, got)
					}
				} else if !on.Rules.RevalidateFitness {
					for s := range on.H.Siblings[c].All() {
						if s != c && on.p.Allowed.Has(s) && on.choose(s) && on.H.Priority[s] > on.H.Priority[c] {
							t.Fatalf("redirect(%d) stays, %d is idle and preferred", c, s)
						}
					}
				}
				if again := on.redirect(got); again != got {
					t.Fatalf("not idempotent: %d, %d, %d", c, got, again)
				}
				for _, y := range []*system{plain, equal} {
					copyState(y, on)
					y.Rules.SMTRedirect = true
					y.begin(y.wakeup(0, 0, 0))
					if got := y.redirect(c); got != c {
						t.Fatalf("redirect(%d) = %d without an order of threads", c, got)
					}
				}
			})
		})
	}
}

// copyState puts y's CPUs and task into from's condition; both have the same
// shape.
func copyState(y, from *system) {
	copy(y.Idle, from.Idle)
	copy(y.Avail, from.Avail)
	copy(y.IdlePolicy, from.IdlePolicy)
	copy(y.IdleCore, from.IdleCore)
	copy(y.CPUs, from.CPUs)
	copy(y.Shared, from.Shared)
	*y.p, *y.w = *from.p, *from.w
	y.Rules, y.UclampUsed = from.Rules, from.UclampUsed
	y.State.Groups = slices.Clone(from.State.Groups)
}

// TestOffEqualsNoRule: smt-asym-packing=off decides as a kernel without the
// redirect does, path included.
func TestOffEqualsNoRule(t *testing.T) {
	for name, sh := range shapes {
		t.Run(name, func(t *testing.T) {
			without, off := newSystem(t, sh.hierarchy(t), policy.Rules{}), newSystem(t, sh.off().hierarchy(t), policy.Rules{})
			rapid.Check(t, func(t *rapid.T) {
				draw(t, without)
				r := drawRequest(t, without)
				copyState(off, without)
				off.Rules.SMTRedirect = true
				without.Path, off.Path = &Path{}, &Path{}
				a, b := without.Select(r), off.Select(r)
				if a != b || !slices.Equal(without.Path.Steps, off.Path.Steps) {
					t.Fatalf("without %d by %s, off %d by %s", a, without.Path, b, off.Path)
				}
			})
		})
	}
}

// TestVeraWakesOnPE0: with the threads ordered, a wakeup with prev on the PE1 of
// an idle core goes to a PE0, whatever else runs, as long as a PE0 of the
// chosen core is idle. On Vera PE0s are the lower half of the numbers.
func TestVeraWakesOnPE0(t *testing.T) {
	y := newSystem(t, vera.on().hierarchy(t), policy.Rules{SMTRedirect: true})
	n := y.H.NrCPUs
	rapid.Check(t, func(t *rapid.T) {
		y.idle(seq(0, n)...)
		core := rapid.IntRange(0, n/2-1).Draw(t, "core")
		for c := range n / 2 {
			// One thread of other cores may run, on either PE.
			if k := rapid.IntRange(0, 3).Draw(t, "busy"); c != core && k > 1 {
				y.busy(c + (k-2)*n/2)
			}
		}
		y.hint(0, rapid.Bool().Draw(t, "hint"))
		prev := core + n/2
		y.p.CPU, y.p.RecentUsed = prev, rapid.IntRange(0, n-1).Draw(t, "recent")
		if got := y.SelectTaskRQ(y.wakeup(prev, prev, 0)); got != core {
			t.Fatalf("prev %d on an idle core: chose %d, want PE0 %d", prev, got, core)
		}
	})
}

// TestForkFillOrder starts as many tasks as there are CPUs, one after the other
// and each running on. With the threads ordered they fill PE0 of every core,
// then PE1, and so on (mechanisms 5.3).
func TestForkFillOrder(t *testing.T) {
	for name, sh := range map[string]shape{
		"smt2": {cores: 8, threads: 2, split: true}, "smt4": {cores: 8, threads: 4}, "two nodes": {nodes: 2, cores: 4, threads: 2},
	} {
		t.Run(name, func(t *testing.T) {
			y := newSystem(t, sh.on().hierarchy(t), policy.Rules{SMTRedirect: true})
			n, threads := y.H.NrCPUs, sh.threads
			cores := n / threads
			for c := range n {
				y.CPUs[c].IdleStamp = int64(n - c) // the last one to go idle is PE0: order must not depend on it
				if c%2 == 1 {
					y.CPUs[c].IdleStamp = int64(n + c)
				}
			}
			rank := func(c int) int { return slices.Index(slices.Collect(y.H.Siblings[c].All()), c) }
			got := make([]int, threads)
			for i := range n {
				here := 0
				r := Request{Task: y.p.ID, Prev: here, Here: here, Flags: Fork, Waker: y.w.ID, InTask: true}
				c := y.SelectTaskRQ(r)
				if y.CPUs[c].NrRunning != 0 {
					t.Fatalf("task %d was put on busy CPU %d", i, c)
				}
				y.busy(c)
				got[rank(c)]++
				if want := min(got[0], cores); want != min(i+1, cores) {
					t.Fatalf("after %d tasks only %d run on PE0", i+1, got[0])
				}
			}
		})
	}
}

// TestNoAllocation: a decision without a path allocates nothing.
func TestNoAllocation(t *testing.T) {
	for name, sh := range map[string]shape{"vera": vera.on(), "smt2": smt2, "thunder": thunder, "clusters": kunpeng} {
		y := newSystem(t, sh.hierarchy(t), policy.Rules{SMTRedirect: true})
		y.busy(seq(0, y.H.NrCPUs/2)...)
		for _, r := range []Request{y.wakeup(1, 1, Sync), {Task: y.p.ID, Flags: Fork, Waker: y.w.ID}, {Task: y.p.ID, Flags: Exec, Waker: y.p.ID}} {
			if n := testing.AllocsPerRun(10, func() { y.Select(r) }); n != 0 {
				t.Errorf("%s: flags %#x: %v allocations", name, r.Flags, n)
			}
		}
	}
}

// TestQueueWakelist is the wake-list test of mechanisms 2.1.
func TestQueueWakelist(t *testing.T) {
	y := newSystem(t, shape{nodes: 2, cores: 4}.hierarchy(t), policy.Rules{})
	y.busy(1, 5)
	for _, tt := range []struct {
		cpu, here int
		want      bool
		why       string
	}{
		{0, 0, false, "the waker's own CPU"},
		{1, 0, false, "shares a cache and is busy"},
		{2, 0, true, "shares a cache and is idle"},
		{4, 0, true, "another cache, idle"},
		{5, 0, true, "another cache, busy"},
	} {
		if got := y.QueueWakelist(y.p.ID, tt.cpu, tt.here); got != tt.want {
			t.Errorf("QueueWakelist(%d from %d) = %v: %s", tt.cpu, tt.here, got, tt.why)
		}
	}
	y.allow(y.p, 0, 1)
	if y.QueueWakelist(y.p.ID, 4, 0) {
		t.Error("queued on a CPU outside the mask")
	}
	y.Rules.NoTTWUQueue = true
	if y.QueueWakelist(y.p.ID, 2, 0) {
		t.Error("NO_TTWU_QUEUE queues")
	}
}

// TestNoDomains: a system whose CPUs have no domains leaves tasks alone.
func TestNoDomains(t *testing.T) {
	y := newSystem(t, shape{cores: 2, options: domain.Options{Partition: cpumask.Of(2, 0)}}.hierarchy(t), policy.Rules{})
	y.allow(y.p, 0, 1)
	for _, f := range []Flags{TTWU, Fork, Exec} {
		r := y.wakeup(1, 1, 0)
		r.Flags = f
		y.busy(1)
		if got := y.Select(r); got != 1 {
			t.Errorf("flags %#x: chose %d, want 1", f, got)
		}
	}
}

// TestIsolatedSibling: a CPU outside the partition has no domain, but a core is
// idle only if it is idle too (select_idle_core reads cpu_smt_mask).
func TestIsolatedSibling(t *testing.T) {
	sh := shape{cores: 3, threads: 2, split: true}
	sh.options.Partition = cpumask.Of(6, 0, 1, 2, 3, 5)
	y := newSystem(t, sh.hierarchy(t), policy.Rules{})
	y.busy(0)
	y.hint(0, true)
	if got := y.SelectTaskRQ(y.wakeup(0, 0, 0)); got != 1 {
		t.Errorf("chose %d, want 1: its isolated sibling 4 is idle", got)
	}
	y.busy(4)
	if got := y.SelectTaskRQ(y.wakeup(0, 0, 0)); got != 2 {
		t.Errorf("chose %d, want 2: CPU 1's isolated sibling 4 is busy", got)
	}
	// A task on an isolated CPU stays there.
	y.allow(y.p, 4)
	if got := y.SelectTaskRQ(y.wakeup(4, 4, 0)); got != 4 {
		t.Errorf("chose %d, want the isolated CPU 4", got)
	}
}

// TestOffline: an offline CPU is not used, and its core is the rest.
func TestOffline(t *testing.T) {
	m := guest.machine()
	m.CPUs[3].Online = false
	h, err := domain.Build(m, domain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	y := newSystem(t, h, policy.Rules{})
	y.busy(0, 1)
	y.hint(0, true)
	y.allow(y.p, seq(0, 8)...)
	if got := y.SelectTaskRQ(y.wakeup(0, 0, 0)); got != 2 {
		t.Errorf("chose %d, want 2: its sibling is offline", got)
	}
	y.allow(y.p, 3)
	y.p.CPU = 5
	if got := y.SelectTaskRQ(y.wakeup(3, 0, 0)); got != 0 {
		t.Errorf("a task allowed on an offline CPU only was put on %d, want 0", got)
	}
	if y.QueueWakelist(y.p.ID, 3, 0) {
		t.Error("queued on an offline CPU")
	}
}

// TestBalanceWake: with SD_BALANCE_WAKE, which no default domain has, wakeups
// take the slow path, but not if an affine domain holds prev (mechanisms 2.2).
func TestBalanceWake(t *testing.T) {
	h := shape{nodes: 2, cores: 4}.hierarchy(t)
	for _, d := range h.Domains {
		d.Flags |= domain.BalanceWake
	}
	y := newSystem(t, h, policy.Rules{})
	has := func(r Rule) bool {
		return slices.ContainsFunc(y.Path.Steps, func(s Step) bool { return s.Rule == r })
	}
	y.Path = &Path{}
	y.Select(y.wakeup(5, 0, 0))
	if has(RuleSlowPath) || !has(RuleTarget) {
		t.Errorf("affine: %s", y.Path)
	}
	y.allow(y.p, 4, 5, 6, 7)
	y.Path.Reset()
	if c := y.Select(y.wakeup(5, 0, 0)); !has(RuleSlowPath) || has(RuleTarget) || !y.p.Allowed.Has(c) && c != 0 {
		t.Errorf("not affine: %d by %s", c, y.Path)
	}
}
