// Command expressions evaluates an expression of a policy with the packages of the API server.
//
// A request has an expression and variables, and what expressions are evaluated with. The answer has the faults of all that
// does not compile, and the value or the error of the expression with its cost, which is also that of its variables.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
)

type request struct {
	Expression string     `json:"expression"`
	Returns    string     `json:"returns"`
	Variables  []variable `json:"variables"`
	New        bool       `json:"new"`
	HasParams  bool       `json:"hasParams"`
	HasAccess  bool       `json:"hasAuthorizer"`

	Object    json.RawMessage   `json:"object"`
	Old       json.RawMessage   `json:"oldObject"`
	Params    json.RawMessage   `json:"params"`
	Namespace *corev1.Namespace `json:"namespaceObject"`

	Kind        metav1.GroupVersionKind     `json:"kind"`
	Resource    metav1.GroupVersionResource `json:"resource"`
	Subresource string                      `json:"subresource"`
	Name        string                      `json:"name"`
	InNamespace string                      `json:"namespace"`
	Operation   admission.Operation         `json:"operation"`
	DryRun      bool                        `json:"dryRun"`
	Options     json.RawMessage             `json:"options"`
	User        struct {
		Name   string              `json:"name"`
		UID    string              `json:"uid"`
		Groups []string            `json:"groups"`
		Extra  map[string][]string `json:"extra"`
	} `json:"user"`
}

type variable struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

func (v variable) GetName() string          { return v.Name }
func (v variable) GetExpression() string    { return v.Expression }
func (v variable) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

type expression struct {
	text    string
	returns []*cel.Type
}

func (e expression) GetExpression() string    { return e.text }
func (e expression) ReturnTypes() []*cel.Type { return e.returns }

var returns = map[string][]*cel.Type{
	"":       {cel.AnyType},
	"bool":   {cel.BoolType},
	"string": {cel.StringType},
	"either": {cel.StringType, cel.NullType},
}

// access allows some verbs and fails for others.
type access struct{}

func (access) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	switch a.GetVerb() {
	case "get":
		return authorizer.DecisionAllow, "", nil
	case "broken":
		return authorizer.DecisionNoOpinion, "", errors.New("it is broken")
	}
	return authorizer.DecisionDeny, a.GetUser().GetName() + " may not", nil
}

type answer = map[string]any

// unused has the compilers that are not used, by the names of their variables. One has the variables of its last request.
// Making one takes as long as many expressions.
var unused = struct {
	sync.Mutex
	compilers map[string][]*admissioncel.CompositedCompiler
}{compilers: map[string][]*admissioncel.CompositedCompiler{}}

func compilerFor(variables []variable) (*admissioncel.CompositedCompiler, func(), error) {
	var names []string
	for _, variable := range variables {
		names = append(names, variable.Name)
	}
	key := strings.Join(names, " ")
	unused.Lock()
	defer unused.Unlock()
	done := func(compiler *admissioncel.CompositedCompiler) {
		unused.Lock()
		defer unused.Unlock()
		unused.compilers[key] = append(unused.compilers[key], compiler)
	}
	if known := unused.compilers[key]; len(known) > 0 {
		compiler := known[len(known)-1]
		unused.compilers[key] = known[:len(known)-1]
		return compiler, func() { done(compiler) }, nil
	}
	set := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	compiler, err := admissioncel.NewCompositedCompiler(set)
	return compiler, func() { done(compiler) }, err
}

func main() {
	protocol.Main(func(line []byte) any {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return answer{"requestError": err.Error()}
		}
		failure := func(err error) any { return answer{"requestError": err.Error()} }
		return protocol.Attempt(func() (any, error) { return evaluate(&r) }, failure)
	})
}

func evaluate(r *request) (answer, error) {
	compiler, done, err := compilerFor(r.Variables)
	if err != nil {
		return nil, err
	}
	defer done()

	out := answer{}
	options := admissioncel.OptionalVariableDeclarations{HasParams: r.HasParams, HasAuthorizer: r.HasAccess}
	mode := environment.StoredExpressions
	if r.New {
		mode = environment.NewExpressions
	}
	for _, variable := range r.Variables {
		result := compiler.CompileAndStoreVariable(variable, options, mode)
		if result.Error != nil {
			out["variable "+variable.Name] = result.Error.Error()
		}
	}
	accessor := expression{r.Expression, returns[r.Returns]}
	condition := compiler.CompileCondition([]admissioncel.ExpressionAccessor{accessor}, options, mode)
	for _, err := range condition.CompilationErrors() {
		out["refused"] = err.Error()
		return out, nil
	}

	attributes, err := attributesOf(r)
	if err != nil {
		return nil, err
	}
	bindings := admissioncel.OptionalVariableBindings{}
	if params, err := read(r.Params); err != nil {
		return nil, err
	} else if params != nil && r.HasParams {
		bindings.VersionedParams = params
	}
	if r.HasAccess {
		bindings.Authorizer = access{}
	}

	versioned := &admission.VersionedAttributes{
		Attributes: attributes, VersionedKind: attributes.GetKind(),
		VersionedObject:    admission.NewLazyObject(attributes.GetObject()),
		VersionedOldObject: admission.NewLazyObject(attributes.GetOldObject()),
	}
	described := admissioncel.CreateAdmissionRequest(attributes, r.Resource, r.Kind)
	const budget = celconfig.RuntimeCELCostBudget
	results, left, err := condition.ForInput(context.Background(), versioned, described, bindings,
		admissioncel.CreateNamespaceObject(r.Namespace), budget)
	switch {
	case err != nil:
		out["budget"] = err.Error()
	case results[0].Error != nil:
		out["error"], out["cost"] = results[0].Error.Error(), budget-left
	default:
		out["value"], out["cost"] = written(results[0].EvalResult), budget-left
	}
	return out, nil
}

// attributesOf is the request as admission sees it.
func attributesOf(r *request) (admission.Attributes, error) {
	object, err := read(r.Object)
	if err != nil {
		return nil, err
	}
	old, err := read(r.Old)
	if err != nil {
		return nil, err
	}
	var options runtime.Object
	switch r.Operation {
	case admission.Create:
		options = &metav1.CreateOptions{}
	case admission.Update:
		options = &metav1.UpdateOptions{}
	default:
		options = &metav1.DeleteOptions{}
	}
	if err := json.Unmarshal(r.Options, options); err != nil {
		return nil, err
	}

	kind := schema.GroupVersionKind{Group: r.Kind.Group, Version: r.Kind.Version, Kind: r.Kind.Kind}
	resource := schema.GroupVersionResource{Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource}
	who := &user.DefaultInfo{Name: r.User.Name, UID: r.User.UID, Groups: r.User.Groups, Extra: r.User.Extra}
	return admission.NewAttributesRecord(object, old, kind, r.InNamespace, r.Name, resource, r.Subresource, r.Operation,
		options, r.DryRun, who), nil
}

// read is an object; nil, without a type, if there is none.
func read(text json.RawMessage) (runtime.Object, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: fields}, nil
}
