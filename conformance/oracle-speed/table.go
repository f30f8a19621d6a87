package main

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// table is a cell of the package's own benchmark, merge/real_test.go: objects
// are typed beforehand, and every run begins with a new updater and no object.
func (in *inputs) table(object, what string) (*operation, error) {
	t, err := in.typeOf(object)
	if err != nil {
		return nil, err
	}
	text, err := in.read("object-" + object + ".json")
	if err != nil {
		return nil, err
	}
	var options []typed.ValidationOptions
	if !strings.HasPrefix(what, "Apply") {
		options = append(options, typed.AllowDuplicates)
	}
	first, err := t.FromYAML(typed.YAMLObject(text), options...)
	if err != nil {
		return nil, err
	}
	second, err := t.FromYAML(typed.YAMLObject(text), options...)
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
	return operationOf(func() (state, error) {
		updater := newUpdater(what == "ApplyTwiceNoCompare")
		s, err := nothing(t)
		if err != nil {
			return s, err
		}
		if strings.HasPrefix(what, "Apply") {
			s, err = s.apply(updater, first, "controller", false)
			if err != nil || what == "Apply" {
				return s, err
			}
			return s.apply(updater, second, "other-controller", false)
		}
		s, err = s.update(updater, first, "controller", "v1")
		if err != nil || what == "Create" {
			return s, err
		}
		return s.update(updater, second, "other-controller", version)
	}), nil
}
