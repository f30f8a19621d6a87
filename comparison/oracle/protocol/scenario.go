package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// Outcome is the answer to a scenario, a request with steps.
type Outcome struct {
	Results     []any  `json:"results"`
	SchemaError string `json:"schemaError,omitempty"`
	Error       string `json:"error,omitempty"`
}

// Attempt runs one step and turns a panic into its result.
func Attempt(step func() (any, error), failure func(error) any) (result any) {
	defer func() {
		if cause := recover(); cause != nil {
			result = map[string]any{"panic": fmt.Sprint(cause)}
		}
	}()
	result, err := step()
	if err != nil {
		return failure(err)
	}
	return result
}

// Conflict is one conflict of an apply.
type Conflict struct {
	Manager string `json:"manager"`
	Path    string `json:"path"`
}

// Conflicts is the result of a step that conflicts, in a fixed order.
func Conflicts(list []Conflict) any {
	sort.Slice(list, func(i, j int) bool {
		if list[i].Manager != list[j].Manager {
			return list[i].Manager < list[j].Manager
		}
		return list[i].Path < list[j].Path
	})
	return map[string]any{"conflicts": list}
}

// Owned is what one manager owns.
func Owned(version string, applied bool, fields []byte) any {
	operation := "Update"
	if applied {
		operation = "Apply"
	}
	return map[string]any{"apiVersion": version, "operation": operation, "fields": json.RawMessage(fields)}
}

// ParseValue reads JSON as the reference's values are in a cluster: an integer
// that fits is an integer, any other number is a float.
func ParseValue(text json.RawMessage) (any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, err
	}
	return WithNumbers(out)
}

// WithNumbers replaces json.Number by int64 or float64.
func WithNumbers(v any) (any, error) {
	var err error
	switch t := v.(type) {
	case json.Number:
		if !strings.ContainsAny(string(t), ".eE") {
			if i, err := t.Int64(); err == nil {
				return i, nil
			}
		}
		return t.Float64()
	case []any:
		for i := range t {
			if t[i], err = WithNumbers(t[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range t {
			if t[key], err = WithNumbers(t[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
