// The oracle answers what the reference implementation of Server-Side Apply
// does with a scenario. It reads scenarios as JSON lines on its standard input
// and writes one line of results for each, in the order of the input.
//
// A line is either a scenario or {"repeat": N, "scenario": {...}}. The second
// form runs the scenario N times and reports, as "variants", every result that
// differs from the first one: the reference iterates over Go maps, so a few
// outcomes depend on chance.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
)

func main() {
	workers := flag.Int("workers", runtime.NumCPU(), "number of scenarios that run at the same time")
	flag.Parse()
	if err := serve(os.Stdin, os.Stdout, *workers); err != nil {
		fmt.Fprintf(os.Stderr, "oracle: %v\n", err)
		os.Exit(1)
	}
}

// serve answers until the input ends. Every line of input gets a channel that
// will carry its answer; the writer takes the channels in input order, so the
// workers may finish in any order.
func serve(in io.Reader, out io.Writer, workers int) error {
	type job struct {
		line   []byte
		answer chan []byte
	}
	if workers < 1 {
		workers = 1
	}
	jobs := make(chan job, workers)
	pending := make(chan chan []byte, 256)
	for i := 0; i < workers; i++ {
		go func() {
			for j := range jobs {
				j.answer <- answer(j.line)
			}
		}()
	}

	readErr := make(chan error, 1)
	go func() {
		defer close(pending)
		defer close(jobs)
		reader := bufio.NewReaderSize(in, 1<<20)
		for {
			line, err := reader.ReadBytes('\n')
			if len(trimSpace(line)) > 0 {
				ch := make(chan []byte, 1)
				pending <- ch
				jobs <- job{line: line, answer: ch}
			}
			if err == io.EOF {
				readErr <- nil
				return
			}
			if err != nil {
				readErr <- err
				return
			}
		}
	}()

	writer := bufio.NewWriterSize(out, 1<<20)
	for ch := range pending {
		if _, err := writer.Write(append(<-ch, '\n')); err != nil {
			return err
		}
		// A caller that waits for an answer before it asks again must get it
		// now; one that asks in bulk is served with fewer writes.
		if len(pending) == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
	if err := writer.Flush(); err != nil {
		return err
	}
	return <-readErr
}

func trimSpace(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r' || line[len(line)-1] == ' ') {
		line = line[:len(line)-1]
	}
	return line
}

// outcome is the answer to one scenario.
type outcome struct {
	Results     []any   `json:"results,omitempty"`
	Variants    [][]any `json:"variants,omitempty"`
	SchemaError string  `json:"schemaError,omitempty"`
	Error       string  `json:"error,omitempty"`
}

func answer(line []byte) []byte {
	out := answerLine(line)
	text, err := json.Marshal(out)
	if err != nil {
		text, _ = json.Marshal(outcome{Error: fmt.Sprintf("cannot write the results: %v", err)})
	}
	return text
}

func answerLine(line []byte) outcome {
	var request struct {
		Repeat   int             `json:"repeat"`
		Scenario json.RawMessage `json:"scenario"`
	}
	if err := json.Unmarshal(line, &request); err != nil {
		return outcome{Error: fmt.Sprintf("cannot read the scenario: %v", err)}
	}
	text := json.RawMessage(line)
	if request.Scenario != nil {
		text = request.Scenario
	}
	out := runText(text)
	if out.Results == nil {
		return out
	}
	seen := map[string]bool{fingerprint(out.Results): true}
	for i := 1; i < request.Repeat; i++ {
		again := runText(text)
		if print := fingerprint(again.Results); !seen[print] {
			seen[print] = true
			out.Variants = append(out.Variants, again.Results)
		}
	}
	return out
}

func runText(text []byte) outcome {
	s, err := parseScenario(text)
	if err != nil {
		if schemaErr, ok := err.(schemaError); ok {
			return outcome{SchemaError: schemaErr.Error()}
		}
		return outcome{Error: err.Error()}
	}
	return outcome{Results: s.run()}
}

func fingerprint(results []any) string {
	text, err := json.Marshal(results)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
