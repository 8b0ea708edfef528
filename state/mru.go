// SPDX-License-Identifier: Apache-2.0

package state

// The MRU list is rq->cfs_tasks: fair tasks that are queued on a CPU, the one
// that ran or was enqueued last at the head. Load balance takes from the tail
// (mechanisms 7.8).

// MRUFirst returns the task at the head of c's list, None if it is empty.
func (s *State) MRUFirst(c int) TaskID { return s.CPUs[c].head }

// MRULast returns the task at the tail of c's list, None if it is empty.
func (s *State) MRULast(c int) TaskID { return s.CPUs[c].tail }

// MRUBefore returns the task one step nearer to the head than t.
func (s *State) MRUBefore(t TaskID) TaskID { return s.Tasks[t].prev }

// MRUAfter returns the task one step nearer to the tail than t.
func (s *State) MRUAfter(t TaskID) TaskID { return s.Tasks[t].next }

// MRUAdd puts t, which is on no list, at the head of c's list.
func (s *State) MRUAdd(c int, t TaskID) {
	cpu, task := &s.CPUs[c], s.Tasks[t]
	task.prev, task.next = None, cpu.head
	if cpu.head != None {
		s.Tasks[cpu.head].prev = t
	} else {
		cpu.tail = t
	}
	cpu.head = t
}

// MRUDel removes t from c's list.
func (s *State) MRUDel(c int, t TaskID) {
	cpu, task := &s.CPUs[c], s.Tasks[t]
	if task.prev != None {
		s.Tasks[task.prev].next = task.next
	} else {
		cpu.head = task.next
	}
	if task.next != None {
		s.Tasks[task.next].prev = task.prev
	} else {
		cpu.tail = task.prev
	}
	task.prev, task.next = None, None
}

// MRUTouch moves t to the head of c's list (it starts to run, or a balance
// pass skipped it).
func (s *State) MRUTouch(c int, t TaskID) {
	if s.CPUs[c].head != t {
		s.MRUDel(c, t)
		s.MRUAdd(c, t)
	}
}
