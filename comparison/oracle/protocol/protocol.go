// Package protocol is what the oracles have in common: JSON lines in, one line
// of JSON out for each, in the order of the input.
//
// A request with "repeat": N is answered N times. The answer is then
// {"answer": FIRST, "variants": [every other answer]}: the reference iterates
// over Go maps, so some outcomes depend on chance.
package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
)

// maxLine bounds a request, which may contain a whole OpenAPI document.
const maxLine = 64 << 20

// Main serves the standard streams until the input ends. The answers are
// encoded as JSON.
func Main(respond func(request []byte) any) {
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "number of requests that run at the same time")
	flag.Parse()
	if err := Serve(os.Stdin, os.Stdout, max(*workers, 1), respond); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}

// Serve answers until the input ends. It gives every request a channel for its answer. The writer takes the
// channels in input order, so the workers may finish in any order.
func Serve(in io.Reader, out io.Writer, workers int, respond func([]byte) any) error {
	type job struct {
		line   []byte
		answer chan []byte
	}
	jobs := make(chan job, workers)
	pending := make(chan chan []byte, 256)
	for range workers {
		go func() {
			for j := range jobs {
				j.answer <- Answer(j.line, respond)
			}
		}()
	}
	readErr := make(chan error, 1)
	go func() {
		defer close(pending)
		defer close(jobs)
		lines := bufio.NewScanner(in)
		lines.Buffer(make([]byte, 1<<16), maxLine)
		for lines.Scan() {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			answer := make(chan []byte, 1)
			pending <- answer
			// The scanner reuses its buffer, and a worker reads the line later.
			jobs <- job{line: bytes.Clone(lines.Bytes()), answer: answer}
		}
		readErr <- lines.Err()
	}()

	writer := bufio.NewWriterSize(out, 1<<20)
	for answer := range pending {
		if _, err := writer.Write(<-answer); err != nil {
			return err
		}
		// A caller that waits for an answer before its next request must get it
		// now; a caller that sends many requests is served with fewer writes.
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

// Answer answers one request with one line.
func Answer(line []byte, respond func([]byte) any) []byte {
	var head struct {
		Repeat int `json:"repeat"`
	}
	// A request that cannot be read is reported by respond.
	_ = json.Unmarshal(line, &head)
	first := encode(respond(line))
	if head.Repeat < 2 {
		return first
	}
	seen := map[string]bool{string(first): true}
	variants := []json.RawMessage{}
	for range head.Repeat - 1 {
		again := encode(respond(line))
		if !seen[string(again)] {
			seen[string(again)] = true
			variants = append(variants, again)
		}
	}
	return encode(map[string]any{"answer": json.RawMessage(first), "variants": variants})
}

func encode(answer any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	// Embedded JSON, such as fieldsV1, must arrive unchanged.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		text.Reset()
		_ = encoder.Encode(map[string]any{"requestError": fmt.Sprintf("cannot write the answer: %v", err)})
	}
	return text.Bytes()
}
