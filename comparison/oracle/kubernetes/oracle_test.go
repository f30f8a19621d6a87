package main

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
)

func TestMain(m *testing.M) {
	configure()
	os.Exit(m.Run())
}

// fact is a request and members of its answer.
type fact struct {
	name    string
	request string
	want    string
}

// check asks each request and compares the members that are wanted.
func check(t *testing.T, facts []fact) {
	t.Helper()
	for _, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			got := ask(t, f.request)
			for member, want := range object(t, f.want) {
				if !reflect.DeepEqual(got[member], want) {
					t.Errorf("%s is\n%s\nnot\n%s", member, text(got[member]), text(want))
				}
			}
			if t.Failed() {
				t.Logf("answer: %s", text(got))
			}
		})
	}
}

func ask(t *testing.T, request string) map[string]any {
	t.Helper()
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(request)); err != nil {
		t.Fatalf("request: %v", err)
	}
	return object(t, string(protocol.Answer(line.Bytes(), respond)))
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

func text(value any) string {
	out, _ := json.Marshal(value)
	return string(out)
}

// TestServe sends lines through the whole program: answers have the order of the
// requests, and a request that fails does not affect the others.
func TestServe(t *testing.T) {
	in := strings.Join([]string{
		`{"op":"default","schema":{"type":"object","properties":{"a":{"type":"integer","default":1}}},"object":{}}`,
		``,
		`{"op":"nothing"}`,
		`{"op":"smp","goType":"v1.Pod","function":"apply","original":{"spec":{"containers":[null]}},"patch":{"spec":{"containers":[{"name":"a"}]}}}`,
		`not JSON`,
		`{"op":"nulls","schema":{"type":"object","properties":{"a":{"type":"integer"}}},"object":{"a":null,"b":null}}`,
		`{"op":"nulls","repeat":3,"schema":{"type":"object"},"object":{"b":null}}`,
	}, "\n")
	var out bytes.Buffer
	if err := protocol.Serve(strings.NewReader(in), &out, 4, respond); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		`{"object":{"a":1}}`,
		`{"requestError":"unknown op \"nothing\""}`,
		`{"panic":"runtime error: invalid memory address or nil pointer dereference"}`,
		`{"requestError":`,
		`{"object":{"b":null}}`,
		`{"answer":{"object":{"b":null}},"variants":[]}`,
	}
	if len(got) != len(want) {
		t.Fatalf("%d answers: %s", len(got), out.String())
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("answer %d is %s, not %s", i, got[i], want[i])
		}
	}
}
