// The union oracle answers what the last release of the reference
// implementation that normalized unions does with a scenario. It speaks the
// protocol of the oracle beside it, in a smaller form: JSON lines in, one line
// of results for each out, in the order of the input.
//
// The steps are apply, update, normalize and changeSchema, all at one version.
// options.unions turns unions off when it is false.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "oracle-unions: %v\n", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	reader := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriterSize(out, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			if err := json.NewEncoder(writer).Encode(answer(line)); err != nil {
				return err
			}
		}
		// A caller that waits for an answer before it asks again must get it.
		if reader.Buffered() == 0 || err != nil {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// outcome is the answer to one scenario.
type outcome struct {
	Results     []any  `json:"results"`
	SchemaError string `json:"schemaError,omitempty"`
	Error       string `json:"error,omitempty"`
}

// stepBody has the arguments of all kinds of steps; each kind reads its own.
type stepBody struct {
	Manager    string          `json:"manager"`
	APIVersion string          `json:"apiVersion"`
	Force      bool            `json:"force"`
	Object     json.RawMessage `json:"object"`
	Old        json.RawMessage `json:"old"`
	New        json.RawMessage `json:"new"`
	Schema     json.RawMessage `json:"schema"`
}

func answer(line []byte) outcome {
	var raw struct {
		Schema  json.RawMessage   `json:"schema"`
		Types   map[string]string `json:"types"`
		Options struct {
			Unions *bool `json:"unions"`
		} `json:"options"`
		Steps []map[string]json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return outcome{Error: fmt.Sprintf("cannot read the scenario: %v", err)}
	}
	if len(raw.Types) != 1 {
		return outcome{Error: "`types` must name one version and its type"}
	}
	state := newState(raw.Options.Unions == nil || *raw.Options.Unions)
	for _, name := range raw.Types {
		state.typeName = name
	}
	if err := state.setSchema(raw.Schema); err != nil {
		return outcome{SchemaError: err.Error()}
	}
	results := make([]any, 0, len(raw.Steps))
	for i, members := range raw.Steps {
		for kind, text := range members {
			if kind == "expect" {
				continue
			}
			var body stepBody
			if err := json.Unmarshal(text, &body); err != nil {
				return outcome{Error: fmt.Sprintf("step %d: %s: %v", i, kind, err)}
			}
			results = append(results, state.step(kind, body))
		}
	}
	return outcome{Results: results}
}
