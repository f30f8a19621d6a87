package main

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// tableCell is a cell of the package's own benchmark, merge/real_test.go:
// objects are typed beforehand, and every run begins with a new updater and no
// object.
type tableCell struct {
	what    string
	version fieldpath.APIVersion
	t       typed.ParseableType
	text    []byte
	// A run with objects that are read once.
	reused func() (state, error)
}

func (in *inputs) tableCell(object, what string) (*tableCell, error) {
	t, err := in.typeOf(object)
	if err != nil {
		return nil, err
	}
	text, err := in.read("object-" + object + ".json")
	if err != nil {
		return nil, err
	}
	var version fieldpath.APIVersion = "v1"
	switch what {
	case "Create", "Apply", "ApplyTwice", "ApplyTwiceNoCompare", "Update":
	case "UpdateVersion":
		version = "v2"
	default:
		return nil, unknown(what)
	}
	cell := &tableCell{what: what, version: version, t: t, text: text}
	cell.reused, err = cell.typed(cell.read)
	return cell, err
}

// table uses the same two objects for all runs, as the package does.
func (in *inputs) table(object, what string) (*operation, error) {
	cell, err := in.tableCell(object, what)
	if err != nil {
		return nil, err
	}
	return operationOf(cell.reused), nil
}

// freshTable makes objects for every run, in batches of the size that the Rust
// side has.
func (in *inputs) freshTable(object, what string) (*operation, error) {
	cell, err := in.tableCell(object, what)
	if err != nil {
		return nil, err
	}
	parsed, err := cell.read()
	if err != nil {
		return nil, err
	}
	// A deep copy is equivalent to reading the text again, which would take a
	// thousand times as long as the operation.
	content := parsed.AsValue().Unstructured()
	out := operationOf(cell.reused)
	out.batch = max(100_000/len(cell.text), 1)
	out.fresh = func() (func() error, error) {
		run, err := cell.typed(func() (*typed.TypedValue, error) {
			return cell.t.FromUnstructured(copied(content), cell.options()...)
		})
		return func() error {
			_, err := run()
			return err
		}, err
	}
	return out, nil
}

// copied is a deep copy that shares not even strings.
func copied(in any) any {
	switch in := in.(type) {
	case map[any]any:
		out := make(map[any]any, len(in))
		for name, value := range in {
			out[copied(name)] = copied(value)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(in))
		for name, value := range in {
			out[strings.Clone(name)] = copied(value)
		}
		return out
	case []any:
		out := make([]any, len(in))
		for i, value := range in {
			out[i] = copied(value)
		}
		return out
	case string:
		return strings.Clone(in)
	}
	return in
}

func (c *tableCell) options() []typed.ValidationOptions {
	if strings.HasPrefix(c.what, "Apply") {
		return nil
	}
	return []typed.ValidationOptions{typed.AllowDuplicates}
}

// read reads the object.
func (c *tableCell) read() (*typed.TypedValue, error) {
	return c.t.FromYAML(typed.YAMLObject(c.text), c.options()...)
}

// typed makes a run: each operation in it has its own object.
func (c *tableCell) typed(object func() (*typed.TypedValue, error)) (func() (state, error), error) {
	first, err := object()
	if err != nil {
		return nil, err
	}
	second := first
	if c.what != "Create" && c.what != "Apply" {
		if second, err = object(); err != nil {
			return nil, err
		}
	}
	return func() (state, error) { return c.run(first, second) }, nil
}

func (c *tableCell) run(first, second *typed.TypedValue) (state, error) {
	updater := newUpdater(c.what == "ApplyTwiceNoCompare")
	s, err := nothing(c.t)
	if err != nil {
		return s, err
	}
	if strings.HasPrefix(c.what, "Apply") {
		s, err = s.apply(updater, first, "controller", false)
		if err != nil || c.what == "Apply" {
			return s, err
		}
		return s.apply(updater, second, "other-controller", false)
	}
	s, err = s.update(updater, first, "controller", "v1")
	if err != nil || c.what == "Create" {
		return s, err
	}
	return s.update(updater, second, "other-controller", c.version)
}
