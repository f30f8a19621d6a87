package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/fieldmanager/fieldmanager/comparison/oracle/protocol"
)

// TestVectors compares the oracle with recorded scenarios, in the folder that
// FIELDMANAGER_VECTORS names.
func TestVectors(t *testing.T) {
	folder := os.Getenv("FIELDMANAGER_VECTORS")
	if folder == "" {
		t.Skip("FIELDMANAGER_VECTORS is not set")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors in %s (%v)", folder, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { checkFile(t, file) })
	}
}

func checkFile(t *testing.T, path string) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(unpacked)
	scenarios, steps := 0, 0
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			scenarios++
			steps += checkScenario(t, line)
		}
		if err != nil {
			break
		}
	}
	if scenarios == 0 {
		t.Fatal("no scenarios")
	}
	t.Logf("%d scenarios, %d steps", scenarios, steps)
}

func checkScenario(t *testing.T, line []byte) int {
	var given struct {
		Name  string `json:"name"`
		Steps []struct {
			Expect map[string]any `json:"expect"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(line, &given); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Results []map[string]any `json:"results"`
	}
	text := protocol.Answer(line, respond)
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != len(given.Steps) {
		t.Errorf("%s: no results: %s", given.Name, text)
		return 0
	}
	for i, step := range given.Steps {
		checkStep(t, given.Name, i, step.Expect, got.Results[i])
	}
	return len(given.Steps)
}

func checkStep(t *testing.T, name string, step int, expect, got map[string]any) {
	t.Helper()
	failed := got["error"] != nil || got["conflicts"] != nil || got["panic"] != nil
	if expect["error"] != nil {
		if got["error"] == nil {
			t.Errorf("%s: step %d: expected an error, got %v", name, step, got)
		}
		return
	}
	if failed && expect["conflicts"] == nil {
		t.Errorf("%s: step %d: expected success, got %v", name, step, got)
		return
	}
	for key, want := range expect {
		have, present := got[key]
		same := reflect.DeepEqual(want, have)
		if key == "conflicts" {
			same = sameElements(want, have)
		}
		if !present || !same {
			t.Errorf("%s: step %d: %s: expected %v, got %v", name, step, key, want, have)
		}
	}
}

// sameElements compares two lists without regard to their order.
func sameElements(want, have any) bool {
	count := map[string]int{}
	for sign, side := range map[int]any{1: want, -1: have} {
		items, ok := side.([]any)
		if !ok {
			return false
		}
		for _, item := range items {
			text, err := json.Marshal(item)
			if err != nil {
				return false
			}
			count[string(text)] += sign
		}
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
