package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// inputs are the files that both sides read.
type inputs struct {
	folder  string
	parsers map[string]*typed.Parser
}

func (in *inputs) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(in.folder, name))
}

// parser reads a schema, once.
func (in *inputs) parser(schema string) (*typed.Parser, error) {
	if known, ok := in.parsers[schema]; ok {
		return known, nil
	}
	text, err := in.read("schema-" + schema + ".yaml")
	if err != nil {
		return nil, err
	}
	made, err := typed.NewParser(typed.YAMLObject(text))
	if err != nil {
		return nil, err
	}
	if in.parsers == nil {
		in.parsers = map[string]*typed.Parser{}
	}
	in.parsers[schema] = made
	return made, nil
}

// typeOf is the type of one of the objects.
func (in *inputs) typeOf(object string) (typed.ParseableType, error) {
	text, err := in.read("type-" + object + ".txt")
	if err != nil {
		return typed.ParseableType{}, err
	}
	schema, name, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	parser, err := in.parser(schema)
	if err != nil {
		return typed.ParseableType{}, err
	}
	return parser.Type(name), nil
}

// prepare makes the operation of a cell; the names are those of the Rust side.
func (in *inputs) prepare(cell string) (*operation, error) {
	parts := strings.Split(cell, "/")
	if len(parts) == 4 && parts[0] == "table" && parts[3] == "fresh" {
		return in.freshTable(parts[1], parts[2])
	}
	if len(parts) != 3 {
		return nil, fmt.Errorf("no such cell: %s", cell)
	}
	switch parts[0] {
	case "table":
		return in.table(parts[1], parts[2])
	case "list", "map":
		return in.sized(parts[0], parts[1], parts[2])
	case "set":
		return in.setOfSize(parts[1], parts[2])
	case "fields":
		return in.setOfObject(parts[1], parts[2])
	case "bytes":
		return in.bytes(parts[1], parts[2])
	}
	return nil, fmt.Errorf("no such cell: %s", cell)
}
