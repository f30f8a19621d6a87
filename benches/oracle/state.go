package main

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// sameVersion is for objects that are equal at all versions.
type sameVersion struct{}

func (sameVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (sameVersion) IsMissingVersionError(error) bool { return false }

// state is a live object and its managers.
type state struct {
	live     *typed.TypedValue
	managers fieldpath.ManagedFields
}

func nothing(t typed.ParseableType) (state, error) {
	live, err := t.FromUnstructured(nil)
	return state{live: live, managers: fieldpath.ManagedFields{}}, err
}

func newUpdater(returnInput bool) *merge.Updater {
	builder := merge.UpdaterBuilder{Converter: sameVersion{}, ReturnInputOnNoop: returnInput}
	return builder.BuildUpdater()
}

func (s state) apply(u *merge.Updater, config *typed.TypedValue, manager string, force bool) (state, error) {
	object, managers, err := u.Apply(s.live, config, "v1", s.managers, manager, force)
	if err != nil {
		return state{}, err
	}
	if object == nil {
		object = s.live
	}
	return state{live: object, managers: managers}, nil
}

func (s state) update(u *merge.Updater, object *typed.TypedValue, manager string, version fieldpath.APIVersion) (state, error) {
	out, managers, err := u.Update(s.live, object, version, s.managers, manager)
	return state{live: out, managers: managers}, err
}

func (s state) output() (any, error) {
	managers := map[string]any{}
	for name, owned := range s.managers {
		text, err := owned.Set().ToJSON()
		if err != nil {
			return nil, err
		}
		managers[name] = map[string]any{
			"fields":  json.RawMessage(text),
			"version": owned.APIVersion(),
			"applied": owned.Applied(),
		}
	}
	return map[string]any{"object": withTextKeys(s.live.AsValue().Unstructured()), "managers": managers}, nil
}

// withTextKeys turns a value read from YAML into one that can be written as JSON.
func withTextKeys(in any) any {
	switch in := in.(type) {
	case map[any]any:
		out := map[string]any{}
		for name, value := range in {
			out[fmt.Sprint(name)] = withTextKeys(value)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, value := range in {
			out[name] = withTextKeys(value)
		}
		return out
	case []any:
		out := make([]any, len(in))
		for i, value := range in {
			out[i] = withTextKeys(value)
		}
		return out
	}
	return in
}

// operationOf is an operation whose result is a state.
func operationOf(run func() (state, error)) *operation {
	return &operation{
		run: func() error {
			_, err := run()
			return err
		},
		output: func() (any, error) {
			out, err := run()
			if err != nil {
				return nil, err
			}
			return out.output()
		},
	}
}

func unknown(what string) error {
	return fmt.Errorf("no such operation: %s", what)
}
