package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// opOpenAPI converts OpenAPI definitions to a schema of structured-merge-diff.
func opOpenAPI(text []byte) (answer, error) {
	var request struct {
		Definitions           map[string]json.RawMessage `json:"definitions"`
		PreserveUnknownFields bool                       `json:"preserveUnknownFields"`
	}
	if err := decode(text, &request); err != nil {
		return nil, err
	}
	models, err := readModels(request.Definitions)
	if err != nil {
		return answer{"decodeError": err.Error()}, nil
	}
	return smdAnswer(models, request.PreserveUnknownFields), nil
}

// readModels reads OpenAPI schemas by their definition name. The first name in
// order decides which error is returned.
func readModels(definitions map[string]json.RawMessage) (map[string]*spec.Schema, error) {
	models := make(map[string]*spec.Schema, len(definitions))
	for _, name := range sortedKeys(definitions) {
		model := &spec.Schema{}
		if err := json.Unmarshal(definitions[name], model); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		models[name] = model
	}
	return models, nil
}

func smdAnswer(models map[string]*spec.Schema, preserveUnknownFields bool) answer {
	converted, err := schemaconv.ToSchemaFromOpenAPI(models, preserveUnknownFields)
	if err != nil {
		lines := strings.Split(err.Error(), "\n")
		slices.Sort(lines)
		return answer{"errors": lines}
	}
	return answer{"schema": smdSchema(converted)}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
