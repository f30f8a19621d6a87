package main

import (
	"fmt"
	"strings"
	"testing"
)

const deployments = `"schemas":{"definitions":{"Deployment":{"type":"object","x-kubernetes-group-version-kind":[
	{"group":"apps","version":"v1","kind":"Deployment"},{"group":"apps","version":"v1beta1","kind":"Deployment"}],
	"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},
		"metadata":{"type":"object","additionalProperties":{"x-kubernetes-preserve-unknown-fields":true}},
		"spec":{"type":"object","properties":{"replicas":{"type":"integer"},"count":{"type":"integer"},"paused":{"type":"boolean"}}},
		"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}},
	"gvk":{"group":"apps","version":"v1","kind":"Deployment"}`

// deployment is an object with some members, which begin with a comma.
func deployment(members string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment"` + members + `}`
}

func sequenceOf(members string, steps ...string) string {
	return `{"op":"managed",` + deployments + members + `,"steps":[` + strings.Join(steps, ",") + `]}`
}

func entry(manager, operation, version, time, fields string) string {
	return fmt.Sprintf(`{"manager":%q,"operation":%q,"apiVersion":%q,"fieldsType":"FieldsV1","time":%q,"fieldsV1":%s}`,
		manager, operation, version, time, fields)
}

const replicas = `{"f:spec":{"f:replicas":{}}}`

func TestManagedConflict(t *testing.T) {
	request := sequenceOf(``,
		`{"kind":"create","manager":"a","object":`+deployment(`,"spec":{"replicas":1}`)+`}`,
		`{"kind":"apply","manager":"b","object":`+deployment(`,"spec":{"replicas":2}`)+`}`,
		`{"kind":"apply","manager":"b","force":true,"time":"2019-05-05T01:02:03Z","object":`+deployment(`,"spec":{"replicas":2}`)+`}`,
		`{"kind":"apply","manager":"b","object":{"apiVersion":"apps/v1beta1","kind":"Deployment"}}`,
		`{"kind":"apply","manager":"b","object":`+deployment(`,"spec":{"x":2}`)+`}`)
	check(t, []fact{{"steps", request, `{"steps":[
		{"live":` + deployment(`,"metadata":{"managedFields":[`+
		entry("a", "Update", "apps/v1", "2020-01-01T00:00:00Z", `{"f:spec":{".":{},"f:replicas":{}}}`)+`]},"spec":{"replicas":1}`) + `},
		{"status":{"metadata":{},"status":"Failure","code":409,"reason":"Conflict",
			"message":"Apply failed with 1 conflict: conflict with \"a\" using apps/v1: .spec.replicas",
			"details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"a\" using apps/v1","field":".spec.replicas"}]}}},
		{"live":` + deployment(`,"metadata":{"managedFields":[`+
		entry("b", "Apply", "apps/v1", "2019-05-05T01:02:03Z", replicas)+`,`+
		entry("a", "Update", "apps/v1", "2020-01-01T00:00:00Z", `{"f:spec":{}}`)+`]},"spec":{"replicas":2}`) + `},
		{"status":{"metadata":{},"status":"Failure","code":400,"reason":"BadRequest","message":"invalid object type: apps/v1beta1, Kind=Deployment"}},
		{"error":"failed to create typed patch object (/; apps/v1, Kind=Deployment): .spec.x: field not declared in schema"}]}`}})
}

// An update without managedFields keeps them, an empty list resets them.
func TestManagedReset(t *testing.T) {
	kept := deployment(`,"metadata":{"uid":"u","managedFields":[` +
		entry("a", "Update", "apps/v1", "2020-01-01T00:00:00Z", `{"f:spec":{".":{},"f:replicas":{}}}`) + `]},"spec":{"replicas":1}`)
	for list, want := range map[string]string{
		`null`: kept,
		`[]`:   deployment(`,"metadata":{"uid":"u"},"spec":{"replicas":1}`),
		`[{}]`: deployment(`,"metadata":{"uid":"u"},"spec":{"replicas":1}`),
	} {
		request := sequenceOf(`,"uid":"u"`,
			`{"kind":"create","manager":"a","object":`+deployment(`,"spec":{"replicas":1}`)+`}`,
			`{"kind":"update","manager":"a","object":`+deployment(`,"metadata":{"uid":"u","managedFields":`+list+`},"spec":{"replicas":1}`)+`}`)
		check(t, []fact{{list, request, `{"steps":[{"live":` + kept + `},{"live":` + want + `}]}`}})
	}
}

// The bucket of old changes has no subresource, whatever its entries have.
func TestManagedCap(t *testing.T) {
	steps := []string{`{"kind":"create","manager":"m","object":` + deployment(`,"metadata":{"uid":"u"},"spec":{"replicas":1}`) + `}`}
	labels := []string{}
	for i := range 11 {
		labels = append(labels, fmt.Sprintf(`"l%d":"x"`, i))
		changed := deployment(`,"metadata":{"uid":"u","labels":{` + strings.Join(labels, ",") + `}},"spec":{"replicas":1}`)
		steps = append(steps, fmt.Sprintf(`{"kind":"update","manager":"m%02d","subresource":"status","object":%s}`, i, changed))
	}
	request := sequenceOf("", steps...)
	got := ask(t, request)
	last := got["steps"].([]any)[11].(map[string]any)["live"].(map[string]any)["metadata"].(map[string]any)["managedFields"].([]any)
	bucket := last[0].(map[string]any)
	if len(last) != 10 || bucket["manager"] != "ancient-changes" || bucket["subresource"] != nil {
		t.Errorf("%d entries, of which the first is %s", len(last), text(bucket))
	}
}

// Fields have other names in another version, and entries of a version that
// does not exist are dropped.
func TestManagedVersions(t *testing.T) {
	request := sequenceOf(`,"versions":["v1","v1beta1"],"renames":{"v1beta1":{"spec.replicas":"spec.count"}}`,
		`{"kind":"apply","manager":"a","object":`+deployment(`,"spec":{"replicas":1}`)+`}`,
		`{"kind":"apply","manager":"b","apiVersion":"apps/v1beta1","object":{"apiVersion":"apps/v1beta1","kind":"Deployment","spec":{"count":2}}}`,
		`{"kind":"apply","manager":"b","apiVersion":"apps/v1beta1","force":true,"object":{"apiVersion":"apps/v1beta1","kind":"Deployment","spec":{"count":2}}}`,
		`{"kind":"set","object":`+deployment(`,"metadata":{"managedFields":[`+entry("old", "Update", "apps/v0", "2019-01-01T00:00:00Z", replicas)+`]},"spec":{"replicas":2}`)+`}`,
		`{"kind":"apply","manager":"a","object":`+deployment(`,"spec":{"replicas":3}`)+`}`)
	steps := ask(t, request)["steps"].([]any)
	for i, part := range map[int]string{
		1: `conflict with \"a\": .spec.replicas`,
		2: `"f:spec":{"f:count":{}}`,
		3: `"apps/v0"`,
		4: `"manager":"a"`,
	} {
		if got := text(steps[i]); !strings.Contains(got, part) {
			t.Errorf("step %d is %s, without %s", i, got, part)
		}
	}
	if got := text(steps[4]); strings.Contains(got, "apps/v0") {
		t.Errorf("the unknown version stays: %s", got)
	}
}

// A definition brings its versions, defaults and the status subresource.
func TestManagedCRD(t *testing.T) {
	crd := definition(`{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
		"spec":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string","default":"d"}}},
		"status":{"type":"object","properties":{"n":{"type":"integer"}}}}}}}`)
	foo := func(members string) string { return `{"apiVersion":"bar.example.com/v1","kind":"Foo",` + members + `}` }
	applied := entry("a", "Apply", "bar.example.com/v1", "2020-01-01T00:00:00Z", `{"f:spec":{"f:x":{}}}`)
	status := strings.TrimSuffix(entry("s", "Update", "bar.example.com/v1", "2020-01-01T00:00:01Z", `{"f:status":{".":{},"f:n":{}}}`), "}") +
		`,"subresource":"status"}`
	check(t, []fact{{"status", `{"op":"managed","crd":` + crd + `,"steps":[
		{"kind":"apply","manager":"a","object":` + foo(`"spec":{"x":"1"},"status":{"n":5}`) + `},
		{"kind":"status-update","manager":"s","object":` + foo(`"spec":{"x":"7"},"status":{"n":6}`) + `}]}`,
		`{"steps":[{"live":` + foo(`"metadata":{"managedFields":[`+applied+`]},"spec":{"x":"1","y":"d"}`) + `},
		{"live":` + foo(`"metadata":{"managedFields":[`+applied+`,`+status+`]},"spec":{"x":"1","y":"d"},"status":{"n":6}`) + `}]}`}})
}

// kubectl may take over what its last-applied annotation shows it to have set,
// and the annotation follows its apply.
func TestManagedLastApplied(t *testing.T) {
	annotated := `,"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` +
		`"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"spec\":{\"replicas\":1}}"}},"spec":{"replicas":1,"paused":true}`
	request := sequenceOf(``,
		`{"kind":"create","manager":"a","object":`+deployment(annotated)+`}`,
		`{"kind":"apply","manager":"kubectl","object":`+deployment(`,"spec":{"replicas":2,"paused":false}`)+`}`,
		`{"kind":"apply","manager":"kubectl","object":`+deployment(`,"spec":{"replicas":2}`)+`}`)
	steps := ask(t, request)["steps"].([]any)
	if got := text(steps[1]); !strings.Contains(got, `Apply failed with 1 conflict: conflict with \"a\" using apps/v1: .spec.paused`) {
		t.Errorf("not one conflict: %s", got)
	}
	if got := text(steps[2]); !strings.Contains(got, `\"replicas\":2}}\n"`) {
		t.Errorf("the annotation stays: %s", got)
	}
}

// A custom resource cannot be applied to while it has an entry of a version
// that its definition has lost; of a native object the entry is dropped.
func TestManagedLostVersion(t *testing.T) {
	for custom, part := range map[string]string{
		"true":  `{"error":"request to convert CR to an invalid group/version: apps/v0"}`,
		"false": `{"live":`,
	} {
		request := sequenceOf(`,"versions":["v1"],"customResource":`+custom+`,"live":`+
			deployment(`,"metadata":{"managedFields":[`+entry("old", "Apply", "apps/v0", "2019-01-01T00:00:00Z", replicas)+`]},"spec":{"replicas":1}`),
			`{"kind":"apply","manager":"a","object":`+deployment(`,"spec":{"replicas":1}`)+`}`)
		if got := text(ask(t, request)["steps"].([]any)[0]); !strings.HasPrefix(got, part) {
			t.Errorf("custom %s: %s", custom, got)
		}
	}
}
