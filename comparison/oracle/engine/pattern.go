package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// parseFilter turns include patterns into a filter that keeps the paths with
// one of the patterns as a prefix.
func parseFilter(patterns []string) (fieldpath.Filter, error) {
	var matchers []*fieldpath.SetMatcher
	for _, pattern := range patterns {
		parts, err := parsePattern(pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		matcher, err := fieldpath.PrefixMatcher(parts...)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		matchers = append(matchers, matcher)
	}
	return fieldpath.NewIncludeMatcherFilter(matchers...), nil
}

// parsePattern reads a path in field-path notation in which `.*` and `[*]`
// match any path element.
func parsePattern(text string) ([]any, error) {
	var parts []any
	for text != "" {
		var part any
		var err error
		switch text[0] {
		case '.':
			end := strings.IndexAny(text[1:], ".[") + 1
			if end == 0 {
				end = len(text)
			}
			name := text[1:end]
			text = text[end:]
			if name == "" {
				return nil, fmt.Errorf("a field name is missing")
			}
			part = fieldpath.FieldNameElement(name)
			if name == "*" {
				part = fieldpath.MatchAnyPathElement()
			}
		case '[':
			part, text, err = parseBracket(text[1:])
			if err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("expected `.` or `[` at %q", text)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// parseBracket reads what follows a `[` up to the matching `]` and returns the
// rest of the text.
func parseBracket(text string) (any, string, error) {
	if rest, ok := strings.CutPrefix(text, "*]"); ok {
		return fieldpath.MatchAnyPathElement(), rest, nil
	}
	if rest, ok := strings.CutPrefix(text, "="); ok {
		v, rest, err := parseScalar(rest)
		if err != nil {
			return nil, "", err
		}
		rest, ok := strings.CutPrefix(rest, "]")
		if !ok {
			return nil, "", fmt.Errorf("expected `]` at %q", rest)
		}
		return fieldpath.ValueElement(value.NewValueInterface(v)), rest, nil
	}
	var index int
	if end := strings.IndexByte(text, ']'); end > 0 && strings.Trim(text[:end], "0123456789") == "" {
		if _, err := fmt.Sscanf(text[:end], "%d", &index); err != nil {
			return nil, "", err
		}
		return fieldpath.IndexElement(index), text[end+1:], nil
	}
	var fields value.FieldList
	for {
		name, rest, ok := strings.Cut(text, "=")
		if !ok {
			return nil, "", fmt.Errorf("expected `name=value` at %q", text)
		}
		v, rest, err := parseScalar(rest)
		if err != nil {
			return nil, "", err
		}
		fields = append(fields, value.Field{Name: name, Value: value.NewValueInterface(v)})
		if after, ok := strings.CutPrefix(rest, ","); ok {
			text = after
			continue
		}
		after, ok := strings.CutPrefix(rest, "]")
		if !ok {
			return nil, "", fmt.Errorf("expected `,` or `]` at %q", rest)
		}
		fields.Sort()
		return fieldpath.PathElement{Key: &fields}, after, nil
	}
}

// parseScalar reads one JSON value from the front of the text.
func parseScalar(text string) (any, string, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, "", fmt.Errorf("expected a JSON value at %q", text)
	}
	v, err := protocol.WithNumbers(out)
	return v, text[decoder.InputOffset():], err
}
