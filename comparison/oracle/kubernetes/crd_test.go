package main

import (
	"strings"
	"testing"
)

// definition is a CustomResourceDefinition with the given versions.
func definition(versions string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.bar.example.com"},
		"spec":{"group":"bar.example.com","names":{"kind":"Foo","plural":"foos"},"scope":"Namespaced","versions":[` + versions + `]}}`
}

func TestCRD(t *testing.T) {
	check(t, []fact{
		{"violations", `{"op":"crd","crd":` + definition(`{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
			{"type":"object","properties":{"spec":{"properties":{"x":{"type":"string"}}}}}}}`) + `}`,
			`{"condition":{"status":"True","reason":"Violations","message":
				"spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields"},
			"errors":["spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields"]}`},
		{"not convertible", `{"op":"crd","crd":` + definition(`{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
			{"type":"object","id":"x"}}}`) + `}`,
			`{"condition":{"status":"Unknown","reason":"StructuralError","message":
				"failed to check validation schema for version v1: OpenAPIV3Schema 'id' is not supported"}}`},
		{"good", `{"op":"crd","crd":` + definition(`{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}`) + `}`,
			`{"condition":null,"errors":[]}`},
		{"another version", `{"op":"crd","crd":{"apiVersion":"apiextensions.k8s.io/v1beta1"}}`,
			`{"decodeError":"expected apiextensions.k8s.io/v1, got apiextensions.k8s.io/v1beta1"}`},
	})
}

func TestCRDSchemas(t *testing.T) {
	got := ask(t, `{"op":"crd","crd":`+definition(`
		{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"metadata":{"type":"object"},"e":{"type":"object",
			"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}}},
		{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`)+`}`)
	v1 := text(got["versions"].(map[string]any)["v1"])
	for _, part := range []string{`"com.example.bar.v1.Foo":`, `"required":["kind","apiVersion"]`, `"com.example.bar.v1.FooList":`} {
		if !strings.Contains(v1, part) {
			t.Errorf("%s is not in %s", part, v1)
		}
	}
	schema := text(got["schema"])
	for _, part := range []string{`"name":"com.example.bar.v1.Foo"`, `"name":"com.example.bar.v2.Foo"`, `"name":"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"`} {
		if !strings.Contains(schema, part) {
			t.Errorf("%s is not in %s", part, schema)
		}
	}
}
