package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
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
// API server does on a create, or with an old object on an update, with their cost
// unless the budget is exceeded. Rules that do not compile are in the answer, since the API server refuses a definition with
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
		return answer{"errors": []string{}, "warnings": []string{}, "cost": 0}, nil
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
	errs, rest := validator.Validate(ctx, nil, s, request.Object, old, celconfig.RuntimeCELCostBudget, options...)
	var refused []string
	for _, err := range errs {
		if strings.Contains(err.Detail, "rule compile") {
			refused = append(refused, err.Error())
		}
	}
	refused = append(refused, messageFaults(s, s, true)...)
	if refused != nil {
		return answer{"refused": refused}, nil
	}
	slices.Sort(found.texts)
	cost := any(nil)
	if rest >= 0 {
		cost = celconfig.RuntimeCELCostBudget - rest
	}
	return answer{"errors": sortedErrorTexts(errs), "warnings": list(found.texts), "cost": cost}, nil
}

// messageFaults compiles the message expressions of a schema. The validator
// replaces those that do not compile by the default message, since the API
// server has refused the definition before.
func messageFaults(validation, node *schema.Structural, root bool) []string {
	var out []string
	hasMessage := slices.ContainsFunc(validation.XValidations, func(rule apiextensions.ValidationRule) bool {
		return rule.MessageExpression != ""
	})
	if declared := model.SchemaDeclType(node, root); hasMessage && declared != nil {
		compiled := *node
		compiled.XValidations = validation.XValidations
		base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		results, err := cel.Compile(&compiled, declared, celconfig.PerCallLimit, base, cel.StoredExpressionsEnvLoader())
		if err != nil {
			out = append(out, err.Error())
		}
		for _, result := range results {
			if result.MessageExpressionError != nil {
				out = append(out, result.MessageExpressionError.Error())
			}
		}
	}
	for name, property := range validation.Properties {
		if below, found := node.Properties[name]; found {
			out = append(out, messageFaults(&property, &below, below.XEmbeddedResource)...)
		}
	}
	if validation.Items != nil && node.Items != nil {
		out = append(out, messageFaults(validation.Items, node.Items, node.Items.XEmbeddedResource)...)
	}
	if a, b := validation.AdditionalProperties, node.AdditionalProperties; a != nil && b != nil && a.Structural != nil && b.Structural != nil {
		out = append(out, messageFaults(a.Structural, b.Structural, b.Structural.XEmbeddedResource)...)
	}
	if validation.ValueValidation != nil {
		for _, nested := range validation.ValueValidation.AllOf {
			out = append(out, messageFaults(spine(&nested), node, root)...)
		}
	}
	return out
}

// spine returns the part of a value validation that can have rules.
func spine(nested *schema.NestedValueValidation) *schema.Structural {
	out := &schema.Structural{ValidationExtensions: nested.ValidationExtensions, ValueValidation: &nested.ValueValidation}
	if nested.Items != nil {
		out.Items = spine(nested.Items)
	}
	if nested.AdditionalProperties != nil {
		out.AdditionalProperties = &schema.StructuralOrBool{Structural: spine(nested.AdditionalProperties)}
	}
	for name, property := range nested.Properties {
		if out.Properties == nil {
			out.Properties = map[string]schema.Structural{}
		}
		out.Properties[name] = *spine(&property)
	}
	return out
}
