// The Go side of the comparison of speed. It reads requests as JSON lines on
// its standard input and writes one line of answer for each:
//
//	{"cell": "table/Pod/Apply", "millis": 100}   how long one run takes
//	{"cell": "table/Pod/Apply", "output": true}  what it comes to
//	{"memory": true}                             what things take on the heap
//
// The inputs are files that the Rust side wrote; the folder is the argument.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"
)

type request struct {
	Cell   string `json:"cell"`
	Millis int    `json:"millis"`
	Output bool   `json:"output"`
	Memory bool   `json:"memory"`
}

type measured struct {
	Nanoseconds float64            `json:"ns"`
	Allocations float64            `json:"allocations"`
	Bytes       float64            `json:"bytes"`
	Output      any                `json:"output,omitempty"`
	Memory      map[string]float64 `json:"memory,omitempty"`
	Error       string             `json:"error,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: oracle-speed FOLDER")
		os.Exit(2)
	}
	s := &server{inputs: inputs{folder: os.Args[1]}}
	reader := bufio.NewReader(os.Stdin)
	writer := json.NewEncoder(os.Stdout)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		answer := measured{}
		if err := s.answer(line, &answer); err != nil {
			answer.Error = err.Error()
		}
		if err := writer.Encode(answer); err != nil {
			fmt.Fprintf(os.Stderr, "oracle-speed: %v\n", err)
			os.Exit(1)
		}
	}
}

// server keeps the operation that was prepared last: rounds of one cell follow
// each other, and what other cells need is not on the heap meanwhile.
type server struct {
	inputs inputs
	cell   string
	ready  *operation
}

// operation is ready to be measured.
type operation struct {
	run    func() error
	output func() (any, error)
}

func (s *server) answer(line []byte, out *measured) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if r.Memory {
		s.cell, s.ready = "", nil
		var err error
		out.Memory, err = s.inputs.memory()
		return err
	}
	if s.cell != r.Cell || s.ready == nil {
		s.cell, s.ready = r.Cell, nil
		runtime.GC()
		ready, err := s.inputs.prepare(r.Cell)
		if err != nil {
			return err
		}
		s.ready = ready
		runtime.GC()
	}
	if r.Output {
		var err error
		out.Output, err = s.ready.output()
		return err
	}
	return perRun(s.ready.run, time.Duration(r.Millis)*time.Millisecond, out)
}

// perRun repeats an operation for about some time and takes the mean, with the
// garbage collection that it causes.
func perRun(run func() error, budget time.Duration, out *measured) error {
	var before, after runtime.MemStats
	for runs := 1; ; {
		runtime.ReadMemStats(&before)
		start := time.Now()
		for i := 0; i < runs; i++ {
			if err := run(); err != nil {
				return err
			}
		}
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		mean := float64(took.Nanoseconds()) / float64(runs)
		if took*2 >= budget || runs >= 1<<30 {
			out.Nanoseconds = mean
			out.Allocations = float64(after.Mallocs-before.Mallocs) / float64(runs)
			out.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(runs)
			return nil
		}
		wanted := int(float64(budget.Nanoseconds())/max(mean, 1)) + 1
		runs = min(max(wanted, runs+1), runs*100)
	}
}
