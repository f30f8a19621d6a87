// Command defaults answers what kube-apiserver makes of an object of a built-in kind before it is stored: its
// defaults, what the strategy of its registry changes, and the errors and warnings of validation.
//
// It reads requests as JSON lines from standard input and writes one JSON line for each:
//
//	{"kind": "apps/v1/Deployment", "object": {...}}                             a creation
//	{"kind": "apps/v1/Deployment", "object": {...}, "old": {...}, "subresource": "status"}  an update
//
// The objects of an answer are at the version of the request. They are omitted if an earlier step failed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	componentversion "k8s.io/component-base/version"
	"k8s.io/klog/v2"
)

type question struct {
	Kind        string          `json:"kind"`
	Subresource string          `json:"subresource"`
	Object      json.RawMessage `json:"object"`
	Old         json.RawMessage `json:"old"`
}

type answer struct {
	// Failure is why there is no answer: the object does not decode, for instance.
	Failure string `json:"failure,omitempty"`
	// Defaulted is the object after it was decoded, defaulted and converted to the internal version and back.
	Defaulted runtime.Object `json:"defaulted,omitempty"`
	// Prepared is the object after the strategy prepared it.
	Prepared runtime.Object `json:"prepared,omitempty"`
	// Errors are those of validation.
	Errors []fieldError `json:"errors,omitempty"`
	// Warnings are those of the strategy, if validation has no errors.
	Warnings []string `json:"warnings,omitempty"`
}

type fieldError struct {
	Type  string `json:"type"`
	Field string `json:"field"`
	// Body is the message without the field.
	Body string `json:"body"`
}

func main() {
	klog.SetLogger(logr.Discard())
	gate := utilfeature.DefaultMutableFeatureGate.(featuregate.MutableVersionedFeatureGate)
	if err := gate.SetEmulationVersion(version.MustParse(componentversion.DefaultKubeBinaryVersion)); err != nil {
		panic(err)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	decoder := json.NewDecoder(in)
	for {
		var q question
		if err := decoder.Decode(&q); err != nil {
			return
		}
		if err := encoder.Encode(answerTo(&q)); err != nil {
			panic(err)
		}
		if err := out.Flush(); err != nil {
			panic(err)
		}
	}
}

func answerTo(q *question) (a *answer) {
	a = &answer{}
	defer func() {
		if fault := recover(); fault != nil {
			*a = answer{Failure: fmt.Sprintf("panic: %v", fault)}
			fmt.Fprintf(os.Stderr, "%v\n%s", fault, debug.Stack())
		}
	}()
	if err := a.fill(q); err != nil {
		a.Failure = err.Error()
	}
	return a
}

func (a *answer) fill(q *question) error {
	parts := strings.Split(q.Kind, "/")
	kind := schema.GroupVersionKind{Version: parts[0], Kind: parts[len(parts)-1]}
	if len(parts) == 3 {
		kind.Group, kind.Version = parts[0], parts[1]
	}
	r := registryOf(kind)
	if r == nil {
		return fmt.Errorf("no strategy for %s", kind)
	}
	object, err := r.internal(kind, q.Object)
	if err != nil {
		return err
	}
	if a.Defaulted, err = r.external(kind, object); err != nil {
		return err
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	verb := "create"
	if q.Old != nil {
		verb = "update"
	}
	ctx := request.WithNamespace(context.Background(), accessor.GetNamespace())
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: kind.Group, APIVersion: kind.Version,
		Resource: r.resource, Subresource: q.Subresource, Name: accessor.GetName(), Namespace: accessor.GetNamespace(),
	})
	var errs field.ErrorList
	if q.Old == nil {
		r.strategy.PrepareForCreate(ctx, object)
		errs = rest.ValidateCreate(ctx, object, r.strategy)
		if len(errs) == 0 {
			a.Warnings = r.strategy.WarningsOnCreate(ctx, object)
		}
		r.strategy.Canonicalize(object)
	} else {
		strategy := r.update(q.Subresource)
		if strategy == nil {
			return fmt.Errorf("no strategy for %s of %s", q.Subresource, kind)
		}
		old, err := r.internal(kind, q.Old)
		if err != nil {
			return err
		}
		oldMeta, err := meta.Accessor(old)
		if err != nil {
			return err
		}
		accessor.SetGeneration(oldMeta.GetGeneration())
		strategy.PrepareForUpdate(ctx, object, old)
		// As rest.BeforeUpdate does.
		if len(accessor.GetUID()) == 0 {
			accessor.SetUID(oldMeta.GetUID())
		}
		if created := oldMeta.GetCreationTimestamp(); !created.IsZero() {
			accessor.SetCreationTimestamp(created)
		}
		if deleted := oldMeta.GetDeletionTimestamp(); !deleted.IsZero() {
			accessor.SetDeletionTimestamp(deleted)
		}
		if grace := oldMeta.GetDeletionGracePeriodSeconds(); grace != nil && accessor.GetDeletionGracePeriodSeconds() == nil {
			accessor.SetDeletionGracePeriodSeconds(grace)
		}
		errs = rest.ValidateUpdate(ctx, object, old, strategy)
		if len(errs) == 0 {
			a.Warnings = strategy.WarningsOnUpdate(ctx, object, old)
		}
		strategy.Canonicalize(object)
	}
	for _, err := range errs {
		a.Errors = append(a.Errors, fieldError{Type: string(err.Type), Field: err.Field, Body: err.ErrorBody()})
	}
	a.Prepared, err = r.external(kind, object)
	return err
}
