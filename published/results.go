// SPDX-License-Identifier: Apache-2.0

// Package published holds the numbers that the five messages publish, maps each
// to a machine, a workload and a policy, fits the model's free parameters to
// the rows set aside for that, and reproduces the rest.
package published

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Row is one published number. The names are spelled as in results.csv.
type Row struct {
	Table, Machine, Workload, Configuration, Metric, Unit string
	Mean                                                  float64
	// SD is the published standard deviation over Runs runs; HasSD tells
	// whether there is one.
	SD     float64
	HasSD  bool
	Runs   int
	Source string
}

//go:embed results.csv
var resultsCSV []byte

// Rows returns every published row in the file's order.
func Rows() ([]Row, error) { return parseRows(bytes.NewReader(resultsCSV)) }

var columns = []string{"table", "machine", "workload", "configuration", "metric", "unit", "mean", "sd", "runs", "source"}

func parseRows(r io.Reader) ([]Row, error) {
	cr := csv.NewReader(r)
	cr.FieldsPerRecord = len(columns)
	head, err := cr.Read()
	if err != nil {
		return nil, fmt.Errorf("read published results: %w", err)
	}
	for i, name := range columns {
		if head[i] != name {
			return nil, fmt.Errorf("read published results: line 1: column %d is %q: want %q", i+1, head[i], name)
		}
	}
	var rows []Row
	for {
		f, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read published results: %w", err)
		}
		line, _ := cr.FieldPos(0)
		row := Row{
			Table: f[0], Machine: f[1], Workload: f[2], Configuration: f[3], Metric: f[4], Unit: f[5], Source: f[9],
		}
		if row.Mean, err = strconv.ParseFloat(f[6], 64); err != nil {
			return nil, fmt.Errorf("read published results: line %d: mean %q: want a number", line, f[6])
		}
		if f[7] != "" {
			row.HasSD = true
			if row.SD, err = strconv.ParseFloat(f[7], 64); err != nil {
				return nil, fmt.Errorf("read published results: line %d: sd %q: want a number", line, f[7])
			}
		}
		if row.Runs, err = strconv.Atoi(f[8]); err != nil || row.Runs < 1 {
			return nil, fmt.Errorf("read published results: line %d: runs %q: want a number above 0", line, f[8])
		}
		rows = append(rows, row)
	}
}
