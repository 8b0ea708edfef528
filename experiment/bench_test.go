// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"
	"testing"
)

// A sweep's worth: 4 policies, 12 metrics, 200 seeds.
func BenchmarkCompare(b *testing.B) {
	policies := []string{"v7.1", "v7.2", "v7.3", "tip"}
	var ss []Sample
	for seed := range uint64(200) {
		for i, p := range policies {
			for m := range 12 {
				ss = append(ss, Sample{
					Policy: p, Seed: seed, Metric: fmt.Sprintf("metric%02d", m), Unit: "s",
					Value: float64(1000 + i*m + int(seed*2654435761%97)),
				})
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		Compare(policies, ss, Options{MinEffect: DefaultMinEffect})
	}
}
