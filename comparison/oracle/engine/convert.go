package main

import (
	"errors"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// conversion says how the versions of the object differ.
type conversion struct {
	Renames []map[string]string `json:"renames"`
	Served  []string            `json:"served"`
}

// converter implements the interface of the reference from the scenario.
type converter struct {
	types      *typeTable
	conversion *conversion
}

// convertMark is in every message of a failed conversion. The reference wraps
// errors as text, so only the mark identifies the cause.
const convertMark = "cannot convert to version"

var errMissingVersion = errors.New(convertMark + ": it is not served")

// Convert returns the object at another version.
func (c *converter) Convert(object *typed.TypedValue, version fieldpath.APIVersion) (*typed.TypedValue, error) {
	target := string(version)
	if !c.serves(target) {
		return nil, errMissingVersion
	}
	targetType := c.types.typeAt(target)
	typeRef := object.TypeRef()
	if object.Schema() == targetType.Schema && typeRef.Equals(&targetType.TypeRef) {
		return object, nil
	}
	content := object.AsValue()
	if c.types.perVersion {
		source, known := c.types.versionOf(object)
		if !known {
			return nil, fmt.Errorf("%s %s: the object is at an unknown version", convertMark, target)
		}
		content = value.NewValueInterface(rename(unstructured(content), c.names(source, target)))
	}
	// An object with duplicates from an update must be convertible.
	out, err := typed.AsTyped(content, targetType.Schema, targetType.TypeRef, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %v", convertMark, target, err)
	}
	return out, nil
}

// IsMissingVersionError reports whether the version does not exist.
func (c *converter) IsMissingVersionError(err error) bool {
	return errors.Is(err, errMissingVersion)
}

func (c *converter) serves(version string) bool {
	if c.conversion == nil || c.conversion.Served == nil {
		return true
	}
	for _, served := range c.conversion.Served {
		if served == version {
			return true
		}
	}
	return false
}

// names maps the renamed fields of the source version to their names at the
// target version.
func (c *converter) names(source, target string) map[string]string {
	out := map[string]string{}
	for _, field := range c.conversion.Renames {
		from, inSource := field[source]
		to, inTarget := field[target]
		if inSource && inTarget {
			out[from] = to
		}
	}
	return out
}

func rename(v any, names map[string]string) any {
	switch t := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, item := range t {
			name, renamed := names[key]
			if !renamed {
				name = key
				// A field that is renamed onto this key wins over the key.
				if _, taken := out[key]; taken {
					continue
				}
			}
			out[name] = rename(item, names)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i := range t {
			out[i] = rename(t[i], names)
		}
		return out
	}
	return v
}

// unstructured is the plain form of a value; the reference may leave the value
// of a merged object unset, which means null.
func unstructured(v value.Value) any {
	if v == nil {
		return nil
	}
	return v.Unstructured()
}
