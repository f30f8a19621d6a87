package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// state is the state that steps read and change. The live object is nil until a
// step creates it.
type state struct {
	live     *typed.TypedValue
	managers fieldpath.ManagedFields
}

// fault is an error of a known kind.
type fault struct {
	kind string
	err  error
}

func (f fault) Error() string { return f.err.Error() }

func kinded(kind string, err error) error {
	if err == nil {
		return nil
	}
	return fault{kind: kind, err: err}
}

// run runs the steps and returns one result for each.
func (s *scenario) run() []any {
	st := &state{managers: fieldpath.ManagedFields{}}
	results := make([]any, 0, len(s.steps))
	for _, step := range s.steps {
		results = append(results, s.runStep(st, step))
	}
	return results
}

// runStep runs one step. A step that fails leaves the state as it was; the
// reference changes the map of managers before it returns an error, so each
// step works on a copy.
func (s *scenario) runStep(st *state, step step) any {
	next := &state{live: st.live, managers: st.managers.Copy()}
	types, done := *s.types, false
	result := protocol.Attempt(func() (any, error) {
		out, err := s.dispatch(next, step)
		done = err == nil
		return out, err
	}, failure)
	if done {
		*st = *next
	} else {
		*s.types = types
	}
	return result
}

func failure(err error) any {
	var conflicts merge.Conflicts
	if !errors.As(err, &conflicts) {
		return map[string]any{"error": err.Error(), "kind": errorKind(err)}
	}
	out := make([]protocol.Conflict, 0, len(conflicts))
	for _, conflict := range conflicts {
		out = append(out, protocol.Conflict{Manager: conflict.Manager, Path: conflict.Path.String()})
	}
	return protocol.Conflicts(out)
}

// errorKind classifies errors by their cause. Any operation can return errors of
// the schema and of conversions, wrapped as text.
func errorKind(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, convertMark):
		return "conversion"
	case strings.Contains(text, "schema error:"), strings.Contains(text, "could not resolve"),
		strings.Contains(text, "reconciling field set"):
		return "schema"
	}
	var f fault
	if errors.As(err, &f) {
		return f.kind
	}
	if strings.HasPrefix(text, "failed to ") {
		return "merge"
	}
	return "other"
}

func (s *scenario) dispatch(st *state, step step) (any, error) {
	b := step.body
	switch step.kind {
	case "apply":
		config, err := s.parse(b.APIVersion, b.Object)
		if err == nil {
			err = s.apply(st, config, b.APIVersion, b.Manager, b.Force)
		}
		return st.report(err)
	case "update":
		object, err := s.parse(b.APIVersion, b.Object, typed.AllowDuplicates)
		if err == nil {
			err = s.update(st, object, b.APIVersion, b.Manager)
		}
		return st.report(err)
	case "extractApply":
		config, err := s.parse(b.APIVersion, b.Object)
		if err == nil {
			err = s.extractApply(st, config, b.APIVersion, b.Manager)
		}
		return st.report(err)
	case "changeSchema":
		return st.report(s.changeSchema(st, b.Schema))
	case "validate":
		return s.validate(b)
	case "compare", "merge":
		return s.combine(step.kind, b)
	case "fieldset":
		object, err := s.parse(b.APIVersion, b.Object, typed.AllowDuplicates)
		if err != nil {
			return nil, err
		}
		set, err := object.ToFieldSet()
		if err != nil {
			return nil, kinded("merge", err)
		}
		return fieldsResult(set)
	case "remove", "extract":
		return s.take(step.kind, b)
	case "set":
		return setOperation(b)
	}
	return nil, fmt.Errorf("the oracle has no step %q", step.kind)
}

// report is the result of a step that acts on the state.
func (st *state) report(err error) (any, error) {
	if err != nil {
		return nil, err
	}
	managed := map[string]any{}
	for name, owned := range st.managers {
		fields, err := owned.Set().ToJSON()
		if err != nil {
			return nil, err
		}
		managed[name] = protocol.Owned(string(owned.APIVersion()), owned.Applied(), fields)
	}
	var object any
	if st.live != nil {
		object = unstructured(st.live.AsValue())
	}
	return map[string]any{"object": object, "managed": managed}, nil
}

func (s *scenario) parse(version string, text json.RawMessage, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	content, err := protocol.ParseValue(text)
	if err != nil {
		return nil, err
	}
	out, err := s.types.typeAt(version).FromUnstructured(content, options...)
	return out, kinded("validation", err)
}

// liveAt converts the live object to the version of a step.
func (s *scenario) liveAt(st *state, version string) error {
	if st.live == nil {
		empty, err := s.types.typeAt(version).FromUnstructured(nil)
		if err != nil {
			return kinded("validation", err)
		}
		st.live = empty
	}
	live, err := s.converter.Convert(st.live, fieldpath.APIVersion(version))
	if err != nil {
		return err
	}
	st.live = live
	return nil
}

func (s *scenario) apply(st *state, config *typed.TypedValue, version, manager string, force bool) error {
	if err := s.liveAt(st, version); err != nil {
		return err
	}
	object, managers, err := s.updater.Apply(st.live, config, fieldpath.APIVersion(version), st.managers, manager, force)
	if err != nil {
		return err
	}
	st.managers = managers
	if object != nil {
		st.live = object
	}
	return nil
}

func (s *scenario) update(st *state, object *typed.TypedValue, version, manager string) error {
	if err := s.liveAt(st, version); err != nil {
		return err
	}
	object, managers, err := s.updater.Update(st.live, object, fieldpath.APIVersion(version), st.managers, manager)
	if err != nil {
		return err
	}
	st.live, st.managers = object, managers
	return nil
}

func (s *scenario) extractApply(st *state, config *typed.TypedValue, version, manager string) error {
	if st.live == nil {
		return s.apply(st, config, version, manager, true)
	}
	current, err := s.converter.Convert(st.live, fieldpath.APIVersion(version))
	if err != nil {
		return err
	}
	leaves := fieldpath.NewSet()
	if owned := st.managers[manager]; owned != nil {
		if string(owned.APIVersion()) != version {
			return fmt.Errorf("%q manages its fields at version %q, cannot extract them at %q", manager, owned.APIVersion(), version)
		}
		leaves = owned.Set().Leaves()
	}
	merged, err := current.ExtractItems(leaves).Merge(config)
	if err != nil {
		return kinded("merge", err)
	}
	return s.apply(st, merged, version, manager, true)
}

// changeSchema replaces the schema, and gives the live object its type in the
// new one.
func (s *scenario) changeSchema(st *state, text json.RawMessage) error {
	// The schema of the live object identifies its version.
	version, versioned := "", false
	if st.live != nil {
		version, versioned = s.types.versionOf(st.live)
	}
	if err := s.types.setSchema(text); err != nil {
		return kinded("schema", err)
	}
	if st.live == nil {
		return nil
	}
	typeRef := st.live.TypeRef()
	target := s.types.schemaAt(version, *typeRef.NamedType)
	if !versioned && s.types.perVersion {
		return errors.New("the live object is at an unknown version")
	}
	live, err := typed.AsTyped(st.live.AsValue(), target, typeRef, typed.AllowDuplicates)
	if err != nil {
		return kinded("validation", err)
	}
	st.live = live
	return nil
}

func (s *scenario) validate(b stepBody) (any, error) {
	var options []typed.ValidationOptions
	if b.AllowDuplicates {
		options = append(options, typed.AllowDuplicates)
	}
	if _, err := s.parse(b.APIVersion, b.Object, options...); err != nil {
		return nil, err
	}
	return map[string]any{}, nil
}

func (s *scenario) combine(kind string, b stepBody) (any, error) {
	lhs, err := s.parse(b.APIVersion, b.LHS, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	rhs, err := s.parse(b.APIVersion, b.RHS, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	if kind == "merge" {
		merged, err := lhs.Merge(rhs)
		if err != nil {
			return nil, kinded("merge", err)
		}
		return map[string]any{"object": unstructured(merged.AsValue())}, nil
	}
	compared, err := lhs.Compare(rhs)
	if err != nil {
		return nil, kinded("merge", err)
	}
	out := map[string]any{}
	for name, set := range map[string]*fieldpath.Set{
		"added": compared.Added, "modified": compared.Modified, "removed": compared.Removed,
	} {
		fields, err := set.ToJSON()
		if err != nil {
			return nil, err
		}
		out[name] = json.RawMessage(fields)
	}
	return out, nil
}

func (s *scenario) take(kind string, b stepBody) (any, error) {
	object, err := s.parse(b.APIVersion, b.Object, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	set, err := parseSet(b.Fields)
	if err != nil {
		return nil, err
	}
	if kind == "remove" {
		object = object.RemoveItems(set)
	} else {
		var options []typed.ExtractItemsOption
		if b.AppendKeyFields {
			options = append(options, typed.WithAppendKeyFields())
		}
		object = object.ExtractItems(set, options...)
	}
	return map[string]any{"object": unstructured(object.AsValue())}, nil
}

func setOperation(b stepBody) (any, error) {
	lhs, err := parseSet(b.LHS)
	if err != nil {
		return nil, err
	}
	rhs, err := parseSet(b.RHS)
	if err != nil {
		return nil, err
	}
	switch b.Op {
	case "union":
		return fieldsResult(lhs.Union(rhs))
	case "intersection":
		return fieldsResult(lhs.Intersection(rhs))
	case "difference":
		return fieldsResult(lhs.Difference(rhs))
	case "recursiveDifference":
		return fieldsResult(lhs.RecursiveDifference(rhs))
	case "leaves":
		return fieldsResult(lhs.Leaves())
	}
	return nil, fmt.Errorf("no set operation %q", b.Op)
}

func fieldsResult(set *fieldpath.Set) (any, error) {
	fields, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	return map[string]any{"fields": json.RawMessage(fields)}, nil
}
