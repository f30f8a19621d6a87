//! Scalar types, and schemas without a type.

use fieldmanager_openapi::Importer;
use fieldmanager_schema::{UNTYPED_ATOMIC, UNTYPED_DEDUCED};

use super::{check, import, type_named, yaml};

#[test]
fn scalar_types_are_imported() {
    check(
        &Importer::new(),
        &[
            ("{type: integer}", "{scalar: numeric}"),
            ("{type: integer, format: int64}", "{scalar: numeric}"),
            ("{type: number, format: double}", "{scalar: numeric}"),
            ("{type: boolean}", "{scalar: boolean}"),
            ("{type: boolean, format: odd}", "{scalar: boolean}"),
            ("{type: string}", "{scalar: string}"),
            ("{type: string, format: ''}", "{scalar: string}"),
            ("{type: string, format: null}", "{scalar: string}"),
            ("{type: string, format: byte}", "{scalar: string}"),
        ],
    );
}

#[test]
fn string_with_another_format_is_any_scalar() {
    for format in [
        "int-or-string",
        "date-time",
        "uuid",
        "password",
        "int64",
        "BYTE",
    ] {
        check(
            &Importer::new(),
            &[(
                &format!("{{type: string, format: {format}}}"),
                "{scalar: untyped}",
            )],
        );
    }
}

#[test]
fn first_of_several_types_is_used() {
    check(
        &Importer::new(),
        &[
            ("{type: [integer, string]}", "{scalar: numeric}"),
            ("{type: [string, object]}", "{scalar: string}"),
            (
                "{type: [object, 'null']}",
                "{map: {elementType: {namedType: __untyped_deduced_}}}",
            ),
        ],
    );
}

#[test]
fn schema_without_type_accepts_any_value() {
    let anything = "{scalar: untyped,
      list: {elementType: {namedType: __untyped_atomic_}, elementRelationship: atomic},
      map: {elementType: {namedType: __untyped_deduced_}}}";
    check(
        &Importer::new(),
        &[
            ("{}", anything),
            ("{type: ''}", anything),
            ("{type: []}", anything),
            ("{type: null}", anything),
            ("{x-kubernetes-int-or-string: true}", anything),
            ("{format: int-or-string}", anything),
            ("{anyOf: [{type: integer}, {type: string}]}", anything),
            (
                "{allOf: [{type: integer}, {$ref: '#/definitions/Free'}]}",
                anything,
            ),
            // At the top level of a definition, a lone `allOf` is not a reference.
            ("{allOf: [{$ref: '#/definitions/Free'}]}", anything),
            (
                "{enum: [a, b], not: {type: string}, description: text}",
                anything,
            ),
            ("{x-kubernetes-embedded-resource: true}", anything),
        ],
    );
}

#[test]
fn schema_without_type_follows_list_and_map_extensions() {
    check(
        &Importer::new(),
        &[
            (
                "{items: {type: string}, x-kubernetes-list-type: set, properties: {a: {type: integer}}}",
                "{scalar: untyped,
                  list: {elementType: {scalar: string}, elementRelationship: associative},
                  map: {fields: [{name: a, type: {scalar: numeric}}]}}",
            ),
            (
                "{x-kubernetes-map-type: atomic, additionalProperties: {type: boolean}}",
                "{scalar: untyped,
                  list: {elementType: {namedType: __untyped_atomic_}, elementRelationship: atomic},
                  map: {elementType: {scalar: boolean}, elementRelationship: atomic}}",
            ),
        ],
    );
}

#[test]
fn inapplicable_keywords_of_a_typed_schema_are_ignored() {
    check(
        &Importer::new(),
        &[
            (
                "{type: string, properties: {a: {type: integer}}, items: {type: string}}",
                "{scalar: string}",
            ),
            (
                "{type: object, items: {type: string}, properties: {a: {}}, oneOf: [{required: [a]}]}",
                {
                    "{map: {fields: [{name: a, type: {scalar: untyped,
                  list: {elementType: {namedType: __untyped_atomic_}, elementRelationship: atomic},
                  map: {elementType: {namedType: __untyped_deduced_}}}}]}}"
                },
            ),
            (
                "{type: array, items: {type: string}, properties: {a: {type: integer}}}",
                "{list: {elementType: {scalar: string}, elementRelationship: atomic}}",
            ),
        ],
    );
}

/// They are recognized by name only.
#[test]
fn quantities_and_raw_extensions_are_recognized_by_name() {
    let imported = import(
        &Importer::new(),
        "{io.k8s.apimachinery.pkg.api.resource.Quantity: {type: string},
          io.k8s.apimachinery.pkg.runtime.RawExtension: {type: object},
          io.example.Quantity: {type: string},
          t: {type: object, properties: {
            q: {$ref: '#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity'},
            r: {$ref: '#/definitions/io.k8s.apimachinery.pkg.runtime.RawExtension'}}}}",
    )
    .unwrap();
    let json = |name: &str| type_named(&imported, name).unwrap().to_json();
    assert_eq!(
        json("io.k8s.apimachinery.pkg.api.resource.Quantity"),
        r#"{"scalar":"untyped"}"#
    );
    assert_eq!(
        json("io.k8s.apimachinery.pkg.runtime.RawExtension"),
        json(UNTYPED_ATOMIC)
    );
    assert_eq!(json("io.example.Quantity"), r#"{"scalar":"string"}"#);
    let expected = "{map: {fields: [
        {name: q, type: {namedType: io.k8s.apimachinery.pkg.api.resource.Quantity}},
        {name: r, type: {namedType: io.k8s.apimachinery.pkg.runtime.RawExtension}}]}}";
    assert_eq!(json("t"), yaml(expected).to_json());
}

#[test]
fn untyped_types_are_last() {
    let imported = import(&Importer::new(), "{zz: {type: string}, a: {type: string}}").unwrap();
    let names: Vec<&str> = imported.types.schema().type_names().collect();
    assert_eq!(names, ["a", "zz", UNTYPED_ATOMIC, UNTYPED_DEDUCED]);
    let expected = [
        (
            UNTYPED_ATOMIC,
            "{scalar: untyped, list: {elementType: {namedType: __untyped_atomic_}, elementRelationship: atomic},
              map: {elementType: {namedType: __untyped_atomic_}, elementRelationship: atomic}}",
        ),
        (
            UNTYPED_DEDUCED,
            "{scalar: untyped, list: {elementType: {namedType: __untyped_atomic_}, elementRelationship: atomic},
              map: {elementType: {namedType: __untyped_deduced_}, elementRelationship: separable}}",
        ),
    ];
    for (name, text) in expected {
        assert_eq!(
            type_named(&imported, name).unwrap().to_json(),
            yaml(text).to_json(),
            "{name}"
        );
    }
}

/// A schema that was exported by a similar program may already contain them.
#[test]
fn untyped_types_may_be_defined() {
    let imported = import(&Importer::new(), "{__untyped_atomic_: {type: string}}").unwrap();
    assert_eq!(
        type_named(&imported, UNTYPED_ATOMIC).unwrap().to_json(),
        r#"{"scalar":"string"}"#
    );
}
