package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// bytes is JSON in, an apply, JSON out, for an object with managed fields.
func (in *inputs) bytes(object, what string) (*operation, error) {
	live, err := in.read(fmt.Sprintf("live-%s-%s.json", object, what))
	if err != nil {
		return nil, err
	}
	config, err := in.read(fmt.Sprintf("config-%s-%s.json", object, what))
	if err != nil {
		return nil, err
	}
	manager, err := in.fieldManager(object, live, strings.HasSuffix(what, "-deduced"))
	if err != nil {
		return nil, err
	}
	run := func() ([]byte, error) {
		liveObject, err := decodeObject(live)
		if err != nil {
			return nil, err
		}
		configObject, err := decodeObject(config)
		if err != nil {
			return nil, err
		}
		applied, err := manager.Apply(liveObject, configObject, "deployer", false)
		if err != nil {
			return nil, err
		}
		return applied.(*unstructured.Unstructured).MarshalJSON()
	}
	return &operation{
		run: func() error {
			_, err := run()
			return err
		},
		output: func() (any, error) {
			text, err := run()
			if err != nil {
				return nil, err
			}
			return withoutTimes(text)
		},
	}, nil
}

func decodeObject(text []byte) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	return out, out.UnmarshalJSON(text)
}

// withoutTimes is the object without times, since Go reads the clock.
func withoutTimes(text []byte) (any, error) {
	object, err := decodeObject(text)
	if err != nil {
		return nil, err
	}
	entries, _, err := unstructured.NestedSlice(object.Object, "metadata", "managedFields")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		delete(entry.(map[string]any), "time")
	}
	return object.Object, unstructured.SetNestedSlice(object.Object, entries, "metadata", "managedFields")
}

// fieldManager is the field manager of an apiserver for custom resources, which
// are unstructured there as here.
func (in *inputs) fieldManager(object string, live []byte, deduced bool) (*managedfields.FieldManager, error) {
	sample, err := decodeObject(live)
	if err != nil {
		return nil, err
	}
	kind := sample.GroupVersionKind()
	converter := managedfields.NewDeducedTypeConverter()
	if !deduced {
		t, err := in.typeOf(object)
		if err != nil {
			return nil, err
		}
		converter = oneType{t}
	}
	return managedfields.NewDefaultCRDFieldManager(
		converter, asIs{}, asIs{}, asIs{}, kind, kind.GroupVersion(), "", nil)
}

// oneType types objects as the converter of the package does, with a schema that
// is already in the format of the merge package.
type oneType struct{ t typed.ParseableType }

func (c oneType) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("expected an unstructured object, got %T", object)
	}
	return c.t.FromUnstructured(u.UnstructuredContent(), options...)
}

func (c oneType) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	content, ok := value.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("expected a map, got %T", value.AsValue().Unstructured())
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// asIs neither converts nor sets defaults: there is one version.
type asIs struct{}

func (asIs) Convert(any, any, any) error { return nil }

func (asIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (asIs) Default(runtime.Object) {}

func (asIs) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(kind)
	return out, nil
}
