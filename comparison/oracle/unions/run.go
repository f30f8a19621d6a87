package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/merge"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
)

// state is the state that steps read and change. The live object is nil until a
// step creates it.
type state struct {
	typeName string
	parser   *typed.Parser
	updater  *merge.Updater
	live     *typed.TypedValue
	managers fieldpath.ManagedFields
}

// oneVersion is the converter of an object that is equal at all versions.
type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

func newState(unions bool) *state {
	builder := merge.UpdaterBuilder{Converter: oneVersion{}, EnableUnions: unions}
	return &state{updater: builder.BuildUpdater(), managers: fieldpath.ManagedFields{}}
}

func (s *state) setSchema(text json.RawMessage) error {
	// JSON is also YAML.
	parser, err := typed.NewParser(typed.YAMLObject(text))
	if err == nil {
		s.parser = parser
	}
	return err
}

// step runs one step. A step that fails leaves the state as it was; the
// reference changes the map of managers before it returns an error, so each
// step works on a copy.
func (s *state) step(kind string, body stepBody) any {
	next, done := *s, false
	next.managers = s.managers.Copy()
	result := protocol.Attempt(func() (any, error) {
		out, err := next.dispatch(kind, body)
		done = err == nil
		return out, err
	}, failure)
	if done {
		*s = next
	}
	return result
}

func failure(err error) any {
	var conflicts merge.Conflicts
	if !errors.As(err, &conflicts) {
		return map[string]any{"error": err.Error(), "kind": "validation"}
	}
	out := make([]protocol.Conflict, 0, len(conflicts))
	for _, conflict := range conflicts {
		out = append(out, protocol.Conflict{Manager: conflict.Manager, Path: conflict.Path.String()})
	}
	return protocol.Conflicts(out)
}

func (s *state) dispatch(kind string, body stepBody) (any, error) {
	var err error
	switch kind {
	case "apply":
		err = s.apply(body)
	case "update":
		err = s.update(body)
	case "changeSchema":
		err = s.changeSchema(body.Schema)
	case "normalize":
		return s.normalize(body)
	default:
		err = fmt.Errorf("the oracle has no step %q", kind)
	}
	if err != nil {
		return nil, err
	}
	return s.report()
}

// report is the result of a step that acts on the state.
func (s *state) report() (any, error) {
	managed := map[string]any{}
	for name, entry := range s.managers {
		fields, err := entry.Set().ToJSON()
		if err != nil {
			return nil, err
		}
		managed[name] = protocol.Owned(string(entry.APIVersion()), entry.Applied(), fields)
	}
	return map[string]any{"object": plain(s.live), "managed": managed}, nil
}

// plain is the content of an object; the reference may leave the value of a
// merged object unset, which means null.
func plain(object *typed.TypedValue) any {
	if object == nil || object.AsValue() == nil {
		return nil
	}
	return object.AsValue().Unstructured()
}

func (s *state) typed(content any) (*typed.TypedValue, error) {
	return s.parser.Type(s.typeName).FromUnstructured(content)
}

func (s *state) parse(text json.RawMessage) (*typed.TypedValue, error) {
	content, err := protocol.ParseValue(text)
	if err != nil {
		return nil, err
	}
	return s.typed(content)
}

func (s *state) createLive() error {
	if s.live != nil {
		return nil
	}
	var err error
	s.live, err = s.typed(nil)
	return err
}

func (s *state) apply(body stepBody) error {
	config, err := s.parse(body.Object)
	if err != nil {
		return err
	}
	if err := s.createLive(); err != nil {
		return err
	}
	object, managers, err := s.updater.Apply(
		s.live, config, fieldpath.APIVersion(body.APIVersion), s.managers, body.Manager, body.Force)
	if err != nil {
		return err
	}
	s.managers = managers
	if object != nil {
		s.live = object
	}
	return nil
}

func (s *state) update(body stepBody) error {
	object, err := s.parse(body.Object)
	if err != nil {
		return err
	}
	if err := s.createLive(); err != nil {
		return err
	}
	s.live, s.managers, err = s.updater.Update(
		s.live, object, fieldpath.APIVersion(body.APIVersion), s.managers, body.Manager)
	return err
}

// changeSchema gives the live object its type in another schema.
func (s *state) changeSchema(text json.RawMessage) error {
	if err := s.setSchema(text); err != nil || s.live == nil {
		return err
	}
	live, err := s.typed(plain(s.live))
	s.live = live
	return err
}

func (s *state) normalize(body stepBody) (any, error) {
	old, err := s.parse(body.Old)
	if err != nil {
		return nil, err
	}
	object, err := s.parse(body.New)
	if err != nil {
		return nil, err
	}
	normalized, err := old.NormalizeUnions(object)
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": plain(normalized)}, nil
}
