// The program writes the Go types of all kinds that kube-apiserver knows, for the generators of the comparison: the
// tables of the library are not read there, so that what they lack is generated too.
//
//	types > types.json
package main

import (
	"cmp"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/autoscaling"

	"fieldmanager.dev/comparison/server/schemes"
)

// kind is a kind at one version, with the key of its type.
type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Type    string `json:"type"`
}

// goType is a type: its sort, the keys of the types inside, and the fields of a struct.
type goType struct {
	Sort   string  `json:"sort"`
	Item   string  `json:"item,omitempty"`
	Fields []field `json:"fields,omitempty"`
}

// field is a field of a struct, with the fields of embedded structs in their place.
type field struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Of is the struct that declares it, and Count the number of its fields.
	Of    string `json:"of"`
	Count int    `json:"count"`
}

// types are the known types by their keys.
type types map[string]goType

// key names a type: that of a package alone is not unique.
func key(of reflect.Type) string {
	switch {
	case of.Name() != "":
		return strings.TrimPrefix(of.PkgPath()+"."+of.Name(), ".")
	case of.Kind() == reflect.Pointer:
		return "*" + key(of.Elem())
	case of.Kind() == reflect.Map:
		return "map " + key(of.Elem())
	default:
		return "[]" + key(of.Elem())
	}
}

// add adds a type and those inside, and returns its key.
func (t types) add(of reflect.Type) string {
	name := key(of)
	if _, known := t[name]; known {
		return name
	}
	out := goType{Sort: of.Kind().String()}
	t[name] = out
	switch sort, isSpecial := schemes.Sorts[of]; {
	case isSpecial:
		out.Sort = sort
		if strings.HasPrefix(sort, "Schema") {
			out.Item = t.add(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
		}
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		out.Sort = "bytes"
	case of.Kind() == reflect.Struct:
		out.Fields = t.fields(of)
	case of.Kind() == reflect.Pointer:
		out.Sort, out.Item = "pointer", t.add(of.Elem())
	case of.Kind() == reflect.Slice || of.Kind() == reflect.Map:
		out.Item = t.add(of.Elem())
	}
	t[name] = out
	return name
}

func (t types) fields(of reflect.Type) []field {
	var fields []field
	for i := range of.NumField() {
		member := of.Field(i)
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && member.Anonymous:
			fields = append(fields, t.fields(member.Type)...)
		default:
			declared := cmp.Or(name, member.Name)
			fields = append(fields, field{declared, t.add(member.Type), of.String(), of.NumField()})
		}
	}
	return fields
}

func main() {
	all, kinds := types{}, []kind{}
	for _, scheme := range []*runtime.Scheme{legacyscheme.Scheme, schemes.Extensions, schemes.Aggregator} {
		for gvk, of := range scheme.AllKnownTypes() {
			_, isObject := of.FieldByName("ObjectMeta")
			if gvk.Version != runtime.APIVersionInternal && isObject {
				kinds = append(kinds, kind{gvk.Group, gvk.Version, gvk.Kind, all.add(of)})
			}
		}
	}
	for name, of := range map[string]reflect.Type{
		"DeleteOptions":         reflect.TypeFor[metav1.DeleteOptions](),
		"Status":                reflect.TypeFor[metav1.Status](),
		"PartialObjectMetadata": reflect.TypeFor[metav1.PartialObjectMetadata](),
	} {
		kinds = append(kinds, kind{metav1.GroupName, "v1", name, all.add(of)})
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	kinds = slices.Compact(kinds)
	// What annotations of a HorizontalPodAutoscaler of autoscaling/v1 hold.
	parts := map[string]string{
		"metrics":         all.add(reflect.TypeFor[[]autoscalingv1.MetricSpec]()),
		"current-metrics": all.add(reflect.TypeFor[[]autoscalingv1.MetricStatus]()),
		"conditions":      all.add(reflect.TypeFor[[]autoscalingv1.HorizontalPodAutoscalerCondition]()),
		"behavior":        all.add(reflect.TypeFor[autoscaling.HorizontalPodAutoscalerBehavior]()),
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]any{"kinds": kinds, "types": all, "parts": parts}); err != nil {
		panic(err)
	}
}
