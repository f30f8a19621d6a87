package main

import (
	"encoding/json"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// sharing is how many objects have the same managers.
const sharing = 10000

// stored is how many objects are stored as a whole.
const stored = 1000

// memory returns sizes on the heap, under the names of the Rust side.
func (in *inputs) memory() (map[string]float64, error) {
	out := map[string]float64{}
	for _, name := range []string{"Pod", "Node", "CRD", "Endpoints", "Catalog"} {
		text, err := in.read("object-" + name + ".json")
		if err != nil {
			return nil, err
		}
		out["value/"+name] = kept(100, func() any {
			var object any
			_ = json.Unmarshal(text, &object)
			return object
		})
		_, fields, err := in.readSet("fields-" + name + ".json")
		if err != nil {
			return nil, err
		}
		out["set/"+name] = kept(100, func() any {
			set, _ := decodeSet(fields)
			return set
		})
	}
	live, err := in.read("live-Pod-same.json")
	if err != nil {
		return nil, err
	}
	object, err := decodeObject(live)
	if err != nil {
		return nil, err
	}
	entries := object.GetManagedFields()
	decoded := kept(sharing, func() any { return decodeEntries(entries) })
	// The package shares no sets between objects. (What it can share, built with
	// the tag fieldsv1string, are the texts of FieldsV1 before they are decoded,
	// which are not counted here.)
	out["decoded/Pod"], out["managed/Pod"] = decoded, decoded
	// Custom resources are kept like this, and share nothing either.
	whole := kept(stored, func() any {
		object, _ := decodeObject(live)
		return object
	})
	out["object/Pod"], out["stored/Pod"] = whole, whole
	return out, nil
}

// decodeEntries decodes entries as the field manager does, whose code is internal
// to its package.
func decodeEntries(entries []metav1.ManagedFieldsEntry) fieldpath.ManagedFields {
	out := make(fieldpath.ManagedFields, len(entries))
	for _, entry := range entries {
		set, _ := decodeSet(entry.FieldsV1.GetRawBytes())
		applied := entry.Operation == metav1.ManagedFieldsOperationApply
		identity := entry.Manager + "/" + string(entry.Operation)
		out[identity] = fieldpath.NewVersionedSet(set, fieldpath.APIVersion(entry.APIVersion), applied)
	}
	return out
}

// kept is how many bytes one of many values keeps.
func kept(n int, make func() any) float64 {
	make()
	values := []any{}
	for range n {
		values = append(values, nil)
	}
	before := heap()
	for i := range values {
		values[i] = make()
	}
	bytes := heap() - before
	runtime.KeepAlive(values)
	return bytes / float64(n)
}

func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
