package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// definitionsRequest is the source of the types of a request: the request
// itself, a file, or none, so that types are deduced.
type definitionsRequest struct {
	Schemas struct {
		Definitions map[string]json.RawMessage `json:"definitions"`
	} `json:"schemas"`
	DefinitionsFile       string `json:"definitionsFile"`
	PreserveUnknownFields bool   `json:"preserveUnknownFields"`
}

// typeSource has the types of the definitions in two forms. Each is made on
// demand, because an OpenAPI document is large and an op needs one of them.
type typeSource struct {
	converter func() (managedfields.TypeConverter, error)
	parser    func() (*typed.Parser, error)
}

// files caches the documents that were read. Files must not change while the
// process runs.
var files sync.Map

func readTypes(request definitionsRequest) (typeSource, error) {
	switch {
	case request.DefinitionsFile != "":
		key := fmt.Sprintf("%t %s", request.PreserveUnknownFields, request.DefinitionsFile)
		if known, ok := files.Load(key); ok {
			return known.(typeSource), nil
		}
		definitions, err := readDefinitionsFile(request.DefinitionsFile)
		if err != nil {
			return typeSource{}, err
		}
		models, err := readModels(definitions)
		if err != nil {
			return typeSource{}, err
		}
		known, _ := files.LoadOrStore(key, modelTypes(models, request.PreserveUnknownFields))
		return known.(typeSource), nil
	case request.Schemas.Definitions != nil:
		models, err := readModels(request.Schemas.Definitions)
		if err != nil {
			return typeSource{}, err
		}
		return modelTypes(models, request.PreserveUnknownFields), nil
	default:
		return deducedTypes(), nil
	}
}

func modelTypes(models map[string]*spec.Schema, preserveUnknownFields bool) typeSource {
	return typeSource{
		converter: sync.OnceValues(func() (managedfields.TypeConverter, error) {
			return managedfields.NewTypeConverter(models, preserveUnknownFields)
		}),
		parser: sync.OnceValues(func() (*typed.Parser, error) {
			converted, err := schemaconv.ToSchemaFromOpenAPI(models, preserveUnknownFields)
			if err != nil {
				return nil, err
			}
			parser := &typed.Parser{}
			converted.CopyInto(&parser.Schema)
			return parser, nil
		}),
	}
}

func deducedTypes() typeSource {
	return typeSource{
		converter: func() (managedfields.TypeConverter, error) {
			return managedfields.NewDeducedTypeConverter(), nil
		},
		parser: func() (*typed.Parser, error) { return nil, nil },
	}
}

// readDefinitionsFile reads an OpenAPI v2 or v3 document, which may be
// compressed.
func readDefinitionsFile(path string) (map[string]json.RawMessage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if text, err = io.ReadAll(unpacked); err != nil {
			return nil, err
		}
	}
	var document struct {
		Definitions map[string]json.RawMessage `json:"definitions"`
		Components  struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if document.Definitions != nil {
		return document.Definitions, nil
	}
	return document.Components.Schemas, nil
}
