package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// schemaError means that the schema of a scenario is invalid, which is an answer
// about the whole scenario and not about one of its steps.
type schemaError struct{ error }

// scenario is a scenario that is ready to run.
type scenario struct {
	types     *typeTable
	converter *converter
	updater   *merge.Updater
	steps     []step
}

// step is one step: its kind and its arguments.
type step struct {
	kind string
	body stepBody
}

// stepBody has the arguments of all kinds of steps; each kind reads its own.
type stepBody struct {
	Manager         string          `json:"manager"`
	APIVersion      string          `json:"apiVersion"`
	Force           bool            `json:"force"`
	AllowDuplicates bool            `json:"allowDuplicates"`
	AppendKeyFields bool            `json:"appendKeyFields"`
	Op              string          `json:"op"`
	Object          json.RawMessage `json:"object"`
	LHS             json.RawMessage `json:"lhs"`
	RHS             json.RawMessage `json:"rhs"`
	Fields          json.RawMessage `json:"fields"`
	Schema          json.RawMessage `json:"schema"`
}

func parseScenario(text []byte) (*scenario, error) {
	var raw struct {
		Schema  json.RawMessage   `json:"schema"`
		Types   map[string]string `json:"types"`
		Options struct {
			ReturnInputOnNoop bool                       `json:"returnInputOnNoop"`
			IgnoredFields     map[string]json.RawMessage `json:"ignoredFields"`
			OnlyFields        map[string][]string        `json:"onlyFields"`
		} `json:"options"`
		Conversion *conversion                  `json:"conversion"`
		Steps      []map[string]json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("cannot read the scenario: %w", err)
	}
	if len(raw.Types) == 0 {
		return nil, errors.New("`types` must name the type of the object")
	}
	types := newTypeTable(raw.Types, raw.Conversion)
	if err := types.setSchema(raw.Schema); err != nil {
		return nil, schemaError{err}
	}

	builder := merge.UpdaterBuilder{ReturnInputOnNoop: raw.Options.ReturnInputOnNoop}
	if raw.Options.IgnoredFields != nil {
		builder.IgnoredFields = map[fieldpath.APIVersion]*fieldpath.Set{}
		for version, fields := range raw.Options.IgnoredFields {
			set, err := parseSet(fields)
			if err != nil {
				return nil, fmt.Errorf("ignoredFields of %s: %w", version, err)
			}
			builder.IgnoredFields[fieldpath.APIVersion(version)] = set
		}
	}
	if raw.Options.OnlyFields != nil {
		builder.IgnoreFilter = map[fieldpath.APIVersion]fieldpath.Filter{}
		for version, patterns := range raw.Options.OnlyFields {
			filter, err := parseFilter(patterns)
			if err != nil {
				return nil, fmt.Errorf("onlyFields of %s: %w", version, err)
			}
			builder.IgnoreFilter[fieldpath.APIVersion(version)] = filter
		}
	}

	s := &scenario{types: types, converter: &converter{types: types, conversion: raw.Conversion}}
	builder.Converter = s.converter
	s.updater = builder.BuildUpdater()
	for i, members := range raw.Steps {
		parsed, err := parseStep(members)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		s.steps = append(s.steps, parsed)
	}
	return s, nil
}

func parseStep(members map[string]json.RawMessage) (step, error) {
	var out step
	for kind, body := range members {
		if kind == "expect" {
			continue
		}
		if out.kind != "" {
			return out, fmt.Errorf("both %s and %s in one step", out.kind, kind)
		}
		out.kind = kind
		if err := json.Unmarshal(body, &out.body); err != nil {
			return out, fmt.Errorf("%s: %w", kind, err)
		}
	}
	if out.kind == "" {
		return out, errors.New("no step")
	}
	return out, nil
}

// typeTable finds the type of the object at a version.
type typeTable struct {
	names  map[string]string
	single string
	// perVersion is set if versions must be distinguished although their type
	// may be the same: each version then has its own copy of the schema, and
	// the schema of a value identifies the version of the value.
	perVersion bool
	base       *schema.Schema
	copies     map[string]*schema.Schema
}

func newTypeTable(names map[string]string, c *conversion) *typeTable {
	t := &typeTable{names: names, perVersion: c != nil && len(c.Renames) > 0}
	if len(names) == 1 {
		for _, name := range names {
			t.single = name
		}
	}
	return t
}

func (t *typeTable) setSchema(text json.RawMessage) error {
	parsed, err := parseSchema(text)
	if err != nil {
		return err
	}
	t.base, t.copies = parsed, map[string]*schema.Schema{}
	return nil
}

// typeAt returns the type of the object at version. A version without an entry
// gets a type that has the version's name, which the schema will most likely
// not have; the reference reports that as an error of the schema.
func (t *typeTable) typeAt(version string) typed.ParseableType {
	name, found := t.names[version]
	if !found {
		name = version
		if t.single != "" {
			name = t.single
		}
	}
	return typed.ParseableType{Schema: t.schemaAt(version, name), TypeRef: schema.TypeRef{NamedType: &name}}
}

func (t *typeTable) schemaAt(version, name string) *schema.Schema {
	if _, declared := t.base.FindNamedType(name); !declared && name == *typed.DeducedParseableType.TypeRef.NamedType {
		return t.copyFor(version, typed.DeducedParseableType.Schema)
	}
	return t.copyFor(version, t.base)
}

func (t *typeTable) copyFor(version string, base *schema.Schema) *schema.Schema {
	if !t.perVersion {
		return base
	}
	if t.copies[version] == nil {
		copied := &schema.Schema{}
		base.CopyInto(copied)
		t.copies[version] = copied
	}
	return t.copies[version]
}

// versionOf finds the version of a value by its schema.
func (t *typeTable) versionOf(v *typed.TypedValue) (string, bool) {
	for version, s := range t.copies {
		if s == v.Schema() {
			return version, true
		}
	}
	return "", false
}

func parseSchema(text json.RawMessage) (*schema.Schema, error) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 || trimmed[0] == '"' {
		return nil, fmt.Errorf("the oracle takes a schema inline, got %s", trimmed)
	}
	// JSON is also YAML.
	parser, err := typed.NewParser(typed.YAMLObject(trimmed))
	if err != nil {
		return nil, err
	}
	return &parser.Schema, nil
}

func parseSet(text json.RawMessage) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if len(text) == 0 {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("cannot read the fields: %w", err)
	}
	return set, nil
}
