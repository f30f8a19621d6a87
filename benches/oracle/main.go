// The Go side of the comparison of speed. It reads requests as JSON lines on
// its standard input and writes one line of answer for each:
//
//	{"cell": "table/Pod/Apply", "millis": 100}   how long one run takes
//	{"cell": "table/Pod/Apply", "output": true}  its result
//	{"memory": true}                             sizes on the heap
//
// Cells have the names of the Rust side (benches/src/operations/mod.rs). A cell
// of the table whose name ends in /fresh has new objects for each run, made in
// batches; making them is not timed.
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

// server keeps the operation that was prepared last: the rounds of a cell are
// consecutive, and the inputs of other cells are not on the heap meanwhile.
type server struct {
	inputs inputs
	cell   string
	ready  *operation
}

// operation is ready to be measured.
type operation struct {
	// run does it once.
	run func() error
	// fresh, if it is set, makes inputs for one run, and returns the run.
	fresh func() (func() error, error)
	// batch is how many inputs are made at a time.
	batch  int
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
	return perRun(s.ready, time.Duration(r.Millis)*time.Millisecond, out)
}

// perRun repeats an operation for about the given time and returns the mean,
// including garbage collection.
func perRun(op *operation, budget time.Duration, out *measured) error {
	for runs := 1; ; {
		total := cost{}
		if err := total.add(op, runs); err != nil {
			return err
		}
		mean := float64(total.took.Nanoseconds()) / float64(runs)
		if total.took*2 >= budget || runs >= 1<<30 {
			out.Nanoseconds = mean
			out.Allocations = float64(total.allocations) / float64(runs)
			out.Bytes = float64(total.bytes) / float64(runs)
			return nil
		}
		wanted := int(float64(budget.Nanoseconds())/max(mean, 1)) + 1
		runs = min(max(wanted, runs+1), runs*100)
	}
}

// cost is the sum over several runs.
type cost struct {
	took        time.Duration
	allocations uint64
	bytes       uint64
}

// add runs an operation several times. If every run has its own inputs, they are
// made before the clock starts. The garbage collector is not called explicitly,
// and its work while the clock runs counts.
func (c *cost) add(op *operation, runs int) error {
	if op.fresh == nil {
		return c.timed(func() error { return repeat(op.run, runs) })
	}
	for left := runs; left > 0; {
		batch := make([]func() error, min(left, op.batch))
		for i := range batch {
			var err error
			if batch[i], err = op.fresh(); err != nil {
				return err
			}
		}
		err := c.timed(func() error {
			for _, run := range batch {
				if err := run(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		left -= len(batch)
	}
	return nil
}

func repeat(run func() error, runs int) error {
	for range runs {
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cost) timed(work func() error) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err := work()
	c.took += time.Since(start)
	runtime.ReadMemStats(&after)
	c.allocations += after.Mallocs - before.Mallocs
	c.bytes += after.TotalAlloc - before.TotalAlloc
	return err
}
