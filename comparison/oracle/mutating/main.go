// Command mutating applies the mutations of a MutatingAdmissionPolicy to an object, with the packages of the API server.
//
// A request has an object, the fields of a schema of structured-merge-diff and the name of the type of the object in it,
// and an expression of one of both types of patches. The answer has the object afterwards, or the error.
package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
)

type request struct {
	Schema     json.RawMessage `json:"schema"`
	Type       string          `json:"type"`
	PatchType  string          `json:"patchType"`
	Expression string          `json:"expression"`
	Object     json.RawMessage `json:"object"`
	Old        json.RawMessage `json:"oldObject"`
}

type answer = map[string]any

func main() {
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		panic(err)
	}
	protocol.Main(func(line []byte) any {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return answer{"requestError": err.Error()}
		}
		failure := func(err error) any { return answer{"requestError": err.Error()} }
		return protocol.Attempt(func() (any, error) { return mutate(compiler, &r) }, failure)
	})
}

// mutate evaluates the expression and changes the object.
func mutate(compiler *cel.CompositedCompiler, r *request) (answer, error) {
	parser, err := typed.NewParser(typed.YAMLObject(r.Schema))
	if err != nil {
		return nil, err
	}
	object, err := read(r.Object)
	if err != nil {
		return nil, err
	}
	old, err := read(r.Old)
	if err != nil {
		return nil, err
	}

	options := cel.OptionalVariableDeclarations{HasPatchTypes: true}
	var patcher patch.Patcher
	if r.PatchType == "JSONPatch" {
		condition := &patch.JSONPatchCondition{Expression: r.Expression}
		patcher = patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(condition, options, environment.StoredExpressions))
	} else {
		condition := &patch.ApplyConfigurationCondition{Expression: r.Expression}
		patcher = patch.NewApplyConfigurationPatcher(compiler.CompileMutatingEvaluator(condition, options, environment.StoredExpressions))
	}

	kind := object.GroupVersionKind()
	resource := kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s")
	var before runtime.Object
	operation := admission.Create
	if old != nil {
		before, operation = old, admission.Update
	}
	attributes := admission.NewAttributesRecord(object, before, kind, object.GetNamespace(), object.GetName(), resource, "",
		operation, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "someone"})
	patched, err := patcher.Patch(context.Background(), patch.Request{
		MatchedResource: resource,
		VersionedAttributes: &admission.VersionedAttributes{
			Attributes: attributes, VersionedKind: kind,
			VersionedObject: admission.NewLazyObject(object), VersionedOldObject: admission.NewLazyObject(before),
		},
		ObjectInterfaces: admission.NewObjectInterfacesFromScheme(runtime.NewScheme()),
		TypeConverter:    converter{parser.Type(r.Type)},
	}, celconfig.RuntimeCELCostBudget)
	if err != nil {
		// Protobuf writes one of two kinds of spaces, by the build.
		return answer{"error": sorted(strings.ReplaceAll(err.Error(), "\u00a0", " "))}, nil
	}
	return answer{"object": filled(patched.(*unstructured.Unstructured).Object)}, nil
}

// filled has empty lists in place of those that are nil, which are null in JSON.
func filled(value any) any {
	switch value := value.(type) {
	case []any:
		out := make([]any, 0, len(value))
		for _, item := range value {
			out = append(out, filled(item))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, field := range value {
			out[name] = filled(field)
		}
		return out
	}
	return value
}

func read(text json.RawMessage) (*unstructured.Unstructured, error) {
	if len(text) == 0 {
		return nil, nil
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

// sorted is an error without the random order of Go's maps.
func sorted(text string) string {
	const atomics = "may not mutate atomic arrays, maps or structs: "
	if before, list, found := strings.Cut(text, atomics); found {
		paths := strings.Split(list, ", ")
		slices.Sort(paths)
		return before + atomics + strings.Join(paths, ", ")
	}
	lines := strings.Split(text, "\n")
	if prefix, rest, found := strings.Cut(text, "type mismatch: "); found {
		lines = strings.Split(rest, "\n")
		slices.Sort(lines)
		return prefix + "type mismatch: " + strings.Join(lines, "\n")
	}
	return text
}

// converter gives all objects one type.
type converter struct{ of typed.ParseableType }

func (c converter) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return c.of.FromUnstructured(object.(*unstructured.Unstructured).Object, options...)
}

func (c converter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	fields, _ := value.AsValue().Unstructured().(map[string]any)
	return &unstructured.Unstructured{Object: fields}, nil
}
