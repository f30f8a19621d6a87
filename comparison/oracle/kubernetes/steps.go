package main

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// managedStep is one write to the object.
type managedStep struct {
	Kind        string         `json:"kind"`
	Manager     string         `json:"manager"`
	APIVersion  string         `json:"apiVersion"`
	Subresource string         `json:"subresource"`
	Object      map[string]any `json:"object"`
	Force       bool           `json:"force"`
	NoErrors    bool           `json:"noErrors"`
	Time        string         `json:"time"`
}

// sequence is the state of an object between writes. The live object is in the
// hub version, and nil before it exists.
type sequence struct {
	resource *resource
	live     *unstructured.Unstructured
}

// run runs a step. The live object does not change if the step fails.
func (s *sequence) run(step managedStep, index int) (out answer) {
	defer func() {
		if cause := recover(); cause != nil {
			out = answer{"panic": fmt.Sprint(cause)}
		}
	}()
	if step.Object == nil {
		step.Object = map[string]any{}
	}
	switch step.Kind {
	case "status-update":
		step.Kind, step.Subresource = "update", "status"
	case "status-apply":
		step.Kind, step.Subresource = "apply", "status"
	case "set":
		// A write that bypasses the field manager, such as one to the storage.
		s.live = (&unstructured.Unstructured{Object: step.Object}).DeepCopy()
		return answer{"live": s.live.Object}
	}
	live, err := s.write(step, index)
	if err != nil {
		return failure(err)
	}
	s.live = live
	return answer{"live": live.DeepCopy().Object}
}

// failure distinguishes an error that a client gets as a Status from others.
func failure(err error) answer {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return answer{"status": status.Status()}
	}
	return answer{"error": err.Error()}
}

func (s *sequence) write(step managedStep, index int) (*unstructured.Unstructured, error) {
	at, err := stepTime(step.Time, index)
	if err != nil {
		return nil, err
	}
	version, err := s.versionOf(step)
	if err != nil {
		return nil, err
	}
	manager, err := s.resource.manager(version, step.Subresource)
	if err != nil {
		return nil, err
	}
	return atTime(at, func(toPresent func(*unstructured.Unstructured)) (*unstructured.Unstructured, error) {
		object := (&unstructured.Unstructured{Object: step.Object}).DeepCopy()
		live := s.before(step, version)
		toPresent(object)
		toPresent(live)
		return s.manage(manager, step, live, object)
	})
}

// versionOf is the version of the request: in an apiserver it is in the URL,
// here in the step, or in its object.
func (s *sequence) versionOf(step managedStep) (schema.GroupVersion, error) {
	switch {
	case step.APIVersion != "":
		return schema.ParseGroupVersion(step.APIVersion)
	case step.Kind != "apply":
		if text, ok := step.Object["apiVersion"].(string); ok && text != "" {
			return schema.ParseGroupVersion(text)
		}
	}
	return groupVersion(s.resource.group, s.resource.version), nil
}

// before is the live object as the handlers have it: an empty one of the
// requested version where none exists.
func (s *sequence) before(step managedStep, version schema.GroupVersion) *unstructured.Unstructured {
	if s.live == nil || step.Kind == "create" {
		return s.resource.empty(version).(*unstructured.Unstructured)
	}
	return s.live.DeepCopy()
}

func (s *sequence) manage(manager *managedfields.FieldManager, step managedStep, live, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	created := s.live == nil || step.Kind == "create"
	// The field manager may write to what it gets, the strategy needs the old
	// object as it was.
	old := live.DeepCopy()
	var out runtime.Object
	var err error
	switch step.Kind {
	case "create", "update":
		if object, err = s.resource.toHub(object); err != nil {
			return nil, err
		}
		if step.NoErrors {
			out = manager.UpdateNoErrors(live, object, step.Manager)
		} else {
			out, err = manager.Update(live, object, step.Manager)
		}
	case "apply":
		out, err = manager.Apply(live, object, step.Manager, step.Force)
	default:
		err = fmt.Errorf("unknown kind of step %q", step.Kind)
	}
	if err != nil {
		return nil, err
	}
	result := out.(*unstructured.Unstructured)
	if s.resource.hasStatus {
		result = keepOtherHalf(result, old, step.Subresource, created)
	}
	if created && s.resource.createdUID != "" && result.GetUID() == "" {
		result.SetUID(types.UID(s.resource.createdUID))
	}
	return result, nil
}

// keepOtherHalf is the strategy of a custom resource with a status subresource,
// which runs after the field manager: a write does not change the other half of
// the object, and managedFields are always the new ones.
func keepOtherHalf(result, old *unstructured.Unstructured, subresource string, created bool) *unstructured.Unstructured {
	switch {
	case subresource == "status":
		status, ok := result.Object["status"]
		kept := old.DeepCopy()
		kept.SetManagedFields(result.GetManagedFields())
		delete(kept.Object, "status")
		if ok {
			kept.Object["status"] = status
		}
		return kept
	case subresource != "":
		return result
	}
	delete(result.Object, "status")
	if status, ok := old.Object["status"]; ok && !created {
		result.Object["status"] = status
	}
	return result
}
