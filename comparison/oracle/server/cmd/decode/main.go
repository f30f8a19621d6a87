// The oracle for built-in kinds decodes objects into their Go types and converts them between versions.
//
// It reads JSON lines {"op": "decode", "group", "version", "kind", "object"} and answers {"object", "unknown"} or
// {"error"}. With "op": "unstructured" the object is first read into a map, and errors are in {"errors"}. With "op": "protobuf" the object is
// written as protobuf and read again, and the answer is {"protobuf", "object"}. With "op": "convert" and the group and version "toGroup" and "to", it answers {"object"} or {"error"}.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kjson "sigs.k8s.io/json"

	"fieldmanager.dev/comparison/server/schemes"

	"fieldmanager.dev/comparison/server/lines"
)

type request struct {
	Op      string          `json:"op"`
	Group   string          `json:"group"`
	Version string          `json:"version"`
	Kind    string          `json:"kind"`
	ToGroup string          `json:"toGroup"`
	To      string          `json:"to"`
	Object  json.RawMessage `json:"object"`
}

type answer struct {
	Object   json.RawMessage `json:"object,omitempty"`
	Protobuf []byte          `json:"protobuf,omitempty"`
	Unknown  []string        `json:"unknown,omitempty"`
	Error    string          `json:"error,omitempty"`
	// Errors are all that were found in several attempts, since Go iterates over maps in random order.
	Errors []string `json:"errors,omitempty"`
	Panic  string   `json:"panic,omitempty"`
}

func main() {
	lines.Serve(respond)
}

func respond(line []byte) (out answer) {
	defer func() {
		if fault := recover(); fault != nil {
			out = answer{Panic: fmt.Sprint(fault)}
		}
	}()
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Panic: err.Error()}
	}
	kind := schema.GroupVersionKind{Group: asked.Group, Version: asked.Version, Kind: asked.Kind}
	object, err := newObject(kind)
	if err != nil {
		return answer{Panic: err.Error()}
	}
	if asked.Op == "unstructured" {
		return unstructured(kind, asked.Object)
	}
	strict, err := kjson.UnmarshalStrict(asked.Object, object)
	if err != nil {
		return answer{Error: err.Error()}
	}
	if asked.Op == "protobuf" {
		return throughProtobuf(kind, object.(runtime.Object))
	}
	if asked.Op == "convert" {
		return convert(kind, schema.GroupVersion{Group: asked.ToGroup, Version: asked.To}, object.(runtime.Object))
	}
	out.Object, err = json.Marshal(object)
	if err != nil {
		return answer{Error: err.Error()}
	}
	for _, fault := range strict {
		var field kjson.FieldError
		if errors.As(fault, &field) {
			out.Unknown = append(out.Unknown, field.FieldPath())
		}
	}
	return out
}

// attempts is how often an object with faults is converted.
const attempts = 16

func unstructured(kind schema.GroupVersionKind, text []byte) answer {
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &content); err != nil {
		return answer{Panic: err.Error()}
	}
	var out answer
	for range attempts {
		object, err := newObject(kind)
		if err != nil {
			return answer{Panic: err.Error()}
		}
		err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, object, true)
		strict, isStrict := runtime.AsStrictDecodingError(err)
		if err != nil && !isStrict {
			if !slices.Contains(out.Errors, err.Error()) {
				out.Errors = append(out.Errors, err.Error())
			}
			continue
		}
		if out.Object, err = json.Marshal(object); err != nil {
			return answer{Error: err.Error()}
		}
		if isStrict {
			for _, fault := range strict.Errors() {
				path, _ := strings.CutPrefix(fault.Error(), `unknown field "`)
				out.Unknown = append(out.Unknown, strings.TrimSuffix(path, `"`))
			}
		}
		return out
	}
	return out
}

// message is a Go type with a protobuf message.
type message interface {
	runtime.Object
	Unmarshal([]byte) error
}

// throughProtobuf writes an object as clients do, and reads it as kube-apiserver does.
func throughProtobuf(kind schema.GroupVersionKind, object runtime.Object) answer {
	object.GetObjectKind().SetGroupVersionKind(kind)
	var body bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(object, &body); err != nil {
		return answer{Error: err.Error()}
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(body.Bytes()[len("k8s\x00"):]); err != nil {
		return answer{Panic: err.Error()}
	}
	fresh, err := newObject(kind)
	if err != nil {
		return answer{Panic: err.Error()}
	}
	if err := fresh.(message).Unmarshal(envelope.Raw); err != nil {
		return answer{Panic: err.Error()}
	}
	fresh.(message).GetObjectKind().SetGroupVersionKind(envelope.GroupVersionKind())
	text, err := json.Marshal(fresh)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Protobuf: body.Bytes(), Object: text}
}

func newObject(kind schema.GroupVersionKind) (any, error) {
	if kind.Group == metav1.GroupName {
		switch kind.Kind {
		case "DeleteOptions":
			return &metav1.DeleteOptions{}, nil
		case "Status":
			return &metav1.Status{}, nil
		default:
			return &metav1.PartialObjectMetadata{}, nil
		}
	}
	return schemes.Of(kind).New(kind)
}

// convert converts through the internal version, without defaults.
func convert(kind schema.GroupVersionKind, to schema.GroupVersion, object runtime.Object) answer {
	scheme := schemes.Of(kind)
	internal, err := scheme.UnsafeConvertToVersion(object, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return answer{Error: err.Error()}
	}
	target, err := scheme.UnsafeConvertToVersion(internal, to)
	if err != nil {
		return answer{Error: err.Error()}
	}
	text, err := json.Marshal(target)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Object: text}
}
