package main

import (
	"cmp"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// smdSchema writes a schema of structured-merge-diff in the shape of its YAML
// form. Types and fields are sorted by name, because the converter visits Go
// maps and returns them in random order; everything else keeps its order.
func smdSchema(s *schema.Schema) map[string]any {
	types := make([]any, 0, len(s.Types))
	for _, def := range byName(s.Types, func(t schema.TypeDef) string { return t.Name }) {
		out := smdAtom(def.Atom)
		out["name"] = def.Name
		types = append(types, out)
	}
	return map[string]any{"types": types}
}

func byName[T any](list []T, name func(T) string) []T {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	return sorted
}

func smdAtom(a schema.Atom) map[string]any {
	out := map[string]any{}
	if a.Scalar != nil {
		out["scalar"] = string(*a.Scalar)
	}
	if a.List != nil {
		out["list"] = smdList(a.List)
	}
	if a.Map != nil {
		out["map"] = smdMap(a.Map)
	}
	return out
}

func smdList(l *schema.List) map[string]any {
	out := map[string]any{}
	if ref := smdRef(l.ElementType); len(ref) > 0 {
		out["elementType"] = ref
	}
	if l.ElementRelationship != "" {
		out["elementRelationship"] = string(l.ElementRelationship)
	}
	if len(l.Keys) > 0 {
		out["keys"] = l.Keys
	}
	return out
}

func smdMap(m *schema.Map) map[string]any {
	out := map[string]any{}
	if len(m.Fields) > 0 {
		fields := make([]any, 0, len(m.Fields))
		for _, f := range byName(m.Fields, func(f schema.StructField) string { return f.Name }) {
			field := map[string]any{"name": f.Name, "type": smdRef(f.Type)}
			if f.Default != nil {
				field["default"] = f.Default
			}
			fields = append(fields, field)
		}
		out["fields"] = fields
	}
	if len(m.Unions) > 0 {
		out["unions"] = smdUnions(m.Unions)
	}
	if ref := smdRef(m.ElementType); len(ref) > 0 {
		out["elementType"] = ref
	}
	if m.ElementRelationship != "" {
		out["elementRelationship"] = string(m.ElementRelationship)
	}
	return out
}

func smdRef(r schema.TypeRef) map[string]any {
	out := smdAtom(r.Inlined)
	if r.NamedType != nil {
		out["namedType"] = *r.NamedType
	}
	if r.ElementRelationship != nil {
		out["elementRelationship"] = string(*r.ElementRelationship)
	}
	if r.Nullable {
		out["nullable"] = true
	}
	return out
}

func smdUnions(unions []schema.Union) []any {
	out := make([]any, 0, len(unions))
	for _, u := range unions {
		fields := make([]any, 0, len(u.Fields))
		for _, f := range u.Fields {
			fields = append(fields, map[string]any{"fieldName": f.FieldName, "discriminatorValue": f.DiscriminatorValue})
		}
		union := map[string]any{"fields": fields}
		if u.Discriminator != nil {
			union["discriminator"] = *u.Discriminator
		}
		if u.DeduceInvalidDiscriminator {
			union["deduceInvalidDiscriminator"] = true
		}
		out = append(out, union)
	}
	return out
}
