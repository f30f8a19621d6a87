package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// document is a JSON value that is passed on as its text. A JSON string is
// passed on as its content, which need not be JSON; an absent document is the
// empty text.
type document []byte

func (d *document) UnmarshalJSON(text []byte) error {
	var inner string
	if json.Unmarshal(text, &inner) == nil && string(text) != "null" {
		*d = document(inner)
		return nil
	}
	*d = append(document(nil), text...)
	return nil
}

// smpRequest is a question about strategic merge patches.
type smpRequest struct {
	Definitions   map[string]json.RawMessage `json:"definitions"`
	OpenAPI       string                     `json:"openapi"`
	Type          string                     `json:"type"`
	GoType        string                     `json:"goType"`
	Function      string                     `json:"function"`
	Original      document                   `json:"original"`
	Modified      document                   `json:"modified"`
	Current       document                   `json:"current"`
	Patch         document                   `json:"patch"`
	Patches       []map[string]any           `json:"patches"`
	Overwrite     bool                       `json:"overwrite"`
	Preconditions preconditions              `json:"preconditions"`
}

// preconditions name keys that a patch must not change.
type preconditions struct {
	Keys         []string `json:"keys"`
	MetadataKeys []string `json:"metadataKeys"`
}

func (p preconditions) functions() []mergepatch.PreconditionFunc {
	var out []mergepatch.PreconditionFunc
	for _, key := range p.Keys {
		out = append(out, mergepatch.RequireKeyUnchanged(key))
	}
	for _, key := range p.MetadataKeys {
		out = append(out, mergepatch.RequireMetadataKeyUnchanged(key))
	}
	return out
}

func opSMP(text []byte) (answer, error) {
	request := &smpRequest{}
	if err := decode(text, request); err != nil {
		return nil, err
	}
	meta, err := patchMeta(request)
	if err != nil {
		return answer{"setupError": err.Error()}, nil
	}
	checks := request.Preconditions.functions()
	switch request.Function {
	case "apply":
		return patched(strategicpatch.StrategicMergePatchUsingLookupPatchMeta(request.Original, request.Patch, meta)), nil
	case "two-way":
		return patched(strategicpatch.CreateTwoWayMergePatchUsingLookupPatchMeta(request.Original, request.Modified, meta, checks...)), nil
	case "three-way":
		return patched(strategicpatch.CreateThreeWayMergePatch(request.Original, request.Modified, request.Current, meta, request.Overwrite, checks...)), nil
	case "merge-patches":
		return mergePatches(request.Patches, meta), nil
	case "conflicts":
		return patchConflicts(request.Patches, meta)
	default:
		return nil, fmt.Errorf("unknown function %q", request.Function)
	}
}

func mergePatches(patches []map[string]any, meta strategicpatch.LookupPatchMeta) answer {
	maps := make([]strategicpatch.JSONMap, len(patches))
	for i, patch := range patches {
		maps[i] = patch
	}
	merged, err := strategicpatch.MergeStrategicMergeMapPatchUsingLookupPatchMeta(meta, maps...)
	if err != nil {
		return patchFailure(err)
	}
	return answer{"result": merged}
}

func patchConflicts(patches []map[string]any, meta strategicpatch.LookupPatchMeta) (answer, error) {
	if len(patches) != 2 {
		return nil, fmt.Errorf("conflicts are asked of two patches, got %d", len(patches))
	}
	conflicts, err := strategicpatch.MergingMapsHaveConflicts(patches[0], patches[1], meta)
	if err != nil {
		return patchFailure(err), nil
	}
	return answer{"conflicts": conflicts}, nil
}

// patched answers a result of bytes, or the error.
func patched(result []byte, err error) answer {
	if err != nil {
		return patchFailure(err)
	}
	if !json.Valid(result) {
		return answer{"text": string(result)}
	}
	return answer{"result": json.RawMessage(result)}
}

// patchFailure names the errors that an apiserver or a client distinguishes.
func patchFailure(err error) answer {
	out := answer{"error": err.Error()}
	for kind, known := range map[string]error{
		"badDocument":        mergepatch.ErrBadJSONDoc,
		"listOfLists":        mergepatch.ErrNoListOfLists,
		"badPrimitiveList":   mergepatch.ErrBadPatchFormatForPrimitiveList,
		"badRetainKeys":      mergepatch.ErrBadPatchFormatForRetainKeys,
		"badSetElementOrder": mergepatch.ErrBadPatchFormatForSetElementOrderList,
		"retainKeysMismatch": mergepatch.ErrPatchContentNotMatchRetainKeys,
		"unsupported":        mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, known) {
			out["errorKind"] = kind
		}
	}
	switch {
	case mergepatch.IsConflict(err):
		out["errorKind"] = "conflict"
	case mergepatch.IsPreconditionFailed(err):
		out["errorKind"] = "precondition"
	}
	return out
}
