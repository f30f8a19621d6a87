package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
)

const (
	// The limits of an apiserver with default flags.
	maxPatchOperations = 10000
	maxPatchCopyBytes  = 3 << 20
)

type patchRequest struct {
	Function      string        `json:"function"`
	Original      document      `json:"original"`
	Modified      document      `json:"modified"`
	Current       document      `json:"current"`
	Patch         document      `json:"patch"`
	Preconditions preconditions `json:"preconditions"`
}

// opJSONMergePatch applies or makes a JSON merge patch.
func opJSONMergePatch(text []byte) (answer, error) {
	request := &patchRequest{}
	if err := decode(text, request); err != nil {
		return nil, err
	}
	switch request.Function {
	case "apply":
		result, err := jsonpatch.MergePatch(request.Original, request.Patch)
		out := patched(result, err)
		// Only this error has its own code, others are internal errors.
		if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
			out["code"] = http.StatusBadRequest
		}
		return out, nil
	case "create":
		return patched(jsonpatch.CreateMergePatch(request.Original, request.Modified)), nil
	case "three-way":
		checks := request.Preconditions.functions()
		return patched(jsonmergepatch.CreateThreeWayJSONMergePatch(request.Original, request.Modified, request.Current, checks...)), nil
	default:
		return nil, fmt.Errorf("unknown function %q", request.Function)
	}
}

// opJSONPatch applies a JSON patch as the patch handler does.
func opJSONPatch(text []byte) (answer, error) {
	request := &patchRequest{}
	if err := decode(text, request); err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(request.Patch)
	if err != nil {
		return answer{"error": err.Error(), "code": http.StatusBadRequest}, nil
	}
	if len(patch) > maxPatchOperations {
		message := fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(patch))
		return answer{"error": message, "code": http.StatusRequestEntityTooLarge}, nil
	}
	result, err := patch.Apply(request.Original)
	if err != nil {
		return answer{"error": err.Error(), "code": http.StatusUnprocessableEntity}, nil
	}
	return answer{"result": json.RawMessage(result)}, nil
}
