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
	return &tableCell{what: what, version: version, t: t, text: text}, nil
}

// table uses the same two objects for all runs, as the package does.
func (in *inputs) table(object, what string) (*operation, error) {
	cell, err := in.tableCell(object, what)
	if err != nil {
		return nil, err
	}
	run, err := cell.read()
	if err != nil {
		return nil, err
	}
	return operationOf(run), nil
}

// freshTable reads objects for every run, in batches of the size that the Rust
// side has.
func (in *inputs) freshTable(object, what string) (*operation, error) {
	cell, err := in.tableCell(object, what)
	if err != nil {
		return nil, err
	}
	run, err := cell.read()
	if err != nil {
		return nil, err
	}
	out := operationOf(run)
	out.batch = max(100_000/len(cell.text), 1)
	out.fresh = func() (func() error, error) {
		run, err := cell.read()
		return func() error {
			_, err := run()
			return err
		}, err
	}
	return out, nil
}

// read makes a run with objects of its own.
func (c *tableCell) read() (func() (state, error), error) {
	var options []typed.ValidationOptions
	if !strings.HasPrefix(c.what, "Apply") {
		options = append(options, typed.AllowDuplicates)
	}
	first, err := c.t.FromYAML(typed.YAMLObject(c.text), options...)
	if err != nil {
		return nil, err
	}
	second := first
	if c.what != "Create" && c.what != "Apply" {
		if second, err = c.t.FromYAML(typed.YAMLObject(c.text), options...); err != nil {
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
