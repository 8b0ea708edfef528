// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sibyl/domain"
)

func mustParse(t testing.TB, s string) Policy {
	t.Helper()
	p, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// deviations lists the fields of Rules and Options that are not zero.
func deviations(p Policy) []string {
	var names []string
	for _, v := range []reflect.Value{reflect.ValueOf(p.Rules), reflect.ValueOf(p.Options)} {
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				names = append(names, v.Type().Field(i).Name)
			}
		}
	}
	return names
}

// TestEditions holds each edition to the last paragraph of mechanisms 0.3,
// "What a model needs per edition".
func TestEditions(t *testing.T) {
	rows72 := []string{
		"NohzILB", "ILBSkipsSelf", "DropPreferSibling", "MisfitLoadAnyDst", "LoneTaskNeedsCapacity", "ActiveAnyCurrent",
		"ProtectOwnTime", "PreemptByPick", // 11, 13, 16, 17, 22, 25, 26
	}
	rows71 := append([]string{
		"AsymCapacity", "LLCHintOnAsym", "IdleScanLLCPassOnly", "IdleScanStartsAtZero", "LLCIDFromDomain", "NoAsymShared",
		"MisfitPullAnyCore", "MinCapacityTestLast", "NoHRTick",
	}, rows72...) // 2-5, 7, 8, 14, 15, 27
	rows612 := slices.DeleteFunc(slices.Clone(rows71), func(s string) bool {
		return slices.Contains([]string{"MisfitPullAnyCore", "MinCapacityTestLast", "ProtectOwnTime", "PreemptByPick"}, s)
	}) // 14, 15 are backports; 25, 26 are older
	rows612 = append(rows612, "IdlePolicyAnyTask", "NoEmptyMaskExit", "AvgIdleAtWakeup", "NoNewidleRate", "SliceLagBound", "OldPreempt",
		"KickCountsDelayed", "CountsDelayed", "SerializeOutside", "PullsIneligible", "ProtectToDeadline", "NoLazyResched", "KeepEstAboveCapacity")
	for _, test := range []struct {
		edition string
		want    []string
	}{
		{"v7.3", nil},
		{"tip", []string{"SMTRedirect"}},
		{"v7.2", rows72},
		{"v7.1", rows71},
		{"v6.12", rows612},
	} {
		got := deviations(mustParse(t, test.edition))
		slices.Sort(got)
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.edition, diff)
		}
	}
}

// TestSwitches checks what a switch changes, from the edition that a published
// configuration starts from.
func TestSwitches(t *testing.T) {
	for _, test := range []struct {
		base, policy string
		add, drop    []string // fields that become non-zero, or zero
	}{
		{"v7.3", "v7.3+smt-asym-packing=on", []string{"SMTRedirect", "SMTPacking"}, nil},
		{"v7.3", "v7.3+smt-asym-packing=off", []string{"SMTRedirect", "SMTPacking"}, nil},
		{"v7.3", "v7.3+smt-asym-packing=auto", []string{"SMTRedirect"}, nil},
		{"tip", "tip+smt-asym-packing=auto", nil, nil},
		{"tip", "tip+smt-asym-packing=on", []string{"SMTPacking"}, nil},
		{"v7.3", "v7.3+revalidate-fitness=on", []string{"RevalidateFitness"}, nil},
		{"v7.1", "v7.1+asym-capacity=off", []string{"NoAsymCapacity"}, nil},
		{"v7.1", "v7.1+asym-capacity=plain", nil, nil},
		{"v6.12", "v6.12+asym-capacity=plain", nil, nil},
		{"v7.1", "v7.1+asym-capacity=smt", nil, []string{"AsymCapacity", "LLCHintOnAsym", "IdleScanLLCPassOnly", "IdleScanStartsAtZero", "NoAsymShared", "MisfitPullAnyCore"}},
		{"v7.3", "v7.3+asym-capacity=plain", []string{"AsymCapacity", "LLCHintOnAsym", "IdleScanLLCPassOnly", "IdleScanStartsAtZero", "NoAsymShared", "MisfitPullAnyCore"}, nil},
		{"v7.1", "v7.1+sis-util=off", []string{"NoSISUtil"}, nil},
		{"v7.1", "v7.1+asym-lb=7.3", nil, []string{"DropPreferSibling", "MisfitLoadAnyDst", "LoneTaskNeedsCapacity", "MinCapacityTestLast"}},
		{"v7.3", "v7.3+asym-lb=7.2", []string{"DropPreferSibling", "MisfitLoadAnyDst", "LoneTaskNeedsCapacity"}, nil},
		{"v7.2", "v7.2+nohz-ilb=idle-core", nil, []string{"NohzILB", "ILBSkipsSelf"}},
		{"v7.3", "v7.3+nohz-ilb=first", []string{"NohzILB", "ILBSkipsSelf"}, nil},
		{"v7.2", "v7.2+sync-wakeup=idle", nil, nil},
		{"v7.2", "v7.2+sync-wakeup=waker", []string{"SyncWakeup"}, nil},
		{"v7.2", "v7.2+sync-wakeup=sis", []string{"SyncWakeup"}, nil},
		{"v7.2", "v7.2+sync-wakeup=sibling", []string{"SyncWakeup"}, nil},
		{"v7.3", "v7.3+core-mode=off", nil, nil},
		{"v7.3", "v7.3+wa-idle=off", []string{"NoWAIdle"}, nil},
		{"v7.3", "v7.3+wa-weight=off", []string{"NoWAWeight"}, nil},
		{"v7.3", "v7.3+wa-bias=off", []string{"NoWABias"}, nil},
		{"v7.3", "v7.3+ttwu-queue=off", []string{"NoTTWUQueue"}, nil},
		{"v7.3", "v7.3+ni-random=off", []string{"NoNewidleRandom"}, nil},
		{"v7.3", "v7.3+ni-random=on", nil, nil},
	} {
		want := deviations(mustParse(t, test.base))
		want = slices.DeleteFunc(want, func(s string) bool { return slices.Contains(test.drop, s) })
		want = append(want, test.add...)
		got := deviations(mustParse(t, test.policy))
		// AsymOff and AsymPlain are both non-zero.
		if test.policy == "v7.1+asym-capacity=off" && mustParse(t, test.policy).Rules.AsymCapacity != AsymOff {
			t.Errorf("%s: asymmetric capacity is on", test.policy)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s against %s (-want +got):\n%s", test.policy, test.base, diff)
		}
	}
	if p := mustParse(t, "v7.3+smt-asym-packing=off"); p.Options.SMTPacking != domain.PackingOff {
		t.Errorf("smt-asym-packing=off sets %v", p.Options.SMTPacking)
	}
}

// TestEveryRuleIsReachable fails when a rule is added that no edition and no
// switch turns on.
func TestEveryRuleIsReachable(t *testing.T) {
	reached := map[string]bool{
		"SlowPathIgnoresMask": true, // row 9: 6.12.95 and 6.18 only, no edition here
		"Partition":           true, // a state of the machine
	}
	for _, e := range Editions() {
		for _, f := range deviations(mustParse(t, e.Name)) {
			reached[f] = true
		}
		for _, s := range Switches() {
			for _, v := range s.Values {
				for _, f := range deviations(mustParse(t, e.Name+"+"+s.Name+"="+v.Name)) {
					reached[f] = true
				}
			}
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Rules](), reflect.TypeFor[domain.Options]()} {
		for field := range typ.Fields() {
			if !reached[field.Name] {
				t.Errorf("no edition or switch sets %s.%s", typ.Name(), field.Name)
			}
		}
	}
}

// TestCanonical: the order of switches does not matter, and a switch that was given is in force, whatever else was given.
func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(editionNames()).Draw(t, "edition")
		var parts []string
		for _, s := range switches {
			if rapid.Bool().Draw(t, s.Name) {
				parts = append(parts, s.Name+"="+rapid.SampledFrom(s.valueNames()).Draw(t, "value"))
			}
		}
		shuffled := rapid.Permutation(parts).Draw(t, "order")
		p, err := Parse(strings.Join(append([]string{name}, shuffled...), "+"))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(append([]string{name}, parts...), "+"); p.Name != want {
			t.Fatalf("canonical name %q, want %q", p.Name, want)
		}
		again, err := Parse(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatal(diff)
		}
		for _, set := range p.Set {
			if got := find(set.Switch).Current(&p); got != set.Value {
				t.Fatalf("%s: %s is %q", p.Name, set.Switch, got)
			}
		}
	})
}

// TestPrint holds the printed forms and the error texts. Commands: list, show
// and parse, which prints errors, with the policy as input.
func TestPrint(t *testing.T) {
	datadriven.Walk(t, "testdata/print", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			var err error
			switch d.Cmd {
			case "list":
				err = List(&b)
			case "show":
				err = Show(&b, strings.TrimSpace(d.Input))
			case "parse":
				for line := range strings.Lines(d.Input) {
					p, err := Parse(strings.TrimSuffix(line, "\n"))
					if err != nil {
						b.WriteString(err.Error() + "\n")
					} else {
						b.WriteString(p.Name + "\n")
					}
				}
				return b.String()
			}
			if err != nil {
				return err.Error()
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(line) - 1; n > width {
					t.Errorf("line of %d columns: %s", n, line)
				}
			}
			return b.String()
		})
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"v7.3", "v7.3+smt-asym-packing=on", "tip+", "sibyl", "v7.1+asym-capacity=smt+sis-util=off", "+=", "v7.3+core-mode=aware"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
			return
		}
		if again, err := Parse(p.Name); err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("Parse(%q) is not stable: %v", p.Name, err)
		}
	})
}
