// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// field ties a key of the text form to a place in a value: an integer or a
// flag. A line holds only the fields that differ from those of a fresh value.
type field struct {
	key  string
	num  *int64
	flag *bool
}

func (c *CPU) fields() []field {
	return []field{
		{"running", &c.NrRunning, nil},
		{"queued", &c.NrQueued, nil},
		{"runnable", &c.NrRunnable, nil},
		{"idlepolicy", &c.NrIdle, nil},
		{"curr", &c.Curr, nil},
		{"ttwu", nil, &c.TTWUPending},
		{"preempted", nil, &c.Preempted},
		{"updated", &c.LastUpdate, nil},
		{"load", &c.Load, nil},
		{"util", &c.Util, nil},
		{"runnable-avg", &c.Runnable, nil},
		{"util-est", &c.UtilEst, nil},
		{"cap-max", &c.CapMax, nil},
		{"cap-actual", &c.CapActual, nil},
		{"cap-now", &c.CapNow, nil},
		{"idle-stamp", &c.IdleStamp, nil},
		{"exit-latency", &c.ExitLatency, nil},
	}
}

// freshCPU is an idle CPU of the largest capacity, which ran nothing yet.
func freshCPU() CPU {
	return CPU{Curr: -1, CapMax: 1024, CapActual: 1024, CapNow: 1024, ExitLatency: -1}
}

func (w *Wakee) fields() []field {
	return []field{{"last-wakee", &w.Last, nil}, {"flips", &w.Flips, nil}, {"decay", &w.Decay, nil}}
}

func (t *Task) fields() []field {
	return append([]field{
		{"policy", &t.Policy, nil},
		{"kthread", nil, &t.Kthread},
		{"exiting", nil, &t.Exiting},
		{"migration-disabled", nil, &t.MigrationDisabled},
		{"on-rq", nil, &t.Queued},
		{"cpu", &t.CPU, nil},
		{"recent", &t.RecentUsed, nil},
		{"updated", &t.LastUpdate, nil},
		{"load-sum", &t.LoadSum, nil},
		{"runnable-sum", &t.RunnableSum, nil},
		{"util-sum", &t.UtilSum, nil},
		{"contrib", &t.PeriodContrib, nil},
		{"load", &t.LoadAvg, nil},
		{"runnable-avg", &t.RunnableAvg, nil},
		{"util", &t.Util, nil},
		{"util-est", &t.UtilEst, nil},
		{"hload", &t.HLoad, nil},
		{"uclamp-min", &t.UclampMin, nil},
		{"uclamp-max", &t.UclampMax, nil},
	}, t.Wakee.fields()...)
}

func freshTask() Task { return Task{CPU: -1, Wakee: Wakee{Last: -1}, UclampMax: 1024} }

func (s *Shared) fields() []field {
	return []field{{"idle-cores", nil, &s.HasIdleCores}, {"scan", &s.NrIdleScan, nil}}
}

func (g *Group) fields() []field {
	return []field{
		{"capacity", &g.Capacity, nil},
		{"min", &g.MinCapacity, nil},
		{"max", &g.MaxCapacity, nil},
		{"imbalance", nil, &g.Imbalance},
	}
}

// appendFields writes ` key=value` for numbers and ` key` for flags, leaving
// out what equals fresh.
func appendFields(b []byte, fs, fresh []field) []byte {
	for i, f := range fs {
		switch {
		case f.num != nil && *f.num != *fresh[i].num:
			b = append(b, ' ')
			b = append(b, f.key...)
			b = append(b, '=')
			b = strconv.AppendInt(b, *f.num, 10)
		case f.flag != nil && *f.flag != *fresh[i].flag:
			b = append(b, ' ')
			b = append(b, f.key...)
		}
	}
	return b
}

// setField reads one such word.
func setField(fs []field, word string) error {
	key, value, valued := strings.Cut(word, "=")
	for _, f := range fs {
		if f.key != key {
			continue
		}
		if f.flag != nil && !valued {
			*f.flag = true
			return nil
		}
		if f.num == nil || !valued {
			return fmt.Errorf("field %q: want %s", clip(word), wants(f))
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("field %q: want an integer", clip(word))
		}
		*f.num = n
		return nil
	}
	return fmt.Errorf("unknown field %q", clip(word))
}

func wants(f field) string {
	if f.num != nil {
		return f.key + "=number"
	}
	return f.key + " without a value"
}

// Switches are structs of flags and small integers (policy.Rules,
// domain.Options); their Go names are the words of the text form, so that a new
// rule needs no line here.

func appendSwitches(b []byte, v any) []byte {
	r := reflect.ValueOf(v)
	for i := range r.NumField() {
		name, f := r.Type().Field(i).Name, r.Field(i)
		switch {
		case f.Kind() == reflect.Bool && f.Bool():
			b = append(append(b, ' '), name...)
		case f.CanUint() && f.Uint() != 0:
			b = append(append(b, ' '), name...)
			b = append(b, '=')
			b = strconv.AppendUint(b, f.Uint(), 10)
		}
	}
	return b
}

func setSwitch(v any, word string) error {
	name, value, valued := strings.Cut(word, "=")
	f := reflect.ValueOf(v).Elem().FieldByName(name)
	switch {
	case !f.IsValid():
		return fmt.Errorf("unknown switch %q", clip(word))
	case f.Kind() == reflect.Bool && !valued:
		f.SetBool(true)
		return nil
	case f.CanUint() && valued:
		n, err := strconv.ParseUint(value, 10, f.Type().Bits())
		if err != nil {
			return fmt.Errorf("switch %q: want a small number", clip(word))
		}
		f.SetUint(n)
		return nil
	}
	return fmt.Errorf("switch %q: want a flag name alone or name=number", clip(word))
}

// clip bounds what an error quotes of its input.
func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}
