// The union oracle answers what the last release of the reference
// implementation that normalized unions does with a scenario, in the protocol
// of the engine oracle.
//
// The steps are apply, update, normalize and changeSchema, all at one version.
// options.unions turns unions off when it is false.
package main

import (
	"encoding/json"
	"fmt"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
)

func main() { protocol.Main(respond) }

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

func respond(line []byte) any {
	var raw struct {
		Schema  json.RawMessage   `json:"schema"`
		Types   map[string]string `json:"types"`
		Options struct {
			Unions *bool `json:"unions"`
		} `json:"options"`
		Steps []map[string]json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return protocol.Outcome{Error: fmt.Sprintf("cannot read the scenario: %v", err)}
	}
	if len(raw.Types) != 1 {
		return protocol.Outcome{Error: "`types` must name one version and its type"}
	}
	state := newState(raw.Options.Unions == nil || *raw.Options.Unions)
	for _, name := range raw.Types {
		state.typeName = name
	}
	if err := state.setSchema(raw.Schema); err != nil {
		return protocol.Outcome{SchemaError: err.Error()}
	}
	results := make([]any, 0, len(raw.Steps))
	for i, members := range raw.Steps {
		for kind, text := range members {
			if kind == "expect" {
				continue
			}
			var body stepBody
			if err := json.Unmarshal(text, &body); err != nil {
				return protocol.Outcome{Error: fmt.Sprintf("step %d: %s: %v", i, kind, err)}
			}
			results = append(results, state.step(kind, body))
		}
	}
	return protocol.Outcome{Results: results}
}
