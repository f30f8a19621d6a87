package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// opEntries reads entries and writes them again. The coder is internal to the
// reference, but a scale handler uses it and keeps every entry of a version
// that has no replicas.
func opEntries(text []byte) (answer, error) {
	var request struct {
		ManagedFields json.RawMessage `json:"managedFields"`
	}
	if err := decode(text, &request); err != nil {
		return nil, err
	}
	var entries []metav1.ManagedFieldsEntry
	if err := decode(request.ManagedFields, &entries); err != nil {
		return answer{"decodeError": err.Error()}, nil
	}
	var raw any
	if err := decode(request.ManagedFields, &raw); err != nil {
		return answer{"decodeError": err.Error()}, nil
	}
	out := answer{"accessor": accessorView(raw), "fields": fieldTexts(entries)}
	if err := managedfields.ValidateManagedFields(entries); err != nil {
		out["error"] = err.Error()
		return out, nil
	}
	keepAll := managedfields.ResourcePathMappings{}
	for _, entry := range entries {
		keepAll[entry.APIVersion] = nil
	}
	written, err := managedfields.NewScaleHandler(entries, schema.GroupVersion{}, keepAll).ToParent(nil)
	if err != nil {
		out["encodeError"] = err.Error()
		return out, nil
	}
	out["managedFields"] = written
	return out, nil
}

// fieldTexts is the text that each set is written as. The entries themselves
// pass through an unstructured object, which sorts the keys of fieldsV1.
func fieldTexts(entries []metav1.ManagedFieldsEntry) []answer {
	texts := make([]answer, 0, len(entries))
	for _, entry := range entries {
		if entry.FieldsV1 == nil {
			texts = append(texts, nil)
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			texts = append(texts, answer{"error": err.Error()})
			continue
		}
		text, err := set.ToJSON()
		if err != nil {
			texts = append(texts, answer{"error": err.Error()})
			continue
		}
		texts = append(texts, answer{"text": string(text)})
	}
	return texts
}

// accessorView is the list as the accessor of an unstructured object returns it:
// null if the accessor drops the list, which is not an empty list.
func accessorView(raw any) []metav1.ManagedFieldsEntry {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"managedFields": raw},
	}}
	return object.GetManagedFields()
}

// opRequestValidation validates the parts of a request that name managers, if
// they are present.
func opRequestValidation(text []byte) (answer, error) {
	var request struct {
		ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		PatchOptions  *metav1.PatchOptions        `json:"patchOptions"`
		PatchType     string                      `json:"patchType"`
		CreateOptions *metav1.CreateOptions       `json:"createOptions"`
		UpdateOptions *metav1.UpdateOptions       `json:"updateOptions"`
		FieldManager  *string                     `json:"fieldManager"`
	}
	if err := decode(text, &request); err != nil {
		return answer{"decodeError": err.Error()}, nil
	}
	out := answer{}
	if request.ManagedFields != nil {
		path := field.NewPath("metadata", "managedFields")
		out["managedFields"] = errorTexts(validation.ValidateManagedFields(request.ManagedFields, path))
	}
	if request.PatchOptions != nil {
		out["patchOptions"] = errorTexts(validation.ValidatePatchOptions(request.PatchOptions, types.PatchType(request.PatchType)))
	}
	if request.CreateOptions != nil {
		out["createOptions"] = errorTexts(validation.ValidateCreateOptions(request.CreateOptions))
	}
	if request.UpdateOptions != nil {
		out["updateOptions"] = errorTexts(validation.ValidateUpdateOptions(request.UpdateOptions))
	}
	if request.FieldManager != nil {
		out["fieldManager"] = errorTexts(validation.ValidateFieldManager(*request.FieldManager, field.NewPath("fieldManager")))
	}
	return out, nil
}
