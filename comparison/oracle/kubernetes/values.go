package main

import (
	"context"
	"encoding/json"
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
)

// valueRequest is a request to a walker over a value with a schema.
type valueRequest struct {
	Schema          json.RawMessage `json:"schema"`
	Object          any             `json:"object"`
	IsResourceRoot  bool            `json:"isResourceRoot"`
	DropInvalid     bool            `json:"dropInvalid"`
	ReturnUnknown   bool            `json:"returnUnknown"`
	structural      *structuralschema.Structural
	structuralIssue answer
}

func readValueRequest(text []byte) (*valueRequest, error) {
	request := &valueRequest{}
	if err := decode(text, request); err != nil {
		return nil, err
	}
	request.structural, request.structuralIssue = readStructural(request.Schema)
	return request, nil
}

// onValue is an op on a schema and a value.
func onValue(look func(*valueRequest) answer) func([]byte) (answer, error) {
	return func(text []byte) (answer, error) {
		request, err := readValueRequest(text)
		if err != nil {
			return nil, err
		}
		if request.structuralIssue != nil {
			return request.structuralIssue, nil
		}
		return look(request), nil
	}
}

func prune(r *valueRequest) answer {
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	pruned := pruning.PruneWithOptions(r.Object, r.structural, r.IsResourceRoot, options)
	return answer{"object": r.Object, "pruned": list(pruned)}
}

func setDefaults(r *valueRequest) answer {
	defaulting.Default(r.Object, r.structural)
	return answer{"object": r.Object}
}

func dropNulls(r *valueRequest) answer {
	defaulting.PruneNonNullableNullsWithoutDefaults(r.Object, r.structural)
	return answer{"object": r.Object}
}

func validateListTypes(r *valueRequest) answer {
	object, ok := r.Object.(map[string]any)
	if !ok && r.Object != nil {
		return answer{"decodeError": fmt.Sprintf("expected an object, got %T", r.Object)}
	}
	return answer{"errors": sortedErrorTexts(listtype.ValidateListSetsAndMaps(nil, r.structural, object))}
}

// coerceMetadata returns unknown paths only if requested: the reference then
// reads metadata differently, and an apiserver does so only for strict field
// validation.
func coerceMetadata(r *valueRequest) answer {
	options := objectmeta.CoerceOptions{DropInvalidFields: r.DropInvalid, ReturnUnknownFieldPaths: r.ReturnUnknown}
	err, unknown := objectmeta.CoerceWithOptions(nil, r.Object, r.structural, r.IsResourceRoot, options)
	if err != nil {
		return answer{"error": err.Error()}
	}
	out := answer{"object": r.Object}
	if r.ReturnUnknown {
		out["unknown"] = list(unknown)
	}
	return out
}

func validateMetadata(r *valueRequest) answer {
	errs := objectmeta.Validate(context.Background(), nil, r.Object, r.structural, r.IsResourceRoot)
	return answer{"errors": sortedErrorTexts(errs)}
}

func pruneDefaults(r *valueRequest) answer {
	if r.structural == nil {
		return answer{"decodeError": "a schema is needed"}
	}
	if err := defaulting.PruneDefaults(r.structural); err != nil {
		return answer{"error": err.Error()}
	}
	return answer{"schema": r.structural.ToKubeOpenAPI()}
}

// opValidate validates a value as a custom resource is validated, which uses
// the internal schema and not the structural one.
func opValidate(text []byte) (answer, error) {
	request := &valueRequest{}
	if err := decode(text, request); err != nil {
		return nil, err
	}
	props, refusal := internalProps(request.Schema)
	if refusal != nil {
		return refusal, nil
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return answer{"conversionError": err.Error()}, nil
	}
	return answer{"errors": sortedErrorTexts(validation.ValidateCustomResource(nil, request.Object, validator))}, nil
}

// list is an empty JSON list, not null, for nothing.
func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}
