package main

import (
	"bytes"
	"encoding/json"
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

// answerLine answers one request. An error of an op means that the request
// itself cannot be understood; what the reference refuses is in the answer.
func answerLine(line []byte) []byte {
	var head struct {
		Op     string `json:"op"`
		Repeat int    `json:"repeat"`
	}
	if err := decode(line, &head); err != nil {
		return encode(answer{"requestError": err.Error()})
	}
	op, ok := ops[head.Op]
	if !ok {
		return encode(answer{"requestError": fmt.Sprintf("unknown op %q", head.Op)})
	}
	first := encode(run(op, line))
	if head.Repeat < 2 {
		return first
	}
	return repeat(op, line, first, head.Repeat)
}

// repeat runs a request again and reports every answer that differs from the
// first one: the reference iterates over Go maps, so a few outcomes depend on
// chance.
func repeat(op func([]byte) (answer, error), line, first []byte, times int) []byte {
	seen := map[string]bool{string(first): true}
	variants := []json.RawMessage{}
	for range times - 1 {
		again := encode(run(op, line))
		if !seen[string(again)] {
			seen[string(again)] = true
			variants = append(variants, again)
		}
	}
	return encode(answer{"answer": json.RawMessage(first), "variants": variants})
}

// run turns a panic into an answer: a crash of the reference on an input is a
// fact about it, and the next request must still be served.
func run(op func([]byte) (answer, error), line []byte) (out answer) {
	defer func() {
		if cause := recover(); cause != nil {
			out = answer{"panic": fmt.Sprint(cause)}
		}
	}()
	out, err := op(line)
	if err != nil {
		return answer{"requestError": err.Error()}
	}
	return out
}

func encode(out answer) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	// Embedded text, as that of fieldsV1, is to arrive as it is.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		text.Reset()
		_ = encoder.Encode(answer{"requestError": fmt.Sprintf("cannot write the answer: %v", err)})
	}
	return bytes.TrimRight(text.Bytes(), "\n")
}
