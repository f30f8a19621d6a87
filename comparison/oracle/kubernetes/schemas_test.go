package main

import "testing"

func TestOpenAPI(t *testing.T) {
	const common = `
		{"name":"__untyped_atomic_","scalar":"untyped",
		 "list":{"elementRelationship":"atomic","elementType":{"namedType":"__untyped_atomic_"}},
		 "map":{"elementRelationship":"atomic","elementType":{"namedType":"__untyped_atomic_"}}},
		{"name":"__untyped_deduced_","scalar":"untyped",
		 "list":{"elementRelationship":"atomic","elementType":{"namedType":"__untyped_atomic_"}},
		 "map":{"elementRelationship":"separable","elementType":{"namedType":"__untyped_deduced_"}}}`
	check(t, []fact{
		{"fields, keys and overrides", `{"op":"openapi","definitions":{
			"z":{"type":"object","properties":{
				"s":{"type":"string"},"d":{"type":"string","format":"date-time"},"n":{"type":"integer","default":3},
				"r":{"$ref":"#/definitions/y","x-kubernetes-map-type":"atomic"},
				"l":{"type":"array","items":{"allOf":[{"$ref":"#/definitions/y"}]},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["b","a"]}}},
			"y":{"type":"object","nullable":true,"additionalProperties":false,"properties":{"q":{"x-kubernetes-int-or-string":true}}}}}`,
			`{"schema":{"types":[` + common + `,
			{"name":"y","map":{"fields":[{"name":"q","type":{"scalar":"untyped",
				"list":{"elementRelationship":"atomic","elementType":{"namedType":"__untyped_atomic_"}},
				"map":{"elementType":{"namedType":"__untyped_deduced_"}}}}]}},
			{"name":"z","map":{"fields":[
				{"name":"d","type":{"scalar":"untyped"}},
				{"name":"l","type":{"list":{"elementRelationship":"associative","keys":["b","a"],"elementType":{"namedType":"y"}}}},
				{"name":"n","type":{"scalar":"numeric"},"default":3},
				{"name":"r","type":{"namedType":"y","elementRelationship":"atomic"}},
				{"name":"s","type":{"scalar":"string"}}]}}]}}`},
		{"errors", `{"op":"openapi","definitions":{"b":{"type":"array"},"a":{"type":"null"}}}`,
			"{\"errors\":[\"a: unrecognized type: 'null'\",\"b: `items` must be specified on arrays\"]}"},
		{"unreadable", `{"op":"openapi","definitions":{"b":{"type":1}}}`, `{"schema":null}`},
	})
}

func TestStructural(t *testing.T) {
	check(t, []fact{
		{"root without a type", `{"op":"structural","schema":{"x-kubernetes-preserve-unknown-fields":true}}`, `{"errors":[]}`},
		{"pattern of int-or-string on a string", `{"op":"structural","schema":{"type":"object","properties":{
			"a":{"type":"string","anyOf":[{"type":"integer"},{"type":"string"}]}}}}`, `{"errors":[]}`},
		{"int-or-string with a type", `{"op":"structural","schema":{"type":"object","properties":{
			"a":{"type":"string","x-kubernetes-int-or-string":true}}}}`, `{"errors":[]}`},
		{"completeness at the root only", `{"op":"structural","schema":{"type":"object","allOf":[{"items":{"minimum":1}}],"properties":{
			"a":{"type":"object","anyOf":[{"properties":{"b":{"minimum":1}}}]}}}}`,
			`{"errors":["items: Required value: because it is defined in allOf[0].items"]}`},
		{"nested metadata", `{"op":"structural","schema":{"type":"object","properties":{
			"a":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,
				"allOf":[{"properties":{"metadata":{"minProperties":1}}}]}}}}`,
			`{"errors":["properties[a].allOf[0].properties[metadata]: Forbidden: must not be specified in a nested context"]}`},
		{"unfold", `{"op":"structural","schema":{"type":"object","properties":{
			"a":{"x-kubernetes-int-or-string":true,"anyOf":[{"minimum":1}]},"b":{"x-kubernetes-int-or-string":true}}}}`,
			`{"openapi":{"type":"object","properties":{
				"a":{"x-kubernetes-int-or-string":true,"anyOf":[{"minimum":1}]},"b":{"x-kubernetes-int-or-string":true}}},
			"unfolded":{"type":"object","properties":{
				"a":{"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]}],"anyOf":[{"minimum":1}]},
				"b":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}}}}`},
		{"not convertible", `{"op":"structural","schema":{"type":"object","id":"x"}}`,
			`{"conversionError":"OpenAPIV3Schema 'id' is not supported"}`},
	})
}

func TestPrune(t *testing.T) {
	check(t, []fact{
		{"array under an object schema", `{"op":"prune","schema":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}},
			"object":{"a":[{"b":1},2]}}`, `{"object":{"a":[{},2]},"pruned":["a[0].b"]}`},
		{"preserve goes on into items", `{"op":"prune","schema":{"type":"object","properties":{"l":{"type":"array","x-kubernetes-preserve-unknown-fields":true,
			"items":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}}}},
			"object":{"l":[{"u":1,"a":{"b":"x","c":1}}]}}`, `{"object":{"l":[{"u":1,"a":{"b":"x"}}]},"pruned":["l[0].a.c"]}`},
		{"root", `{"op":"prune","schema":null,"object":{"kind":"K","metadata":{"x":1},"a":1},"isResourceRoot":true}`,
			`{"object":{"kind":"K","metadata":{"x":1}},"pruned":["a"]}`},
	})
}

func TestDefaultsAndNulls(t *testing.T) {
	const nested = `{"type":"object","properties":{"a":{"type":"object","default":{},"properties":{"b":{"type":"integer","default":5}}},
		"n":{"type":"integer","nullable":true,"default":1},"m":{"type":"integer","default":2}}}`
	check(t, []fact{
		{"default", `{"op":"default","schema":` + nested + `,"object":{"n":null,"m":null}}`, `{"object":{"a":{"b":5},"n":null,"m":2}}`},
		{"no parent", `{"op":"default","schema":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer","default":5}}}}},"object":{}}`,
			`{"object":{}}`},
		{"nulls", `{"op":"nulls","schema":{"type":"object","properties":{"a":{"type":"string"},"l":{"type":"array","items":{"type":"string"}},"d":{"type":"string","default":"x"}}},
			"object":{"a":null,"u":null,"d":null,"l":[null]}}`, `{"object":{"u":null,"d":null,"l":[null]}}`},
		{"prunedefaults", `{"op":"prunedefaults","schema":{"type":"object","properties":{"a":{"type":"object","default":{"b":1,"c":2},"properties":{"b":{"type":"integer"}}}}}}`,
			`{"schema":{"type":"object","properties":{"a":{"type":"object","default":{"b":1},"properties":{"b":{"type":"integer"}}}}}}`},
	})
}

func TestValidators(t *testing.T) {
	check(t, []fact{
		{"set", `{"op":"listtype","schema":{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"number"}}}},
			"object":{"l":[1,1.0,2,2,2]}}`, `{"errors":["l[3]: Duplicate value: 2"]}`},
		{"map of no objects", `{"op":"listtype","schema":{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map",
			"x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"}}}}}},"object":{"l":[1]}}`,
			`{"errors":["l[0]: Invalid value: 1: must be an object for an array of list-type map"]}`},
		{"coerce", `{"op":"coerce","schema":{"type":"object"},"object":{"kind":1},"isResourceRoot":true}`,
			`{"error":"kind: Invalid value: 1: must be a string"}`},
		{"coerce and drop", `{"op":"coerce","schema":{"type":"object"},"object":{"kind":1,"metadata":{"name":1,"labels":{"a":"b"},"x":1}},"isResourceRoot":true,"dropInvalid":true}`,
			`{"object":{"metadata":{"labels":{"a":"b"}}}}`},
		{"objectmeta", `{"op":"objectmeta","schema":{"type":"object","x-kubernetes-embedded-resource":true},"object":{"apiVersion":"v1"}}`,
			`{"errors":["kind: Required value"]}`},
		{"validate", `{"op":"validate","schema":{"type":"object","required":["a"],"properties":{"b":{"type":"string"}}},"object":{"b":1}}`,
			`{"errors":["a: Required value","b: Invalid value: \"integer\": b in body must be of type string: \"integer\""]}`},
	})
}
