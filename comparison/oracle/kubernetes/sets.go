package main

import (
	"bytes"
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// readSet reads a set in the FieldsV1 format.
func readSet(text json.RawMessage) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if err := set.FromJSON(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return set, nil
}
