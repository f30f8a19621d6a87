package main

import (
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// defineBy configures a resource from a CustomResourceDefinition: types,
// versions, the storage version as hub, defaults and reset fields. The version,
// hub and reset fields of the request have precedence.
func (r *resource) defineBy(request *managedRequest) error {
	crd, refusal := readCRD(request.CRD)
	if refusal != nil {
		return fmt.Errorf("%v", refusal["decodeError"])
	}
	r.custom = true
	r.group, r.kind = crd.Spec.Group, crd.Spec.Names.Kind
	known := []string{}
	for _, version := range crd.Spec.Versions {
		known = append(known, version.Name)
		if version.Storage {
			r.useStorageVersion(request, version.Name)
		}
		if version.Subresources != nil && version.Subresources.Status != nil {
			r.hasStatus = true
			r.resetForStatus(schema.GroupVersion{Group: r.group, Version: version.Name})
		}
		s, err := structuralOf(&version, crd.Spec.PreserveUnknownFields)
		if err != nil {
			return err
		}
		r.defaulter.structural[version.Name] = s
	}
	r.converter.custom, r.converter.known = true, knownVersions(r.group, known)
	return r.typesOf(crd)
}

func (r *resource) useStorageVersion(request *managedRequest, name string) {
	if r.version == "" {
		r.version = name
	}
	if request.Hub == "" {
		r.hub = schema.GroupVersion{Group: r.group, Version: name}
	} else {
		r.hub = groupVersion(r.group, request.Hub)
	}
}

func (r *resource) resetForStatus(version schema.GroupVersion) {
	for subresource, set := range map[string]*fieldpath.Set{
		"":       fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
		"status": fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec")),
	} {
		if r.reset[subresource] == nil {
			r.reset[subresource] = map[fieldpath.APIVersion]*fieldpath.Set{}
		}
		if key := fieldpath.APIVersion(version.String()); r.reset[subresource][key] == nil {
			r.reset[subresource][key] = set
		}
	}
}

// structuralOf is the schema whose defaults a version of a custom resource
// gets, nil if there is none.
func structuralOf(version *apiextensionsv1.CustomResourceDefinitionVersion, preserveUnknownFields bool) (*structuralschema.Structural, error) {
	if version.Schema == nil {
		return nil, nil
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	s, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if preserveUnknownFields {
		return s, nil
	}
	if err != nil || s == nil {
		return nil, err
	}
	s = s.DeepCopy()
	return s, defaulting.PruneDefaults(s)
}

func (r *resource) typesOf(crd *apiextensionsv1.CustomResourceDefinition) error {
	_, specs, buildErr := buildVersions(crd)
	models, err := applyModels(specs)
	if errors.Join(buildErr, err) != nil || len(models) == 0 {
		r.types = deducedTypes()
		return nil
	}
	r.types = modelTypes(models, crd.Spec.PreserveUnknownFields)
	return nil
}
