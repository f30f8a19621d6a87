// The oracle for the Kubernetes layers answers what the Kubernetes packages
// around structured-merge-diff do: schema conversion, structural schemas,
// managed fields and patches. It reads one request per line as JSON on its
// standard input and writes one line with the answer for each, in the order of
// the input. README.md describes the requests.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
)

func main() {
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "number of requests that run at the same time")
	flag.Parse()
	configure()
	if err := serve(os.Stdin, os.Stdout, *workers); err != nil {
		fmt.Fprintf(os.Stderr, "oracle-kubernetes: %v\n", err)
		os.Exit(1)
	}
}

// A request may carry a whole swagger document, but a line without an end must
// not eat the memory of the machine.
const maxLine = 64 << 20

// serve answers until the input ends. Every request gets a channel that will
// carry its answer; the writer takes the channels in input order, so the
// workers may finish in any order.
func serve(in io.Reader, out io.Writer, workers int) error {
	type job struct {
		line   []byte
		answer chan []byte
	}
	workers = max(workers, 1)
	jobs := make(chan job, workers)
	pending := make(chan chan []byte, 256)
	for range workers {
		go func() {
			for j := range jobs {
				j.answer <- answerLine(j.line)
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
			if len(lines.Bytes()) == 0 {
				continue
			}
			// The scanner reuses its buffer, a worker reads the line later.
			line := append([]byte(nil), lines.Bytes()...)
			ch := make(chan []byte, 1)
			pending <- ch
			jobs <- job{line: line, answer: ch}
		}
		readErr <- lines.Err()
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
