package main

import (
	"fmt"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// converter converts unstructured objects between versions that differ in the
// names of some fields at most.
type converter struct {
	// known are the versions that exist; nil means all.
	known map[string]bool
	// custom makes the errors those of a custom resource. The field manager
	// drops entries of a version that is not registered in a scheme, but fails
	// on the error that a custom resource gives.
	custom bool
	// renames has, by version, the names of fields by their names in the hub.
	renames map[string]map[string]string
}

var _ runtime.ObjectConvertor = &converter{}

func (c *converter) Convert(in, out, context any) error {
	return fmt.Errorf("not used by the field manager")
}

func (c *converter) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", fmt.Errorf("not used by the field manager")
}

func (c *converter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	object, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("expected an unstructured object, got %T", in)
	}
	from := object.GroupVersionKind()
	to, ok := target.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("expected a group and version, got %T", target)
	}
	if err := c.check(from, to); err != nil {
		return nil, err
	}
	out := object.DeepCopy()
	if from.GroupVersion() != to {
		c.rename(out, c.namesOf(from.GroupVersion()), true)
		c.rename(out, c.namesOf(to), false)
		out.SetGroupVersionKind(to.WithKind(from.Kind))
	}
	return out, nil
}

func (c *converter) check(from schema.GroupVersionKind, to schema.GroupVersion) error {
	if !c.custom {
		if !c.isKnown(to) {
			return runtime.NewNotRegisteredErrForKind("oracle", to.WithKind(from.Kind))
		}
		return nil
	}
	switch {
	case from.Group != to.Group:
		return fmt.Errorf("%v is unstructured and is not suitable for converting to %q", from.String(), to)
	case !c.isKnown(to):
		return fmt.Errorf("request to convert CR to an invalid group/version: %s", to.String())
	case !c.isKnown(from.GroupVersion()):
		return fmt.Errorf("request to convert CR from an invalid group/version: %s", from.GroupVersion().String())
	}
	return nil
}

func (c *converter) isKnown(gv schema.GroupVersion) bool {
	return c.known == nil || c.known[gv.String()]
}

func (c *converter) namesOf(gv schema.GroupVersion) map[string]string {
	if names, ok := c.renames[gv.String()]; ok {
		return names
	}
	return c.renames[gv.Version]
}

// rename removes all fields before it inserts one, so that two fields may swap
// names.
func (c *converter) rename(object *unstructured.Unstructured, names map[string]string, back bool) {
	taken := map[string]any{}
	for hub, versioned := range names {
		if back {
			hub, versioned = versioned, hub
		}
		path := strings.Split(hub, ".")
		value, ok, err := unstructured.NestedFieldNoCopy(object.Object, path...)
		if ok && err == nil {
			unstructured.RemoveNestedField(object.Object, path...)
			taken[versioned] = value
		}
	}
	for _, path := range sortedKeys(taken) {
		// A parent that is not an object cannot have the field, which is lost then,
		// as in a converter that drops values that do not fit.
		_ = unstructured.SetNestedField(object.Object, taken[path], strings.Split(path, ".")...)
	}
}

// creater makes empty objects.
type creater struct{}

func (creater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// defaulter sets the defaults of structural schemas, as for custom resources.
type defaulter struct {
	// structural has the schemas by version.
	structural map[string]*structuralschema.Structural
}

func (d defaulter) Default(in runtime.Object) {
	if object, ok := in.(*unstructured.Unstructured); ok {
		if s := d.structural[object.GroupVersionKind().Version]; s != nil {
			defaulting.Default(object.UnstructuredContent(), s)
		}
	}
}

// knownVersions is the set of versions of a group that exist. A version with a
// slash names its own group.
func knownVersions(group string, versions []string) map[string]bool {
	if versions == nil {
		return nil
	}
	known := map[string]bool{}
	for _, version := range versions {
		known[groupVersion(group, version).String()] = true
	}
	return known
}

func groupVersion(group, version string) schema.GroupVersion {
	if parsed, err := schema.ParseGroupVersion(version); err == nil && strings.Contains(version, "/") {
		return parsed
	}
	return schema.GroupVersion{Group: group, Version: version}
}
