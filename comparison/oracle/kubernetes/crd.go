package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

var crdScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}()

// opCRD creates a CustomResourceDefinition without storage: validation, the
// NonStructuralSchema condition, and the published schemas.
func opCRD(text []byte) (answer, error) {
	var request struct {
		CRD json.RawMessage `json:"crd"`
	}
	if err := decode(text, &request); err != nil {
		return nil, err
	}
	crd, refusal := readCRD(request.CRD)
	if refusal != nil {
		return refusal, nil
	}
	errs, err := validateCRD(crd)
	if err != nil {
		return answer{"decodeError": err.Error()}, nil
	}
	versions, specs, buildErr := buildVersions(crd)
	out := answer{
		"errors":    sortedErrorTexts(errs),
		"condition": nonStructuralCondition(crd),
		"versions":  versions,
	}
	addApplySchema(out, crd, specs, buildErr)
	return out, nil
}

// readCRD reads and defaults as the decoder of a request does.
func readCRD(text json.RawMessage) (*apiextensionsv1.CustomResourceDefinition, answer) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := decode(text, crd); err != nil {
		return nil, answer{"decodeError": err.Error()}
	}
	// Another API version has the schema at another path and would seem empty.
	if crd.APIVersion != "" && crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, answer{"decodeError": fmt.Sprintf("expected %s, got %s", apiextensionsv1.SchemeGroupVersion, crd.APIVersion)}
	}
	crdScheme.Default(crd)
	return crd, nil
}

// validateCRD validates the definition for creation. The strategy goes first
// because a new definition has no status but its stored version.
func validateCRD(crd *apiextensionsv1.CustomResourceDefinition) (field.ErrorList, error) {
	internal := &apiextensions.CustomResourceDefinition{}
	if err := crdScheme.Convert(crd.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	ctx := context.Background()
	customresourcedefinition.NewStrategy(crdScheme).PrepareForCreate(ctx, internal)
	return validation.ValidateCustomResourceDefinition(ctx, internal), nil
}

// nonStructuralCondition is what the controller for this condition would
// write, or nil if it would remove the condition.
func nonStructuralCondition(crd *apiextensionsv1.CustomResourceDefinition) answer {
	var errs field.ErrorList
	if crd.Spec.PreserveUnknownFields {
		errs = append(errs, field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false"))
	}
	for i, version := range crd.Spec.Versions {
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			continue
		}
		internal := &apiextensions.CustomResourceValidation{}
		err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema.DeepCopy(), internal, nil)
		if err != nil {
			// The controller logs this and looks at the next version.
			continue
		}
		s, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
		if err != nil {
			return answer{
				"status":  string(apiextensionsv1.ConditionUnknown),
				"reason":  "StructuralError",
				"message": fmt.Sprintf("failed to check validation schema for version %s: %v", version.Name, err),
			}
		}
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		errs = append(errs, structuralschema.ValidateStructural(path, s)...)
	}
	if len(errs) == 0 {
		return nil
	}
	return answer{
		"status":  string(apiextensionsv1.ConditionTrue),
		"reason":  "Violations",
		"message": errs.ToAggregate().Error(),
	}
}

// buildVersions builds the published OpenAPI v3 of every version. The first
// error is the error of the handler of the custom resource.
func buildVersions(crd *apiextensionsv1.CustomResourceDefinition) (versions answer, specs []*spec3.OpenAPI, first error) {
	versions = answer{}
	for _, version := range crd.Spec.Versions {
		built, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{})
		if err != nil {
			versions[version.Name] = answer{"error": err.Error()}
			if first == nil {
				first = err
			}
			continue
		}
		versions[version.Name] = answer{"openapi": built.Components.Schemas}
		specs = append(specs, built)
	}
	return versions, specs, first
}

// applyModels merges the schemas of all versions as the handler does before it
// makes a type converter. The static schemas of the server are first there, but
// they have no paths, and the merge skips schemas without paths.
func applyModels(specs []*spec3.OpenAPI) (map[string]*spec.Schema, error) {
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		return nil, err
	}
	if merged.Components == nil {
		return nil, nil
	}
	return merged.Components.Schemas, nil
}

// addApplySchema answers the schema that apply uses. Where the handler logs an
// error and falls back to deduced types, "deducedBecause" has the error.
func addApplySchema(out answer, crd *apiextensionsv1.CustomResourceDefinition, specs []*spec3.OpenAPI, buildErr error) {
	models, err := applyModels(specs)
	switch {
	case buildErr != nil:
		out["deducedBecause"] = buildErr.Error()
	case err != nil:
		out["deducedBecause"] = err.Error()
	case len(models) == 0:
		out["deducedBecause"] = "no models"
	default:
		converted := smdAnswer(models, crd.Spec.PreserveUnknownFields)
		if errs, ok := converted["errors"]; ok {
			out["schemaErrors"] = errs
		} else {
			out["schema"] = converted["schema"]
		}
	}
}
