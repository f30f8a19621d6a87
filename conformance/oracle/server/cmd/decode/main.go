// The oracle for built-in kinds decodes objects into their Go types and converts them between versions.
//
// It reads JSON lines {"op": "decode", "group", "version", "kind", "object"} and answers {"object", "unknown"} or
// {"error"}. With "op": "convert" and the group and version "toGroup" and "to", it answers {"object"} or {"error"}.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"fieldmanager.dev/conformance/server/schemes"
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
	Object  json.RawMessage `json:"object,omitempty"`
	Unknown []string        `json:"unknown,omitempty"`
	Error   string          `json:"error,omitempty"`
	Panic   string          `json:"panic,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), 64<<20)
	writer := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := encoder.Encode(respond(lines.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := writer.Flush(); err != nil {
			os.Exit(1)
		}
	}
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
	strict, err := kjson.UnmarshalStrict(asked.Object, object)
	if err != nil {
		return answer{Error: err.Error()}
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
