package main

import (
	"encoding/json"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// internalProps reads a v1 schema and converts it to the internal form that
// the structural packages work on. Nothing and null are the nil schema.
func internalProps(text json.RawMessage) (*apiextensions.JSONSchemaProps, answer) {
	if isNull(text) {
		return nil, nil
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := decode(text, props); err != nil {
		return nil, answer{"decodeError": err.Error()}
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, answer{"decodeError": err.Error()}
	}
	return internal, nil
}

// readStructural reads a v1 schema as a structural one. It is not validated:
// the reference runs most of its walkers on schemas that would be refused.
func readStructural(text json.RawMessage) (*structuralschema.Structural, answer) {
	internal, refusal := internalProps(text)
	if refusal != nil {
		return nil, refusal
	}
	s, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, answer{"conversionError": err.Error()}
	}
	// NewStructural shares defaults with its input, the walkers write to them.
	return s.DeepCopy(), nil
}

func isNull(text json.RawMessage) bool {
	return len(text) == 0 || string(text) == "null"
}

// errorTexts keeps the order of the reference.
func errorTexts(errs field.ErrorList) []string {
	texts := make([]string, 0, len(errs))
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

// sortedErrorTexts is for validators that visit Go maps: their order is random.
func sortedErrorTexts(errs field.ErrorList) []string {
	texts := errorTexts(errs)
	slices.Sort(texts)
	return texts
}

// opStructural validates a schema as structural, and converts it.
func opStructural(text []byte) (answer, error) {
	var request struct {
		Schema json.RawMessage `json:"schema"`
	}
	if err := decode(text, &request); err != nil {
		return nil, err
	}
	s, refusal := readStructural(request.Schema)
	if refusal != nil {
		return refusal, nil
	}
	out := answer{"errors": errorTexts(structuralschema.ValidateStructural(nil, s))}
	if s != nil {
		out["openapi"] = s.ToKubeOpenAPI()
		// Unfold writes to its argument.
		out["unfolded"] = s.DeepCopy().Unfold().ToKubeOpenAPI()
	}
	return out, nil
}
