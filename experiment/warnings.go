// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"slices"
	"strings"
)

// warnings collects remarks, so that one that many metrics share is one line.
type warnings struct {
	list []warning
}

type warning struct {
	about, text string
	metrics     []string
}

// add notes text about a policy or a pair of them; metric may be empty.
func (w *warnings) add(about, text, metric string) {
	i := slices.IndexFunc(w.list, func(x warning) bool { return x.about == about && x.text == text })
	if i < 0 {
		i = len(w.list)
		w.list = append(w.list, warning{about: about, text: text})
	}
	if metric != "" && !slices.Contains(w.list[i].metrics, metric) {
		w.list[i].metrics = append(w.list[i].metrics, metric)
	}
}

// lines are the remarks in the order in which they came up; never nil.
func (w *warnings) lines() []string {
	out := make([]string, len(w.list))
	for i, x := range w.list {
		out[i] = x.about + ": " + x.text
		if len(x.metrics) > 0 {
			out[i] += " (" + strings.Join(x.metrics, ", ") + ")"
		}
	}
	return out
}
