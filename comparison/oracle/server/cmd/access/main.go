// Command access answers questions about roles and bindings as kube-apiserver does.
//
// Each line of standard input is {"objects", "questions"}, and each line of output {"answers"}. A question is about a
// {"user", "groups"} and has an "op":
//   - authorize: {"verb", "group", "resource", "subresource", "namespace", "name"} or {"verb", "path"}; the answer is
//     {"allowed", "reason", "message"}, with the message of the Status of a denied request.
//   - rules: {"namespace"}; the answer is {"status"} of a SelfSubjectRulesReview.
//   - grant: a write of "object" over "old" at {"namespace", "name"}; the answer is {} or {"code", "message"}.
//   - aggregate: the answer is {"rules"} that the controller applies to the ClusterRole "name", if it applies any.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/authorization"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectrulesreview"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"fieldmanager.dev/comparison/server/lines"
)

type asked struct {
	Objects   []json.RawMessage `json:"objects"`
	Questions []question        `json:"questions"`
}

type question struct {
	Op          string          `json:"op"`
	User        string          `json:"user"`
	Groups      []string        `json:"groups"`
	Verb        string          `json:"verb"`
	Path        string          `json:"path"`
	Group       string          `json:"group"`
	Resource    string          `json:"resource"`
	Subresource string          `json:"subresource"`
	Namespace   string          `json:"namespace"`
	Name        string          `json:"name"`
	Object      json.RawMessage `json:"object"`
	Old         json.RawMessage `json:"old"`
}

type answer struct {
	Allowed bool                                      `json:"allowed,omitempty"`
	Reason  string                                    `json:"reason,omitempty"`
	Message string                                    `json:"message,omitempty"`
	Code    int32                                     `json:"code,omitempty"`
	Status  *authorizationv1.SubjectRulesReviewStatus `json:"status,omitempty"`
	Rules   any                                       `json:"rules,omitempty"`
	Panic   string                                    `json:"panic,omitempty"`
}

func main() {
	lines.Serve(respond)
}

func respond(line []byte) (out map[string]any) {
	defer func() {
		if fault := recover(); fault != nil {
			out = map[string]any{"panic": fmt.Sprint(fault)}
		}
	}()
	var asked asked
	if err := json.Unmarshal(line, &asked); err != nil {
		panic(err)
	}
	objects := newObjects(asked.Objects)
	answers := []answer{}
	for _, question := range asked.Questions {
		answers = append(answers, objects.answer(&question))
	}
	return map[string]any{"answers": answers}
}

func (o *objects) answer(q *question) answer {
	who := &user.DefaultInfo{Name: q.User, Groups: q.Groups}
	ctx := request.WithUser(context.Background(), who)
	rules := rbac.New(&rbac.RoleGetter{Lister: o.roles}, o, &rbac.ClusterRoleGetter{Lister: o.clusterRoles}, o)
	switch q.Op {
	case "authorize":
		attributes := authorizer.AttributesRecord{
			User: who, Verb: q.Verb, Path: q.Path, ResourceRequest: q.Path == "",
			APIGroup: q.Group, APIVersion: "v1", Resource: q.Resource, Subresource: q.Subresource,
			Namespace: q.Namespace, Name: q.Name,
		}
		decision, reason, err := chain(rules).Authorize(ctx, attributes)
		if err != nil {
			panic(err)
		}
		out := answer{Allowed: decision == authorizer.DecisionAllow, Reason: reason}
		if !out.Allowed {
			out.Message = responsewriters.ForbiddenStatusError(attributes, reason).Error()
		}
		return out
	case "rules":
		review := &authorization.SelfSubjectRulesReview{}
		review.Spec.Namespace = q.Namespace
		made, err := selfsubjectrulesreview.NewREST(rules).Create(ctx, review, nil, nil)
		if err != nil {
			panic(err)
		}
		out := &authorizationv1.SelfSubjectRulesReview{}
		convert(made, out)
		return answer{Status: &out.Status}
	case "grant":
		if err := o.grant(ctx, q, chain(rules)); err != nil {
			status := responsewriters.ErrorToAPIStatus(err)
			return answer{Code: status.Code, Message: status.Message}
		}
		return answer{}
	case "aggregate":
		return answer{Rules: o.aggregate(ctx, q.Name)}
	}
	panic(q.Op)
}

// chain is how a server with --authorization-mode=RBAC authorizes.
func chain(rules authorizer.Authorizer) authorizer.Authorizer {
	masters := authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)
	chain, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "kubernetes.io/system-privileged-group", Authorizer: masters},
		union.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: rules},
	)
	if err != nil {
		panic(err)
	}
	return chain
}

func convert(from, to runtime.Object) {
	if err := legacyscheme.Scheme.Convert(from, to, nil); err != nil {
		panic(err)
	}
}

// read decodes an object into its Go type.
func read(text []byte) runtime.Object {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		panic(err)
	}
	object, err := legacyscheme.Scheme.New(rbacv1.SchemeGroupVersion.WithKind(kind.Kind))
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(text, object); err != nil {
		panic(err)
	}
	return object
}
