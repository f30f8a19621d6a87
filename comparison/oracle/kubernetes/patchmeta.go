package main

import (
	"encoding/json"
	"fmt"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/util/proto"
)

// patchMeta finds the merge strategies and keys: in the tags of a Go type, or in
// the extensions of an OpenAPI document of either version.
func patchMeta(request *smpRequest) (strategicpatch.LookupPatchMeta, error) {
	switch {
	case request.GoType != "":
		object, ok := goTypes[request.GoType]
		if !ok {
			return nil, fmt.Errorf("unknown Go type %q", request.GoType)
		}
		return strategicpatch.NewPatchMetaFromStruct(object)
	case request.OpenAPI == "v2":
		return patchMetaV2(request.Definitions, request.Type)
	default:
		return patchMetaV3(request.Definitions, request.Type)
	}
}

func patchMetaV3(definitions map[string]json.RawMessage, name string) (strategicpatch.LookupPatchMeta, error) {
	models, err := readModels(definitions)
	if err != nil {
		return nil, err
	}
	model, ok := models[name]
	if !ok {
		return nil, fmt.Errorf("unknown type %q", name)
	}
	return strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: models, Schema: model}, nil
}

func patchMetaV2(definitions map[string]json.RawMessage, name string) (strategicpatch.LookupPatchMeta, error) {
	text, err := json.Marshal(map[string]any{
		"swagger":     "2.0",
		"info":        map[string]any{"title": "definitions", "version": "v1"},
		"paths":       map[string]any{},
		"definitions": definitions,
	})
	if err != nil {
		return nil, err
	}
	document, err := openapiv2.ParseDocument(text)
	if err != nil {
		return nil, err
	}
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		return nil, err
	}
	model := models.LookupModel(name)
	if model == nil {
		return nil, fmt.Errorf("unknown type %q", name)
	}
	return strategicpatch.NewPatchMetaFromOpenAPI(model), nil
}
