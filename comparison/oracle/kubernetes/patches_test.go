package main

import "testing"

// item is a type with the kinds of lists and maps that strategic merge patch
// distinguishes, in the given version of OpenAPI.
func item(version string) string {
	prefix := `#/components/schemas/`
	if version == "v2" {
		prefix = `#/definitions/`
	}
	return `"openapi":"` + version + `","type":"Item","definitions":{"Item":{"type":"object","properties":{
		"name":{"type":"string"},"value":{"type":"string"},
		"ints":{"type":"array","items":{"type":"integer"},"x-kubernetes-patch-strategy":"merge"},
		"list":{"type":"array","items":{"$ref":"` + prefix + `Item"},"x-kubernetes-patch-strategy":"merge","x-kubernetes-patch-merge-key":"name"},
		"replaced":{"type":"object","additionalProperties":{"type":"string"},"x-kubernetes-patch-strategy":"replace"}}}}`
}

func TestStrategicMergePatch(t *testing.T) {
	for _, version := range []string{"v2", "v3"} {
		ask := func(function, members string) string {
			return `{"op":"smp","function":"` + function + `",` + item(version) + `,` + members + `}`
		}
		check(t, []fact{
			{"reorder " + version, ask("apply", `"original":{"ints":[1,2,3]},"patch":{"$setElementOrder/ints":[3,1]}`), `{"result":{"ints":[2,3,1]}}`},
			{"without an order " + version, ask("apply", `"original":{"ints":[1,2,3]},"patch":{"ints":[4,1]}`), `{"result":{"ints":[4,1,2,3]}}`},
			{"a first element of null " + version, ask("apply", `"original":{"list":[null]},"patch":{"list":[{"name":"a"}]}`),
				`{"panic":"runtime error: invalid memory address or nil pointer dereference"}`},
			{"no elements " + version, ask("apply", `"original":{"ints":[]},"patch":{"$setElementOrder/ints":[],"ints":[]}`),
				`{"error":"no elements in any of the given slices"}`},
			{"nulls in a new list " + version, ask("apply", `"original":{},"patch":{"list":[{"name":"a","value":null}]}`), `{"result":{"list":[{"name":"a"}]}}`},
			{"nulls in an empty list " + version, ask("apply", `"original":{"list":[]},"patch":{"list":[{"name":"a","value":null}]}`),
				`{"result":{"list":[{"name":"a","value":null}]}}`},
			{"duplicates " + version, ask("two-way", `"original":{"ints":["a","a","b"]},"modified":{"ints":["b","c","c"]}`),
				`{"result":{"$deleteFromPrimitiveList/ints":["a"],"$setElementOrder/ints":["b","c","c"],"ints":["c","c"]}}`},
			{"a replaced map is always there " + version, ask("two-way", `"original":{"replaced":{"a":"b"}},"modified":{"replaced":{"a":"b"}}`),
				`{"result":{"replaced":{"a":"b"}}}`},
			{"null of the modified " + version, ask("three-way", `"original":{},"modified":{"value":null},"current":{}`), `{"result":{"value":null}}`},
			{"conflict " + version, ask("three-way", `"original":{"value":"a"},"modified":{"value":"b"},"current":{"value":"c"}`), `{"errorKind":"conflict"}`},
			{"overwrite " + version, ask("three-way", `"overwrite":true,"original":{"value":"a"},"modified":{"value":"b"},"current":{"value":"c"}`),
				`{"result":{"value":"b"}}`},
			{"precondition " + version, ask("two-way", `"preconditions":{"keys":["name"]},"original":{"name":"a"},"modified":{"name":"b"}`), `{"errorKind":"precondition"}`},
			{"conflicts " + version, ask("conflicts", `"patches":[{"value":"a"},{"value":"b"}]`), `{"conflicts":true}`},
			{"merge patches " + version, ask("merge-patches", `"patches":[{"value":null},{"name":"b"}]`), `{"result":{"value":null,"name":"b"}}`},
		})
	}
	check(t, []fact{
		{"Go type", `{"op":"smp","goType":"apps/v1.Deployment","function":"apply",
			"original":{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"1"}]}}}},
			"patch":{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"2"}]}}}}}`,
			`{"result":{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"2"}]}}}}}`},
		{"bad document", `{"op":"smp","goType":"v1.Pod","function":"apply","original":"{","patch":{}}`,
			`{"error":"invalid JSON document","errorKind":"badDocument"}`},
		{"empty document", `{"op":"smp","goType":"v1.Pod","function":"two-way","modified":{"kind":"Pod"}}`, `{"result":{"kind":"Pod"}}`},
		{"unknown Go type", `{"op":"smp","goType":"v1.Pot","function":"apply"}`, `{"setupError":"unknown Go type \"v1.Pot\""}`},
	})
}

func TestJSONPatches(t *testing.T) {
	check(t, []fact{
		{"apply", `{"op":"jsonmergepatch","function":"apply","original":{"a":1},"patch":{"a":null,"b":{"c":null}}}`, `{"result":{"b":{}}}`},
		{"create", `{"op":"jsonmergepatch","function":"create","original":{"a":1,"b":2},"modified":{"a":1}}`, `{"result":{"b":null}}`},
		{"three-way", `{"op":"jsonmergepatch","function":"three-way","original":{"a":1,"b":2},"modified":{"a":1},"current":{"a":2,"b":2}}`,
			`{"result":{"a":1,"b":null}}`},
		{"bad merge patch", `{"op":"jsonmergepatch","function":"apply","original":{},"patch":"{"}`, `{"code":400}`},
		{"negative index", `{"op":"jsonpatch","original":{"a":[1,2]},"patch":[{"op":"add","path":"/a/-1","value":3}]}`, `{"result":{"a":[1,2,3]}}`},
		{"test", `{"op":"jsonpatch","original":{"a":[1]},"patch":[{"op":"test","path":"/a/0","value":3}]}`, `{"code":422}`},
		{"no patch", `{"op":"jsonpatch","original":{},"patch":{}}`, `{"code":400}`},
	})
}
