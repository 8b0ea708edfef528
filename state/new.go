// SPDX-License-Identifier: Apache-2.0

package state

import (
	"sibyl/cpumask"
	"sibyl/domain"
)

// Initial values of run-queue and domain fields, as sched_init and sd_init set
// them.
const (
	// MigrationCost is sysctl_sched_migration_cost, ns.
	MigrationCost = 500_000
	// DefaultHZ is the tick rate of the distribution kernels that the rules
	// are held to.
	DefaultHZ = 250
)

// New returns the state of an idle system with the given domains: every online
// CPU runs its idle task with the tick running, no task exists.
func New(h *domain.Hierarchy, hz int) *State {
	if hz <= 0 {
		hz = DefaultHZ
	}
	n := h.NrCPUs
	cores := 0
	for c := range n {
		cores = max(cores, h.Core[c]+1)
	}
	s := &State{
		H:           h,
		CPUs:        make([]CPU, n),
		Domains:     make([]DomainState, len(h.Domains)),
		Groups:      make([]GroupState, len(h.Groups)),
		Shared:      make([]Shared, len(h.Shared)),
		Nohz:        Nohz{IdleMask: cpumask.New(n)},
		Idle:        cpumask.New(n),
		Avail:       cpumask.New(n),
		IdlePolicy:  cpumask.New(n),
		IdleCore:    cpumask.New(n),
		TickNS:      int64(1_000_000_000 / hz),
		availInCore: make([]int32, cores),
		coreSize:    make([]int32, cores),
	}
	for c := range s.CPUs {
		cpu := &s.CPUs[c]
		cpu.Curr, cpu.head, cpu.tail = None, None, None
		cpu.IdleLastWakee = None
		cpu.ExitLatency = -1
		cpu.AvgIdle = 2 * MigrationCost
		cpu.MaxIdleCost = MigrationCost
		capacity := int64(h.Capacity[c])
		cpu.CapMax, cpu.CapActual, cpu.CapNow = capacity, capacity, capacity
		if h.Online.Has(c) {
			s.coreSize[h.Core[c]]++
		}
	}
	for i, d := range h.Domains {
		s.Domains[i] = DomainState{
			BalanceInterval: d.MinInterval,
			NewidleCall:     512,
			NewidleSuccess:  256,
			NewidleRatio:    512,
		}
	}
	for i, sh := range h.Shared {
		s.Shared[i] = Shared{NrIdleScan: sh.InitialIdleScan, NrBusyCPUs: sh.Weight}
	}
	for i := range h.Groups {
		s.InitGroup(i)
	}
	for c := range h.Online.All() {
		s.Sync(c)
	}
	return s
}

// InitGroup sets group i's capacity from its CPUs' present CapNow.
func (s *State) InitGroup(i int) {
	g := s.H.Groups[i]
	st := GroupState{MinCapacity: 1 << 62}
	for c := range g.Span.All() {
		capacity := s.CPUs[c].CapNow
		st.Capacity += capacity
		st.MinCapacity = min(st.MinCapacity, capacity)
		st.MaxCapacity = max(st.MaxCapacity, capacity)
	}
	s.Groups[i] = st
}

// AddTask appends a sleeping, never placed task that may run on allowed (nil:
// every CPU) and was forked by parent (None: nobody), whose wakee bookkeeping
// and recent_used_cpu it inherits as fork does. The caller sets policy, weight
// and averages.
func (s *State) AddTask(name string, allowed cpumask.Mask, parent TaskID) *Task {
	if allowed == nil {
		allowed = s.H.Active
	}
	t := &Task{
		ID:        TaskID(len(s.Tasks)),
		Name:      name,
		CPU:       -1,
		WakeCPU:   -1,
		LastWakee: None,
		UclampMax: 1024,
		next:      None,
		prev:      None,
	}
	t.SE.ID, t.SE.Weight = int32(t.ID), 1024
	if parent != None {
		p := s.Tasks[parent]
		t.LastWakee, t.WakeeFlips, t.WakeeDecay = p.LastWakee, p.WakeeFlips, p.WakeeDecay
		t.RecentUsed = p.CPU
	}
	s.Tasks = append(s.Tasks, t)
	s.SetAllowed(t, allowed)
	return t
}

// SetAllowed changes the CPUs that t may run on.
func (s *State) SetAllowed(t *Task, allowed cpumask.Mask) {
	t.Allowed = allowed.Clone()
	t.NrAllowed = allowed.Count()
	t.MaxAllowedCapacity = 0
	for c := range allowed.All() {
		t.MaxAllowedCapacity = max(t.MaxAllowedCapacity, s.CPUs[c].CapMax)
	}
}
