package main

import (
	"encoding/json"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// estimatesRequest asks for the types and the costs of rules at a schema.
type estimatesRequest struct {
	Schema json.RawMessage                `json:"schema"`
	Rules  []apiextensions.ValidationRule `json:"rules"`
	// Stored are rules of a stored definition, which may use more functions.
	Stored bool `json:"stored"`
}

// opEstimates compiles rules for the values of a schema that is no resource. For
// each rule, the answer has the error or the estimated cost, and the same of the
// message expression.
func opEstimates(text []byte) (answer, error) {
	request := &estimatesRequest{}
	if err := decode(text, request); err != nil {
		return nil, err
	}
	s, refusal := readStructural(request.Schema)
	if refusal != nil {
		return refusal, nil
	}
	declared := model.SchemaDeclType(s, s.XEmbeddedResource)
	if declared == nil {
		return answer{"error": "no type"}, nil
	}
	s.XValidations = request.Rules
	loader := cel.NewExpressionsEnvLoader()
	if request.Stored {
		loader = cel.StoredExpressionsEnvLoader()
	}
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := cel.Compile(s, declared, celconfig.PerCallLimit, base, loader)
	if err != nil {
		return answer{"error": err.Error()}, nil
	}
	rules := []answer{}
	for _, result := range results {
		rule := answer{"cost": result.MaxCost, "cardinality": result.MaxCardinality, "usesOldSelf": result.UsesOldSelf}
		if result.Error != nil {
			rule = answer{"error": result.Error.Detail}
		} else if result.MessageExpressionError != nil {
			rule["messageError"] = result.MessageExpressionError.Detail
		} else if result.MessageExpression != nil {
			rule["messageCost"] = result.MessageExpressionMaxCost
		}
		rules = append(rules, rule)
	}
	return answer{"rules": rules}, nil
}
