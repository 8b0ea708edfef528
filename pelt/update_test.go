// SPDX-License-Identifier: Apache-2.0

package pelt

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// unit is the ns of one PELT unit, ms of one period.
const (
	unit = 1 << clockShift
	ms   = period * unit
)

// step is a stretch of time in which a signal's parts keep their worth.
type step struct{ units, load, runnable, running uint64 }

func drawStep(t *rapid.T, queue bool) step {
	s := step{units: rapid.OneOf(rapid.Uint64Range(0, 3000), rapid.Uint64Range(0, 200_000), rapid.Uint64Range(0, 4_000_000)).Draw(t, "units")}
	most := uint64(1)
	if queue {
		most = 64
	}
	s.runnable = rapid.Uint64Range(0, most).Draw(t, "runnable")
	s.load = s.runnable
	if queue {
		s.load *= rapid.Uint64Range(3, 88761).Draw(t, "weight")
	}
	if s.runnable > 0 {
		s.running = rapid.Uint64Range(0, 1).Draw(t, "running")
	}
	return s
}

// slow is the arithmetic of the kernel written as its formulas read, one
// period after the other where the kernel has a closed form.
type slow struct {
	load, runnable, util *big.Int
	contrib              uint64
}

func newSlow() *slow { return &slow{load: new(big.Int), runnable: new(big.Int), util: new(big.Int)} }

// slowDecay halves for each half-life, then multiplies by the rest's power.
func slowDecay(v *big.Int, n uint64) *big.Int {
	v = new(big.Int).Set(v)
	if n > 2016 {
		return v.SetInt64(0)
	}
	for ; n >= 32; n -= 32 {
		v.Rsh(v, 1)
	}
	v.Mul(v, big.NewInt(int64(yPowers[n])))
	return v.Rsh(v, 32)
}

func (s *slow) step(st step) {
	var whole []uint64 // the stretch, cut at the ends of periods
	left := st.units
	for s.contrib+left >= period {
		whole = append(whole, period-s.contrib)
		left -= period - s.contrib
		s.contrib = 0
	}
	s.contrib += left
	n := uint64(len(whole))
	contribution := int64(left)
	if n > 0 {
		s.load, s.runnable, s.util = slowDecay(s.load, n), slowDecay(s.runnable, n), slowDecay(s.util, n)
		// what lies between the first and the last end: all there ever
		// was, less what is older than n periods, less the present one
		older := slowDecay(big.NewInt(Max), n).Int64()
		contribution += slowDecay(big.NewInt(int64(whole[0])), n).Int64() + Max - older - period
	}
	add := func(sum *big.Int, worth, scale uint64) {
		c := big.NewInt(contribution)
		c.Mul(c, new(big.Int).SetUint64(worth*scale))
		sum.Add(sum, c)
	}
	add(s.load, st.load, 1)
	add(s.runnable, st.runnable, 1024)
	add(s.util, st.running, 1024)
}

func (s *slow) avg(last, weight int64) Avg {
	div := big.NewInt(Max - 1024 + int64(s.contrib))
	of := func(v *big.Int) int64 { return new(big.Int).Div(v, div).Int64() }
	return Avg{
		LastUpdate: last, PeriodContrib: uint32(s.contrib),
		LoadSum: s.load.Uint64(), RunnableSum: s.runnable.Uint64(), UtilSum: s.util.Uint64(),
		LoadAvg: of(new(big.Int).Mul(s.load, big.NewInt(weight))), RunnableAvg: of(s.runnable), UtilAvg: of(s.util),
	}
}

// TestUpdate holds tasks and queues to the slow writing, bit by bit.
func TestUpdate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queue := rapid.Bool().Draw(t, "queue")
		weight := int64(1)
		if !queue {
			weight = rapid.Int64Range(2, 88761).Draw(t, "weight")
		}
		var got, before Avg
		ref := newSlow()
		now, seen := int64(0), int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			st := drawStep(t, queue)
			now += int64(st.units)*unit + rapid.Int64Range(0, unit-1).Draw(t, "ns")
			st.units = uint64(now-seen) / unit // what is less than a unit waits
			seen += int64(st.units) * unit
			ends := ref.contrib+st.units >= period
			ref.step(st)
			before = got
			var rolled bool
			switch {
			case queue:
				rolled = got.UpdateQueue(now, int64(st.load), int(st.runnable), st.running == 1)
			case st.load == 0:
				got.Weight = weight
				rolled = got.UpdateBlocked(now)
			default:
				rolled = got.UpdateEntity(now, weight, true, st.running == 1)
			}
			if rolled != ends {
				t.Fatalf("period ended: %t, reported %t", ends, rolled)
			}
			want := ref.avg(seen, weight)
			if !ends { // averages stay
				want.LoadAvg, want.RunnableAvg, want.UtilAvg = before.LoadAvg, before.RunnableAvg, before.UtilAvg
			}
			want.Weight = got.Weight
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after %+v (-want +got):\n%s", st, diff)
			}
		}
	})
}

// root32 is y = 2^(-1/32) to 200 bits.
func root32() *big.Float {
	y := new(big.Float).SetPrec(200).SetFloat64(0.5)
	for range 5 {
		y.Sqrt(y)
	}
	return y
}

// exact is the signal in real numbers: the sum over all units, each weighed by
// y per period end since.
type exact struct {
	y, sum  *big.Float
	contrib uint64
}

func (e *exact) step(units uint64, on bool) {
	for units > 0 {
		d := min(units, period-e.contrib)
		if on {
			e.sum.Add(e.sum, new(big.Float).SetPrec(200).SetUint64(d))
		}
		units -= d
		if e.contrib += d; e.contrib == period {
			e.contrib = 0
			e.sum.Mul(e.sum, e.y)
		}
	}
}

// avg is 1024 times the share of the largest sum, 1024*y/(1-y) for past periods
// and the present one's part.
func (e *exact) avg() float64 {
	one := new(big.Float).SetPrec(200).SetInt64(1)
	largest := new(big.Float).Quo(e.y, one.Sub(one, e.y))
	largest.Mul(largest, big.NewFloat(period))
	largest.Add(largest, new(big.Float).SetUint64(e.contrib))
	share := new(big.Float).Quo(e.sum, largest)
	f, _ := share.Mul(share, big.NewFloat(1024)).Float64()
	return f
}

// TestRealNumbers: the integers stay near the signal in real numbers. The
// kernel rounds down at every end of a period and its largest sum is 0.1 per
// cent too small.
func TestRealNumbers(t *testing.T) {
	y := root32()
	rapid.Check(t, func(t *rapid.T) {
		a := Avg{Weight: 1024}
		e := exact{y: y, sum: new(big.Float).SetPrec(200)}
		now := int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			units := rapid.Uint64Range(0, 40_000).Draw(t, "units")
			on := rapid.Bool().Draw(t, "on")
			now += int64(units) * unit
			e.step(units, on)
			if !a.UpdateEntity(now, 1024, on, on) {
				continue
			}
			want := e.avg()
			if d := float64(a.UtilAvg) - want; d > 2 || d < -5 {
				t.Fatalf("utilisation %d at %d units, exactly %.2f", a.UtilAvg, now/unit, want)
			}
			// The sum of load has no factor 1024 and so loses more to rounding.
			if d := a.LoadAvg - a.UtilAvg; d > 0 || d < -5 || a.RunnableAvg != a.UtilAvg {
				t.Fatalf("load %d, runnable %d, utilisation %d of a nice 0 task that ran whenever it could", a.LoadAvg, a.RunnableAvg, a.UtilAvg)
			}
		}
	})
}

// TestHalfLife: from 0 to half in 32 periods, to three quarters in 64, and
// back; load keeps the task's weight.
func TestHalfLife(t *testing.T) {
	a := Avg{Weight: 335}
	near := func(what string, got, want int64) {
		t.Helper()
		if got < want-3 || got > want+1 {
			t.Errorf("%s is %d, not about %d", what, got, want)
		}
	}
	a.UpdateEntity(32*ms, 335, true, true)
	near("utilisation after 32 periods of running", a.UtilAvg, 512)
	near("load", a.LoadAvg, 335/2)
	a.UpdateEntity(64*ms, 335, true, true)
	near("utilisation after 64", a.UtilAvg, 768)
	a.UpdateEntity(64*ms+345*ms, 335, true, true)
	near("utilisation after 409", a.UtilAvg, 1024)
	a.UpdateBlocked(64*ms + 345*ms + 32*ms)
	near("utilisation after 32 of sleep", a.UtilAvg, 512)
	near("load", a.LoadAvg, 335/2)
	a.UpdateEntity(64*ms+345*ms+64*ms, 335, true, false)
	near("utilisation after 32 of waiting", a.UtilAvg, 256)
	near("runnable", a.RunnableAvg, 768)
	near("load", a.LoadAvg, 335*3/4)
	a.UpdateDelayed(64*ms+345*ms+96*ms, 335)
	near("runnable after 32 of delayed sleep", a.RunnableAvg, 384)
	near("load", a.LoadAvg, 335*7/8)
	a.UpdateBlocked(64*ms + 345*ms + 96*ms + 2017*ms)
	if a.LoadSum != 0 || a.UtilSum != 0 || a.RunnableSum != 0 || a.LoadAvg != 0 || a.UtilAvg != 0 || a.RunnableAvg != 0 {
		t.Errorf("something is left after 63 half-lives: %+v", a)
	}
}

// TestJump: an update over n periods is that of n updates over one, but for
// the rounding of each.
func TestJump(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, 400_000).Draw(t, "units before")
		n := rapid.Int64Range(1, 200).Draw(t, "periods")
		queued := rapid.Bool().Draw(t, "queued")
		var one, all Avg
		one.UpdateEntity(at*unit, 1024, true, true)
		all = one
		for i := range n {
			one.UpdateEntity(at*unit+(i+1)*ms, 1024, queued, queued)
		}
		all.UpdateEntity(at*unit+n*ms, 1024, queued, queued)
		if d := one.UtilAvg - all.UtilAvg; d < -3 || d > 3 {
			t.Fatalf("%d periods after unit %d: utilisation %d in steps, %d at once", n, at, one.UtilAvg, all.UtilAvg)
		}
	})
}

// TestClockOfAnotherCPU: time that runs backwards changes nothing but the time.
func TestClockOfAnotherCPU(t *testing.T) {
	a := InitTask(1024)
	a.UpdateEntity(10*ms, 1024, true, true)
	want := a
	want.LastUpdate = 5*ms + 3
	if a.UpdateEntity(5*ms+3, 1024, true, true) {
		t.Error("a period ended")
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoLoad: a queue without load has nobody to be runnable or running.
func TestNoLoad(t *testing.T) {
	var a Avg
	a.UpdateQueue(500*unit, 0, 2, true)
	a.UpdateQueue(5*ms, 0, 2, true)
	if a.RunnableSum != 0 || a.UtilSum != 0 {
		t.Errorf("%+v", a)
	}
}

// TestUnit: time counts in whole units of 1024 ns; what is less waits.
func TestUnit(t *testing.T) {
	var a Avg
	for _, step := range []struct{ now, last, sum int64 }{{1023, 0, 0}, {1024, 1024, 1024}, {2047, 1024, 1024}, {4099, 4096, 4096}} {
		a.UpdateEntity(step.now, 1024, true, true)
		if a.LastUpdate != step.last || a.UtilSum != uint64(step.sum) || int64(a.PeriodContrib) != step.sum/1024 {
			t.Errorf("at %d ns: %+v", step.now, a)
		}
	}
}

// TestNoAllocation: an update is arithmetic only.
func TestNoAllocation(t *testing.T) {
	var q, e Avg
	now := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		now += ms
		q.UpdateQueue(now, 2048, 2, true)
		e.UpdateEntity(now, 1024, true, false)
		q.Detach(&e)
		q.Attach(&e)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
