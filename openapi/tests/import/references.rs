//! References between definitions.

use std::fmt::Write;

use fieldmanager_openapi::Importer;

use super::{check, faults_of, import, type_named, yaml};

#[test]
fn all_forms_of_references_are_resolved() {
    let cases = [
        "{$ref: '#/definitions/io.example.v1.Port'}",
        "{$ref: '#/components/schemas/io.example.v1.Port'}",
        "{$ref: 'https://example.com/other.json#/definitions/io.example.v1.Port'}",
        "{$ref: io.example.v1.Port}",
        "{allOf: [{$ref: '#/definitions/io.example.v1.Port'}]}",
        "{$ref: '', allOf: [{$ref: '#/definitions/io.example.v1.Port'}]}",
        "{$ref: '#/definitions/io.example.v1.Port', allOf: [{$ref: '#/definitions/Free'}]}",
        // Keywords beside it are ignored, except for three.
        "{$ref: '#/definitions/io.example.v1.Port', type: string, x-kubernetes-list-type: odd, description: text,
          x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}",
    ];
    for reference in cases {
        check(
            &Importer::new(),
            &[
                (
                    &format!("{{type: object, properties: {{a: {reference}}}}}"),
                    "{map: {fields: [{name: a, type: {namedType: io.example.v1.Port}}]}}",
                ),
                (
                    &format!("{{type: array, items: {reference}}}"),
                    "{list: {elementType: {namedType: io.example.v1.Port}, elementRelationship: atomic}}",
                ),
                (
                    &format!("{{type: object, additionalProperties: {reference}}}"),
                    "{map: {elementType: {namedType: io.example.v1.Port}}}",
                ),
            ],
        );
    }
}

#[test]
fn reference_may_override_the_relationship() {
    check(
        &Importer::new(),
        &[
            (
                "{type: object, properties: {
                   a: {$ref: '#/definitions/Free', x-kubernetes-map-type: atomic, nullable: true},
                   b: {allOf: [{$ref: '#/definitions/Free'}], x-kubernetes-map-type: granular},
                   c: {$ref: '#/definitions/Strings', x-kubernetes-map-type: atomic}}}",
                "{map: {fields: [
                   {name: a, type: {namedType: Free, elementRelationship: atomic, nullable: true}},
                   {name: b, type: {namedType: Free, elementRelationship: separable}},
                   {name: c, type: {namedType: Strings, elementRelationship: atomic}}]}}",
            ),
            (
                "{type: array, items: {$ref: '#/definitions/Free', x-kubernetes-map-type: atomic}}",
                "{list: {elementRelationship: atomic, elementType: {namedType: Free, elementRelationship: atomic}}}",
            ),
        ],
    );
}

#[test]
fn inapplicable_override_is_a_fault() {
    let faults = faults_of(
        "{s: {type: string}, l: {type: array, items: {type: string}},
          t: {type: object, properties: {a: {$ref: s, x-kubernetes-map-type: atomic},
              b: {$ref: l, x-kubernetes-map-type: granular}}}}",
    );
    let expected = [
        "definition `t`: .properties.a: elementRelationship is set on a type that is neither map nor list",
        "definition `t`: .properties.b: elementRelationship of a list must be atomic or associative",
    ];
    assert_eq!(faults, expected);
}

#[test]
fn definitions_may_be_recursive() {
    let imported = import(
        &Importer::new(),
        "{Tree: {type: object, properties: {
            left: {$ref: '#/definitions/Tree'}, right: {$ref: '#/definitions/Tree'}}},
          A: {type: object, properties: {b: {$ref: B}}}, B: {type: array, items: {$ref: A}}}",
    )
    .unwrap();
    let tree = "{map: {fields: [{name: left, type: {namedType: Tree}}, {name: right, type: {namedType: Tree}}]}}";
    assert_eq!(
        type_named(&imported, "Tree").unwrap().to_json(),
        yaml(tree).to_json()
    );
}

/// A definition that only refers to another one does not become a type; references to it resolve to the target.
#[test]
fn aliases_resolve_to_their_targets() {
    let imported = import(
        &Importer::new(),
        "{a: {$ref: '#/definitions/b'}, b: {$ref: '#/definitions/t'}, t: {type: object},
          user: {type: object, properties: {x: {$ref: '#/definitions/a', x-kubernetes-map-type: atomic}}}}",
    )
    .unwrap();
    assert_eq!(type_named(&imported, "a"), None);
    assert_eq!(type_named(&imported, "b"), None);
    let user = "{map: {fields: [{name: x, type: {namedType: t, elementRelationship: atomic}}]}}";
    assert_eq!(
        type_named(&imported, "user").unwrap().to_json(),
        yaml(user).to_json()
    );
}

#[test]
fn cyclic_aliases_are_faults() {
    let cases: &[(&str, &[&str])] = &[
        (
            "{a: {$ref: a}}",
            &["definition `a`: definition `a` refers to itself"],
        ),
        (
            "{a: {$ref: b}, b: {$ref: a}}",
            &[
                "definition `a`: definition `a` refers to itself",
                "definition `b`: definition `b` refers to itself",
            ],
        ),
        // Only the aliases in the cycle are faults, not those that lead to it.
        (
            "{a: {$ref: b}, b: {$ref: c}, c: {$ref: b}, t: {type: array, items: {$ref: a}}}",
            &[
                "definition `b`: definition `b` refers to itself",
                "definition `c`: definition `c` refers to itself",
            ],
        ),
    ];
    for (definitions, expected) in cases {
        assert_eq!(faults_of(definitions), *expected, "{definitions}");
    }
}

#[test]
fn missing_definitions_are_faults_of_the_reference() {
    let faults = faults_of(
        "{a: {$ref: '#/definitions/nowhere'},
          t: {type: object, additionalProperties: {allOf: [{$ref: '#/definitions/PodSpc'}]}, properties: {
            x: {$ref: '#/definitions/a'}, z: {type: array, items: {$ref: '#/definitions/zzz'}}}},
          PodSpec: {type: object}}",
    );
    let expected = [
        "definition `a`: .$ref: there is no definition `nowhere`",
        "definition `t`: .properties.z.items.$ref: there is no definition `zzz`",
        "definition `t`: .additionalProperties.$ref: there is no definition `PodSpc`, did you mean `PodSpec`",
    ];
    assert_eq!(faults, expected);
}

#[test]
fn long_chains_are_followed_in_bounded_time() {
    let mut definitions = String::new();
    for i in 0..20_000 {
        writeln!(definitions, "a{i:05}: {{$ref: 'a{:05}'}}", i + 1).unwrap();
    }
    let ok = format!(
        "{definitions}a20000: {{type: string}}\nt: {{type: array, items: {{$ref: a00000}}}}\n"
    );
    let imported = import(&Importer::new(), &ok).unwrap();
    let expected = "{list: {elementType: {namedType: a20000}, elementRelationship: atomic}}";
    assert_eq!(
        type_named(&imported, "t").unwrap().to_json(),
        yaml(expected).to_json()
    );
    let circle = format!("{definitions}a20000: {{$ref: a00000}}\n");
    assert_eq!(faults_of(&circle).len(), 20_001);
    let nowhere = format!("{definitions}a20000: {{$ref: nowhere}}\n");
    assert_eq!(
        faults_of(&nowhere),
        ["definition `a20000`: .$ref: there is no definition `nowhere`"]
    );
}
