// The engine oracle answers what structured-merge-diff v6 does with a scenario:
// a schema, options and steps, with one result for each step.
package main

import "github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"

func main() { protocol.Main(respond) }

func respond(line []byte) any {
	s, err := parseScenario(line)
	switch err := err.(type) {
	case nil:
		return protocol.Outcome{Results: s.run()}
	case schemaError:
		return protocol.Outcome{SchemaError: err.Error()}
	default:
		return protocol.Outcome{Error: err.Error()}
	}
}
