package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"
)

// rulesRequest asks for the evaluation of x-kubernetes-validations.
type rulesRequest struct {
	Schema json.RawMessage `json:"schema"`
	Object map[string]any  `json:"object"`
	Old    map[string]any  `json:"old"`
}

// warnings keeps what would be sent to a client.
type warnings struct{ texts []string }

func (w *warnings) AddWarning(_, text string) { w.texts = append(w.texts, text) }

// opRules compiles the rules of a schema and evaluates them on an object, as the
// API server does on a create, or with an old object on an update. Rules that do
// not compile are in the answer, since the API server refuses a definition with
// them.
func opRules(text []byte) (answer, error) {
	request := &rulesRequest{}
	if err := decode(text, request); err != nil {
		return nil, err
	}
	s, refusal := readStructural(request.Schema)
	if refusal != nil {
		return refusal, nil
	}
	validator := cel.NewValidator(s, true, celconfig.PerCallLimit)
	if validator == nil {
		return answer{"errors": []string{}, "warnings": []string{}}, nil
	}
	found := &warnings{}
	ctx := warning.WithWarningRecorder(context.Background(), found)
	var old any
	var options []cel.Option
	if request.Old != nil {
		old = request.Old
		correlated := common.NewCorrelatedObject(request.Object, request.Old, &model.Structural{Structural: s})
		options = append(options, cel.WithRatcheting(correlated))
	}
	errs, _ := validator.Validate(ctx, nil, s, request.Object, old, celconfig.RuntimeCELCostBudget, options...)
	var refused []string
	for _, err := range errs {
		if strings.Contains(err.Detail, "rule compile") {
			refused = append(refused, err.Error())
		}
	}
	if refused != nil {
		return answer{"refused": refused}, nil
	}
	slices.Sort(found.texts)
	return answer{"errors": sortedErrorTexts(errs), "warnings": list(found.texts)}, nil
}
