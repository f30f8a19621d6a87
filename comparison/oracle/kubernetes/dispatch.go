package main

import (
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// answer is the object that a request is answered with.
type answer map[string]any

// ops are the things that can be asked.
var ops = map[string]func(request []byte) (answer, error){
	"openapi":           opOpenAPI,
	"structural":        opStructural,
	"prune":             onValue(prune),
	"default":           onValue(setDefaults),
	"nulls":             onValue(dropNulls),
	"listtype":          onValue(validateListTypes),
	"coerce":            onValue(coerceMetadata),
	"objectmeta":        onValue(validateMetadata),
	"prunedefaults":     onValue(pruneDefaults),
	"validate":          opValidate,
	"rules":             opRules,
	"estimates":         opEstimates,
	"crd":               opCRD,
	"managed":           opManaged,
	"scale":             opScale,
	"extract":           opExtract,
	"upgrade":           opUpgrade,
	"entries":           opEntries,
	"requestvalidation": opRequestValidation,
	"smp":               opSMP,
	"jsonmergepatch":    opJSONMergePatch,
	"jsonpatch":         opJSONPatch,
}

// decode reads a request, or a part of one. Numbers in untyped places become
// int64 or float64 as everywhere in the Kubernetes packages.
func decode(text []byte, into any) error {
	return utiljson.Unmarshal(text, into)
}

// respond answers one request. An error of an op means that the request itself
// cannot be understood; what the reference refuses is in the answer. A panic is
// an answer too: it is a property of the reference on this input, and the next
// request must still be served.
func respond(line []byte) (out any) {
	defer func() {
		if cause := recover(); cause != nil {
			out = answer{"panic": fmt.Sprint(cause)}
		}
	}()
	var head struct {
		Op string `json:"op"`
	}
	if err := decode(line, &head); err != nil {
		return answer{"requestError": err.Error()}
	}
	op, ok := ops[head.Op]
	if !ok {
		return answer{"requestError": fmt.Sprintf("unknown op %q", head.Op)}
	}
	result, err := op(line)
	if err != nil {
		return answer{"requestError": err.Error()}
	}
	return result
}
