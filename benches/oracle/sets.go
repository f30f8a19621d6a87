package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func (in *inputs) readSet(name string) (*fieldpath.Set, []byte, error) {
	text, err := in.read(name)
	if err != nil {
		return nil, nil, err
	}
	set, err := decodeSet(text)
	return set, text, err
}

func decodeSet(text []byte) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	return set, set.FromJSON(bytes.NewReader(text))
}

func setOutput(set *fieldpath.Set) (any, error) {
	text, err := set.ToJSON()
	return json.RawMessage(text), err
}

func (in *inputs) setOfObject(object, what string) (*operation, error) {
	return in.setText(what, "fields-"+object+".json", "fields-"+object+"-reversed.json")
}

// setText decodes or encodes FieldsV1.
func (in *inputs) setText(what, sorted, reversed string) (*operation, error) {
	name := sorted
	if what == "reversed" {
		name = reversed
	}
	set, text, err := in.readSet(name)
	if err != nil {
		return nil, err
	}
	out := &operation{output: func() (any, error) { return setOutput(set) }}
	switch what {
	case "decode", "reversed":
		out.run = func() error {
			_, err := decodeSet(text)
			return err
		}
	case "encode":
		out.run = func() error {
			_, err := set.ToJSON()
			return err
		}
	default:
		return nil, unknown(what)
	}
	return out, nil
}

// setOfSize is an operation on a set of the given size, with ten items or with a
// set derived from it.
func (in *inputs) setOfSize(what, n string) (*operation, error) {
	switch what {
	case "decode", "reversed", "encode":
		return in.setText(what, "set-"+n+".json", "set-reversed-"+n+".json")
	}
	set, _, err := in.readSet("set-" + n + ".json")
	if err != nil {
		return nil, err
	}
	some, _, err := in.readSet("set-change-" + n + ".json")
	if err != nil {
		return nil, err
	}
	added, _, err := in.readSet("set-new-" + n + ".json")
	if err != nil {
		return nil, err
	}
	other := some
	what, derived := strings.CutPrefix(what, "derived-")
	if derived {
		other = set.Difference(some).Union(added)
	} else if what == "union" {
		other = added
	}
	var result func() *fieldpath.Set
	switch what {
	case "union":
		result = func() *fieldpath.Set { return set.Union(other) }
	case "intersection":
		result = func() *fieldpath.Set { return set.Intersection(other) }
	case "difference":
		result = func() *fieldpath.Set { return set.Difference(other) }
	default:
		return nil, unknown(what)
	}
	return &operation{
		run:    func() error { result(); return nil },
		output: func() (any, error) { return setOutput(result()) },
	}, nil
}
