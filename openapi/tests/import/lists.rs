//! Arrays: items, relationships and keys.

use fieldmanager_openapi::Importer;

use super::{check, faults_of, warnings_of};

#[test]
fn list_relationships_are_imported() {
    let cases = [
        ("", "elementRelationship: atomic"),
        (
            "x-kubernetes-list-type: atomic",
            "elementRelationship: atomic",
        ),
        (
            "x-kubernetes-list-type: set",
            "elementRelationship: associative",
        ),
        (
            "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, name]",
            "elementRelationship: associative, keys: [port, name]",
        ),
        (
            "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: []",
            "elementRelationship: associative",
        ),
        // Keys without the list type that requires them are ignored.
        (
            "x-kubernetes-list-map-keys: [port]",
            "elementRelationship: atomic",
        ),
        (
            "x-kubernetes-list-type: set, x-kubernetes-list-map-keys: [port]",
            "elementRelationship: associative",
        ),
        (
            "x-kubernetes-patch-strategy: merge",
            "elementRelationship: associative",
        ),
        (
            "x-kubernetes-patch-strategy: merge, x-kubernetes-patch-merge-key: port",
            "elementRelationship: associative, keys: [port]",
        ),
        (
            "x-kubernetes-patch-strategy: 'merge,retainKeys', x-kubernetes-patch-merge-key: name",
            "elementRelationship: associative, keys: [name]",
        ),
        (
            "x-kubernetes-patch-strategy: retainKeys, x-kubernetes-patch-merge-key: name",
            "elementRelationship: atomic",
        ),
        (
            "x-kubernetes-patch-merge-key: name",
            "elementRelationship: atomic",
        ),
        // The list type takes precedence.
        (
            "x-kubernetes-list-type: atomic, x-kubernetes-patch-strategy: merge, x-kubernetes-patch-merge-key: name",
            "elementRelationship: atomic",
        ),
        (
            "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port],
             x-kubernetes-patch-strategy: odd, x-kubernetes-patch-merge-key: name",
            "elementRelationship: associative, keys: [port]",
        ),
        // The extension of maps does not apply to lists.
        (
            "x-kubernetes-map-type: granular",
            "elementRelationship: atomic",
        ),
    ];
    for (extensions, expected) in cases {
        let schema = format!(
            "{{type: array, items: {{$ref: '#/definitions/io.example.v1.Port'}}, {extensions}}}"
        );
        let expected =
            format!("{{list: {{elementType: {{namedType: io.example.v1.Port}}, {expected}}}}}");
        check(&Importer::new(), &[(&schema, &expected)]);
    }
}

#[test]
fn list_items_are_imported() {
    check(
        &Importer::new(),
        &[
            (
                "{type: array, items: {type: array, items: {type: integer}, x-kubernetes-list-type: set}}",
                "{list: {elementRelationship: atomic, elementType: {list: {
                   elementRelationship: associative, elementType: {scalar: numeric}}}}}",
            ),
            (
                "{type: array, items: {}}",
                "{list: {elementRelationship: atomic, elementType: {scalar: untyped,
                   list: {elementType: {namedType: __untyped_atomic_}, elementRelationship: atomic},
                   map: {elementType: {namedType: __untyped_deduced_}}}}}",
            ),
            (
                "{type: array, items: {allOf: [{$ref: '#/definitions/Strings'}], nullable: true}}",
                "{list: {elementRelationship: atomic, elementType: {namedType: Strings, nullable: true}}}",
            ),
        ],
    );
}

#[test]
fn keys_may_have_defaults_and_be_open() {
    check(
        &Importer::new(),
        &[
            (
                "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, protocol],
                  items: {type: object, properties: {port: {type: integer},
                    protocol: {type: string, default: TCP}}}}",
                "{list: {elementRelationship: associative, keys: [port, protocol], elementType: {map: {fields: [
                   {name: port, type: {scalar: numeric}},
                   {name: protocol, type: {scalar: string}, default: TCP}]}}}}",
            ),
            (
                "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [any],
                  items: {$ref: '#/definitions/Free'}}",
                "{list: {elementRelationship: associative, keys: [any], elementType: {namedType: Free}}}",
            ),
        ],
    );
}

/// Published documents contain such lists. With the key, every object that has an item would be invalid.
#[test]
fn undeclared_key_makes_the_list_atomic() {
    let atomic = "elementRelationship: atomic";
    for items in [
        "{$ref: x/io.example.v1.Port}",
        "{type: object, properties: {name: {type: string}}}",
    ] {
        let schema = format!(
            "{{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, zone], items: {items}}}"
        );
        let element = if items.contains("ref") {
            "{namedType: io.example.v1.Port}"
        } else {
            "{map: {fields: [{name: name, type: {scalar: string}}]}}"
        };
        check(
            &Importer::new(),
            &[(
                &schema,
                &format!("{{list: {{{atomic}, elementType: {element}}}}}"),
            )],
        );
    }
    let warnings = warnings_of(
        "{t: {type: object, properties: {ports: {type: array, items: {$ref: p}, x-kubernetes-list-type: map,
            x-kubernetes-list-map-keys: [name, zone]}}},
          none: {type: object, additionalProperties: {type: array, x-kubernetes-patch-strategy: merge,
            x-kubernetes-patch-merge-key: k, items: {type: object, additionalProperties: false}}},
          p: {type: object, properties: {name: {type: string}, port: {type: integer}}}}",
    );
    let expected = [
        "definition `none`: .additionalProperties.x-kubernetes-list-map-keys: key `k` is not a field of the items, \
         the list is treated as atomic: there are no fields",
        "definition `t`: .properties.ports.x-kubernetes-list-map-keys: key `zone` is not a field of the items, \
         the list is treated as atomic: fields are name, port",
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn items_with_keys_must_be_maps() {
    let list = "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]";
    let faults = faults_of(&format!(
        "{{t: {{type: array, items: {{type: string}}, {list}}},
           u: {{type: object, properties: {{l: {{type: array, items: {{$ref: s}}, {list}}}}}}},
           s: {{type: array, items: {{type: string}}}}}}"
    ));
    let expected = [
        "definition `t`: .x-kubernetes-list-map-keys: an associative list with keys needs items that are maps",
        "definition `u`: .properties.l.x-kubernetes-list-map-keys: \
         an associative list with keys needs items that are maps",
    ];
    assert_eq!(faults, expected);
}
