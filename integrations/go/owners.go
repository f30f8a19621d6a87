package fieldmanager

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TB is what an assertion needs of *testing.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Owners returns the managers that own a field, such as `.spec.containers[name="web"].image`, in the order of their names.
// `object` is a typed object of Kubernetes, an Unstructured, or a map.
func Owners(object any, field string) []string {
	var read struct {
		Metadata struct {
			ManagedFields []struct {
				Manager  string
				FieldsV1 map[string]any
			}
		}
	}
	encoded, err := json.Marshal(object)
	if err != nil || json.Unmarshal(encoded, &read) != nil {
		return nil
	}

	owners := map[string]bool{}
	for _, entry := range read.Metadata.ManagedFields {
		if owns(entry.FieldsV1, "", field) {
			owners[entry.Manager] = true
		}
	}
	return slices.Sorted(maps.Keys(owners))
}

// AssertOwned fails a test if not exactly some managers own a field.
func AssertOwned(t TB, object any, field string, managers ...string) {
	t.Helper()
	owners := Owners(object, field)
	slices.Sort(managers)
	if !slices.Equal(owners, managers) {
		t.Errorf("owners of %s: found %q, want %q", field, owners, managers)
	}
}

// owns tells whether a FieldsV1 at a path has a field.
func owns(fields map[string]any, path, field string) bool {
	if len(fields) == 0 {
		return path == field
	}
	for key, below := range fields {
		if key == "." {
			if path == field {
				return true
			}
			continue
		}
		children, _ := below.(map[string]any)
		child := path + element(key)
		if strings.HasPrefix(field, child) && owns(children, child, field) {
			return true
		}
	}
	return false
}

// element is the text of a path element, such as `[name="web"]` for `k:{"name":"web"}`.
func element(key string) string {
	kind, value, _ := strings.Cut(key, ":")
	switch kind {
	case "f":
		return "." + value
	case "v":
		return "[=" + value + "]"
	case "k":
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(value), &members) != nil {
			return "[" + value + "]"
		}
		var keys []string
		for _, name := range slices.Sorted(maps.Keys(members)) {
			keys = append(keys, fmt.Sprintf("%s=%s", name, members[name]))
		}
		return "[" + strings.Join(keys, ",") + "]"
	}
	return "[" + value + "]"
}
