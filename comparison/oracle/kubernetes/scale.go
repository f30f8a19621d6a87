package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// opScale converts managed fields between an object and its scale subresource.
func opScale(text []byte) (answer, error) {
	var request struct {
		Direction     string                      `json:"direction"`
		ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		ScaleEntries  []metav1.ManagedFieldsEntry `json:"scaleEntries"`
		GroupVersion  string                      `json:"groupVersion"`
		// Mappings has the path of the replicas by version, null for none.
		Mappings map[string][]string `json:"mappings"`
	}
	if err := decode(text, &request); err != nil {
		return answer{"decodeError": err.Error()}, nil
	}
	parent, err := schema.ParseGroupVersion(request.GroupVersion)
	if err != nil {
		return nil, err
	}
	handler := managedfields.NewScaleHandler(request.ManagedFields, parent, replicasPaths(request.Mappings))
	var entries []metav1.ManagedFieldsEntry
	if request.Direction == "toParent" {
		entries, err = handler.ToParent(request.ScaleEntries)
	} else {
		entries, err = handler.ToSubresource()
	}
	if err != nil {
		return answer{"error": err.Error()}, nil
	}
	return answer{"managedFields": entries}, nil
}

func replicasPaths(names map[string][]string) managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for version, fields := range names {
		if fields == nil {
			paths[version] = nil
			continue
		}
		path := fieldpath.Path{}
		for _, name := range fields {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		paths[version] = path
	}
	return paths
}

// opExtract extracts what a manager applied. The type is deduced if the
// request names none.
func opExtract(text []byte) (answer, error) {
	var request struct {
		definitionsRequest
		Type        string         `json:"type"`
		Object      map[string]any `json:"object"`
		Manager     string         `json:"manager"`
		Subresource string         `json:"subresource"`
	}
	if err := decode(text, &request); err != nil {
		return nil, err
	}
	source, err := readTypes(request.definitionsRequest)
	if err != nil {
		return answer{"setupError": err.Error()}, nil
	}
	parser, err := source.parser()
	if err != nil {
		return answer{"setupError": err.Error()}, nil
	}
	objectType := typed.DeducedParseableType
	if parser != nil && request.Type != "" {
		objectType = parser.Type(request.Type)
	}
	object := &unstructured.Unstructured{Object: request.Object}
	var extracted map[string]any
	if err := managedfields.ExtractInto(object, objectType, request.Manager, &extracted, request.Subresource); err != nil {
		return answer{"error": err.Error()}, nil
	}
	// Null for a manager without an entry.
	return answer{"object": extracted}, nil
}

// opUpgrade moves client-side apply managers to server-side apply.
func opUpgrade(text []byte) (answer, error) {
	var request struct {
		Object      map[string]any `json:"object"`
		CSAManagers []string       `json:"csaManagers"`
		SSAManager  string         `json:"ssaManager"`
		Subresource string         `json:"subresource"`
	}
	if err := decode(text, &request); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: request.Object}
	managers := sets.New(request.CSAManagers...)
	option := csaupgrade.Subresource(request.Subresource)
	out := answer{}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(object.DeepCopy(), managers, request.SSAManager, option)
	if err != nil {
		out["patchError"] = err.Error()
	} else if patch != nil {
		out["patch"] = json.RawMessage(patch)
	}
	if err := csaupgrade.UpgradeManagedFields(object, managers, request.SSAManager, option); err != nil {
		out["error"] = err.Error()
	} else {
		out["object"] = object.Object
	}
	return out, nil
}
