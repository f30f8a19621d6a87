package main

import "testing"

func TestEntries(t *testing.T) {
	one := func(fields string) string {
		return `{"op":"entries","managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + fields + `}]}`
	}
	fieldsAre := func(text string) string { return `{"fields":[{"text":` + text + `}]}` }
	check(t, []fact{
		{"a leaf with a dot", one(`{"f:a":{".":{}}}`), fieldsAre(`"{\"f:a\":{}}"`)},
		{"unknown prefix", one(`{"f:a":{"x:b":{}}}`), fieldsAre(`"{\"f:a\":{}}"`)},
		{"floats", one(`{"v:1.0":{},"v:9007199254740993":{}}`), fieldsAre(`"{\"v:1\":{},\"v:9007199254740992\":{}}"`)},
		{"order", one(`{"i:1":{},"v:1":{},"k:{\"a\":1}":{},"f:z":{},"f:a":{}}`),
			fieldsAre(`"{\"f:a\":{},\"f:z\":{},\"k:{\\\"a\\\":1}\":{},\"v:1\":{},\"i:1\":{}}"`)},
		{"escapes", one(`{"f:<&>":{},"v:\"<\"":{}}`), fieldsAre(`"{\"f:<&>\":{},\"v:\\\"\\\\u003c\\\"\":{}}"`)},
		{"short key", one(`{"f":{}}`), `{"fields":[{"error":"parsing key as path element: key must be 2 characters long:, error found in #5 byte of ...|{\"f\":{}}|..., bigger context ...|{\"f\":{}}|..."}]}`},
		{"sorted", `{"op":"entries","managedFields":[
			{"manager":"b","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1"},
			{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","time":"2020-01-01T01:00:00.5+01:00"},
			{"manager":"z","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1"}]}`,
			`{"managedFields":[
			{"manager":"z","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}},
			{"manager":"b","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}},
			{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","time":"2020-01-01T00:00:00Z","fieldsV1":{}}]}`},
		{"no type", `{"op":"entries","managedFields":[{"operation":"Apply","apiVersion":"v1"}]}`,
			`{"error":"missing fieldsType in managed fields entry 0"}`},
		{"dropped list", `{"op":"entries","managedFields":[]}`, `{"accessor":[],"managedFields":null}`},
	})
}

func TestScale(t *testing.T) {
	const mappings = `"groupVersion":"apps/v1","mappings":{"apps/v1":["spec","replicas"]}`
	updated := entry("m", "Update", "apps/v1", "2020-01-01T00:00:00Z", replicas)
	applied := entry("m", "Apply", "apps/v1", "2020-01-01T00:00:00Z", replicas)
	scale := entry("m", "Update", "autoscaling/v1", "2020-01-01T00:00:00Z", replicas)
	check(t, []fact{
		{"to the subresource", `{"op":"scale","direction":"toSubresource","managedFields":[` + updated + `],` + mappings + `}`,
			`{"managedFields":[` + scale + `]}`},
		{"an updater does not find itself", `{"op":"scale","direction":"toParent","managedFields":[` + updated + `],"scaleEntries":[` + scale + `],` + mappings + `}`,
			`{"managedFields":[{"manager":"m","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":` + replicas + `}]}`},
		{"an applier does", `{"op":"scale","direction":"toParent","managedFields":[` + applied + `],"scaleEntries":[` +
			entry("m", "Apply", "autoscaling/v1", "2020-01-01T00:00:00Z", replicas) + `],` + mappings + `}`, `{"managedFields":[` + applied + `]}`},
	})
}

func TestExtractAndUpgrade(t *testing.T) {
	withFields := func(operation string) string {
		return `{"apiVersion":"v1","kind":"X","metadata":{"name":"n","resourceVersion":"7","managedFields":[
			{"manager":"m","operation":"` + operation + `","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:a":{}}}}]},"spec":{"a":1,"b":2}}`
	}
	check(t, []fact{
		{"extract", `{"op":"extract","manager":"m","object":` + withFields("Apply") + `}`,
			`{"object":{"apiVersion":"v1","kind":"X","spec":{"a":1}}}`},
		{"extract nothing", `{"op":"extract","manager":"m","subresource":"status","object":` + withFields("Apply") + `}`, `{"object":null}`},
		{"upgrade", `{"op":"upgrade","csaManagers":["m"],"ssaManager":"m","object":` + withFields("Update") + `}`,
			`{"object":` + withFields("Apply") + `,"patch":[
			{"op":"replace","path":"/metadata/managedFields","value":[
				{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:a":{}}}}]},
			{"op":"replace","path":"/metadata/resourceVersion","value":"7"}]}`},
		{"nothing to upgrade", `{"op":"upgrade","csaManagers":["m"],"ssaManager":"m","object":` + withFields("Apply") + `}`,
			`{"patch":null,"object":` + withFields("Apply") + `}`},
	})
}

func TestRequestValidation(t *testing.T) {
	check(t, []fact{
		{"entries", `{"op":"requestvalidation","managedFields":[{},{"operation":"Foo","fieldsType":"X"}]}`,
			"{\"managedFields\":[\"metadata.managedFields[0].operation: Required value: must not be empty\"," +
				"\"metadata.managedFields[1].operation: Unsupported value: \\\"Foo\\\": supported values: \\\"Apply\\\", \\\"Update\\\"\"," +
				"\"metadata.managedFields[1].fieldsType: Invalid value: \\\"X\\\": must be `FieldsV1`\"]}"},
		{"options", `{"op":"requestvalidation","patchType":"application/apply-patch+yaml","patchOptions":{"force":true},"fieldManager":"a\u0007"}`,
			`{"patchOptions":["fieldManager: Required value: is required for apply patch"],
			"fieldManager":["fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)"]}`},
		{"force", `{"op":"requestvalidation","patchType":"application/merge-patch+json","patchOptions":{"force":true}}`,
			`{"patchOptions":["force: Forbidden: may not be specified for non-apply patch"]}`},
	})
}
