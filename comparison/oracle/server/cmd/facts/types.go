package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"fieldmanager.dev/comparison/server/schemes"
)

// schemaProps is the type that the special types of schemas contain.
var schemaProps = reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()

// Flags of a field.
const (
	omitEmpty = 1 << iota
	omitZero
	inline
)

// table numbers the types and the strings that occur in them.
type table struct {
	Names []string `json:"names"`
	Types [][]any  `json:"types"`

	names map[string]int
	types map[reflect.Type]int
}

func newTable() *table {
	return &table{names: map[string]int{}, types: map[reflect.Type]int{}}
}

func (t *table) name(name string) int {
	at, known := t.names[name]
	if !known {
		at = len(t.Names)
		t.names[name] = at
		t.Names = append(t.Names, name)
	}
	return at
}

// of is the number of a type. A type is [form, Go name] and what the form needs: the types of its elements, or its
// fields. The name is empty if it follows from the elements.
func (t *table) of(goType reflect.Type) int {
	if at, known := t.types[goType]; known {
		return at
	}
	at := len(t.Types)
	t.types[goType] = at
	t.Types = append(t.Types, nil)
	name := ""
	if goType.Name() != "" {
		name = goType.String()
	}
	if form, found := schemes.Sorts[goType]; found {
		entry := []any{form, name}
		if strings.HasPrefix(form, "Schema") {
			entry = append(entry, t.of(schemaProps))
		}
		t.Types[at] = entry
		return at
	}
	checkMethods(goType)
	switch kind := goType.Kind(); kind {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		t.Types[at] = []any{kind.String(), name}
	case reflect.Pointer:
		t.Types[at] = []any{"pointer", name, t.of(goType.Elem())}
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			t.Types[at] = []any{"bytes", name}
		} else {
			t.Types[at] = []any{"slice", name, t.of(goType.Elem())}
		}
	case reflect.Map:
		if goType.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("%v: keys that are not strings", goType))
		}
		checkMethods(goType.Key())
		t.Types[at] = []any{"map", name, t.of(goType.Key()), t.of(goType.Elem())}
	case reflect.Struct:
		t.Types[at] = []any{"struct", name, t.fields(goType)}
	default:
		panic(fmt.Sprintf("%v: a kind that no API type has", goType))
	}
	return at
}

// fields lists [name, type, flags, protobuf number, protobuf wire kind] of the fields of a struct. The name of an
// inlined field is that of Go.
func (t *table) fields(goType reflect.Type) [][]any {
	fields := [][]any{}
	for i := range goType.NumField() {
		field := goType.Field(i)
		tag := strings.Split(field.Tag.Get("json"), ",")
		if tag[0] == "-" && len(tag) == 1 {
			continue
		}
		if !field.IsExported() {
			panic(fmt.Sprintf("%v.%s: unexported", goType, field.Name))
		}
		name, flags := tag[0], 0
		for _, option := range tag[1:] {
			switch option {
			case "omitempty":
				flags |= omitEmpty
			case "omitzero":
				flags |= omitZero
				if schemes.Sorts[field.Type] != "Time" {
					panic(fmt.Sprintf("%v.%s: omitzero", goType, field.Name))
				}
			case "inline", "":
			default:
				panic(fmt.Sprintf("%v.%s: option %s", goType, field.Name, option))
			}
		}
		if name == "" {
			if field.Anonymous {
				if field.Type.Kind() != reflect.Struct {
					panic(fmt.Sprintf("%v.%s: embedded, and no struct", goType, field.Name))
				}
				flags |= inline
			}
			name = field.Name
		}
		number, wire := 0, ""
		if parts := strings.Split(field.Tag.Get("protobuf"), ","); len(parts) > 1 {
			number, _ = strconv.Atoi(parts[1])
			wire = parts[0]
		}
		fields = append(fields, []any{t.name(name), t.of(field.Type), flags, number, t.name(wire)})
	}
	seen := map[string]bool{}
	for _, name := range flatNames(goType) {
		if seen[name] {
			panic(fmt.Sprintf("%v: two fields %s", goType, name))
		}
		seen[name] = true
	}
	return fields
}

// flatNames are the JSON names of a struct and of the structs that it inlines.
func flatNames(goType reflect.Type) []string {
	var names []string
	for i := range goType.NumField() {
		field := goType.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			names = append(names, flatNames(field.Type)...)
		case name == "":
			names = append(names, field.Name)
		default:
			names = append(names, name)
		}
	}
	return names
}

// checkMethods refuses types that read or write JSON or text by methods that this program does not know.
func checkMethods(goType reflect.Type) {
	if goType.Kind() == reflect.Pointer {
		return
	}
	for _, method := range []string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"} {
		if _, found := reflect.PointerTo(goType).MethodByName(method); found {
			panic(fmt.Sprintf("%v: has %s", goType, method))
		}
	}
}
