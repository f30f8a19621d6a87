package main

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// sized is a change to ten items of a list or entries of a map of the given size.
func (in *inputs) sized(kind, what, n string) (*operation, error) {
	parser, err := in.parser("sizes")
	if err != nil {
		return nil, err
	}
	t := parser.Type("sized")
	read := func(name string) (*typed.TypedValue, error) {
		text, err := in.read(name + "-" + n + ".json")
		if err != nil {
			return nil, err
		}
		return fromJSON(t, text)
	}
	object, err := read(kind)
	if err != nil {
		return nil, err
	}
	first, err := read(kind + "-change0")
	if err != nil {
		return nil, err
	}
	second, err := read(kind + "-change1")
	if err != nil {
		return nil, err
	}
	updater := newUpdater(false)
	live, err := nothing(t)
	if err != nil {
		return nil, err
	}
	if live, err = live.update(updater, object, "creator", "v1"); err != nil {
		return nil, err
	}
	switch what {
	case "first":
	case "again", "same":
		if live, err = live.apply(updater, first, "applier", true); err != nil {
			return nil, err
		}
		if what == "again" {
			first = second
		}
	case "managers":
		if err := in.addManagers(live, t, n); err != nil {
			return nil, err
		}
	case "update":
		changed, err := live.live.Merge(first)
		if err != nil {
			return nil, err
		}
		return operationOf(func() (state, error) { return live.update(updater, changed, "updater", "v1") }), nil
	default:
		return nil, unknown(what)
	}
	return operationOf(func() (state, error) { return live.apply(updater, first, "applier", true) }), nil
}

// fromJSON types a JSON text without YAML, which is slow for large texts.
func fromJSON(t typed.ParseableType, text []byte) (*typed.TypedValue, error) {
	var object any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	return t.FromUnstructured(object)
}

// addManagers makes fifty appliers own an equal part of the list each.
func (in *inputs) addManagers(s state, t typed.ParseableType, n string) error {
	text, err := in.read("list-parts-" + n + ".json")
	if err != nil {
		return err
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	for i, part := range parts {
		object, err := fromJSON(t, part)
		if err != nil {
			return err
		}
		set, err := object.ToFieldSet()
		if err != nil {
			return err
		}
		s.managers[fmt.Sprintf("manager-%d", i)] = fieldpath.NewVersionedSet(set, "v1", true)
	}
	return nil
}
