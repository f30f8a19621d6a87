// Command selectors writes a table of label and field selectors, with what Kubernetes makes of each: an error, or the
// canonical form and the sets that it matches. The selectors are random, from a fixed seed.
//
//	go run ./selectors > ../../server/apiserver/tests/data/selectors.json
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// row is one selector.
type row struct {
	Selector  string `json:"selector"`
	Error     string `json:"error,omitempty"`
	Canonical string `json:"canonical,omitempty"`
	// Matches has a character for each set: 1 if it is matched.
	Matches string `json:"matches,omitempty"`
}

type table struct {
	LabelSets []map[string]string `json:"labelSets"`
	Labels    []row               `json:"labels"`
	FieldSets []map[string]string `json:"fieldSets"`
	Fields    []row               `json:"fields"`
}

var (
	long      = strings.Repeat("x", 64)
	labelSets = []map[string]string{
		{}, {"a": "b"}, {"a": "", "in": "x"}, {"a": "1", "b": "c"}, {"a.b/c": "10", "a": "5"}, {"a": "x", "notin": "y", "b": ""},
	}
	fieldSets = []map[string]string{{}, {"a": "b"}, {"a.b": "c", "a": "="}, {"a": ",", "b": "\\"}, {"metadata.name": "b"}}
	keys      = []string{"a", "b", "a.b/c", "in", "notin", "A_1", "-x", "a/b/c", "/a", "a/", "B.c/d", "é", long, "a\x00b", "x y"}
	values    = []string{"b", "c", "x", "1", "5", "10", "", "in", "notin", "-", "a/b", "x.y", "é", long, "9999999999999999999", "\x00"}
	symbols   = []string{"=", "==", "!=", "!", "(", ")", ",", ">", "<", " ", "\t", "in", "notin", "a", "b", "===", "\x00", "\n"}
	pieces    = []string{"a", "b", "a.b", "metadata.name", "=", "==", "!=", ",", "\\", "\\,", "\\=", "\\\\", "\\x", " ", "!", "é", "c"}
)

func main() {
	random := rand.New(rand.NewSource(1))
	pick := func(from []string) string { return from[random.Intn(len(from))] }
	// Most picks are from the valid ones at the start.
	likely := func(from []string, valid int) string {
		if random.Intn(12) > 0 {
			return from[random.Intn(valid)]
		}
		return pick(from)
	}
	space := func() string { return strings.Repeat(" ", random.Intn(2)) }
	some := func(one func() string, separator string, most int) string {
		parts := make([]string, random.Intn(most)+1)
		for i := range parts {
			parts[i] = one()
		}
		return strings.Join(parts, separator)
	}
	requirement := func() string {
		key := space() + likely(keys, 6)
		value := func() string { return space() + likely(values, 9) + space() }
		switch random.Intn(5) {
		case 0:
			return pick([]string{"", "!", " ! "}) + key
		case 1:
			return key + pick([]string{" in ", " notin ", " in", "  notin "}) + "(" + some(value, ",", 4) + ")"
		case 2:
			return key + space() + pick([]string{">", "<"}) + space() + pick([]string{"1", "5", "7", "-3", "x", ""})
		default:
			return key + space() + pick([]string{"=", "==", "!="}) + value()
		}
	}
	label := func() string {
		switch random.Intn(4) {
		case 0:
			return some(func() string { return pick(symbols) }, "", 7)
		case 1:
			text := some(requirement, ",", 2)
			at := random.Intn(len(text) + 1)
			return strings.ToValidUTF8(text[:at]+pick(symbols)+text[at:], "")
		default:
			return some(requirement, ",", 3)
		}
	}
	field := func() string { return some(func() string { return pick(pieces) }, "", 8) }

	found := table{LabelSets: labelSets, FieldSets: fieldSets}
	for i := 0; i < 900; i++ {
		result := row{Selector: label()}
		if selector, err := labels.Parse(result.Selector); err != nil {
			result.Error = err.Error()
		} else {
			result.Canonical = selector.String()
			for _, set := range labelSets {
				result.Matches += bit(selector.Matches(labels.Set(set)))
			}
		}
		found.Labels = append(found.Labels, result)
	}
	for i := 0; i < 500; i++ {
		result := row{Selector: field()}
		if selector, err := fields.ParseSelector(result.Selector); err != nil {
			result.Error = err.Error()
		} else {
			result.Canonical = selector.String()
			for _, set := range fieldSets {
				result.Matches += bit(selector.Matches(fields.Set(set)))
			}
		}
		found.Fields = append(found.Fields, result)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if err := json.NewEncoder(out).Encode(found); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func bit(matches bool) string {
	if matches {
		return "1"
	}
	return "0"
}
