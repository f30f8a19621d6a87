//! Every error of a schema, with its location and message.

use fieldmanager_schema::internal::{
    AtomDef, FieldDef, MapDef, Relationship, Scalar, TypeDef, TypeRef, resolve_definitions,
};
use fieldmanager_schema::{Error, Fault, Schema};
use fieldmanager_value::Value;

/// Rows of a description, a schema and its errors.
fn check(rows: &[(&str, &str, &str)]) {
    for (name, schema, expected) in rows {
        let found = match Schema::from_yaml(schema) {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn invalid_yaml_is_rejected() {
    check(&[
        (
            "an unclosed list",
            "types: [",
            "not valid YAML at line 1 column 9: did not find expected node content while parsing a flow node",
        ),
        (
            "two documents",
            "types: []\n---\ntypes: []\n",
            "expected one document, found 2",
        ),
        (
            "a duplicate key",
            "types: []\ntypes: []\n",
            "not valid YAML at line 2 column 1: duplicate key `types`",
        ),
    ]);
}

#[test]
fn wrong_kinds_are_rejected() {
    check(&[
        ("a list for the schema", "[]", "expected map, got list"),
        (
            "a string for the schema",
            "types",
            "expected map, got string",
        ),
        (
            "a map for the types",
            "types: {}",
            ".types: expected list, got map",
        ),
        (
            "a string for a type",
            "types: [a]",
            ".types[0]: expected map, got string",
        ),
        (
            "a number for a name",
            "types: [{name: 1, scalar: string}]",
            ".types[0].name: expected string, got integer\n.types[0]: field `name` is missing or empty",
        ),
        (
            "a string for a list type",
            "types: [{name: a, list: b}]",
            r#"type `a`: .types[name="a"].list: expected map, got string"#,
        ),
        (
            "a list for a map type",
            "types: [{name: a, map: []}]",
            r#"type `a`: .types[name="a"].map: expected map, got list"#,
        ),
        (
            "a string for a reference",
            "types: [{name: a, map: {elementType: b}}]",
            r#"type `a`: .types[name="a"].map.elementType: expected map, got string"#,
        ),
        (
            "a number for a reference's name",
            "types: [{name: a, map: {elementType: {namedType: 1}}}]",
            r#"type `a`: .types[name="a"].map.elementType.namedType: expected string, got integer"#,
        ),
        (
            "a string for keys",
            "types: [{name: a, list: {elementRelationship: associative, elementType: {scalar: string}, keys: b}}]",
            r#"type `a`: .types[name="a"].list.keys: expected list, got string"#,
        ),
        (
            "a number for a key",
            "types: [{name: a, list: {elementRelationship: associative, elementType: {scalar: string}, keys: [b, 1]}}]",
            r#"type `a`: .types[name="a"].list.keys[1]: expected string, got integer"#,
        ),
        (
            "a string for nullable",
            "types: [{name: a, map: {elementType: {scalar: string, nullable: b}}}]",
            r#"type `a`: .types[name="a"].map.elementType.nullable: expected boolean, got string"#,
        ),
        (
            "a number for a scalar",
            "types: [{name: a, scalar: 1}]",
            r#"type `a`: .types[name="a"].scalar: expected string, got integer"#,
        ),
        (
            "a boolean for a relationship",
            "types: [{name: a, map: {elementRelationship: true}}]",
            r#"type `a`: .types[name="a"].map.elementRelationship: expected string, got boolean"#,
        ),
        (
            "a map for unions",
            "types: [{name: a, map: {unions: {}}}]",
            r#"type `a`: .types[name="a"].map.unions: expected list, got map"#,
        ),
        (
            "strings for the flags of a union",
            "types: [{name: a, map: {unions: [{deduceInvalidDiscriminator: b, closed: b, required: b}]}}]",
            "type `a`: .types[name=\"a\"].map.unions[0].deduceInvalidDiscriminator: expected boolean, got string\ntype `a`: .types[name=\"a\"].map.unions[0].closed: expected boolean, got string\ntype `a`: .types[name=\"a\"].map.unions[0].required: expected boolean, got string",
        ),
    ]);
}

#[test]
fn null_and_absent_fields_are_empty() {
    check(&[
        ("null for the schema", "null", "ok"),
        ("an empty document", "", "ok"),
        ("null for the types", "types: null", "ok"),
        ("a type without kinds", "types: [{name: a}]", "ok"),
        (
            "nulls in a type",
            "types: [{name: a, scalar: null, list: null, map: null, untyped: null}]",
            "ok",
        ),
        ("an empty map type", "types: [{name: a, map: {}}]", "ok"),
        (
            "nulls in a map type",
            "types: [{name: a, map: {fields: null, unions: null, elementType: null}}]",
            "ok",
        ),
        (
            "an empty relationship",
            "types: [{name: a, map: {elementRelationship: ''}}]",
            "ok",
        ),
    ]);
}

#[test]
fn unknown_fields_and_names_are_rejected() {
    check(&[
        (
            "of the schema",
            "{types: [], kinds: []}",
            ".kinds: unknown field, accepted are types",
        ),
        (
            "of a type",
            "types: [{name: a, struct: {}}]",
            r#"type `a`: .types[name="a"].struct: unknown field, accepted are name, scalar, list, map, untyped"#,
        ),
        (
            "of a list",
            "types: [{name: a, list: {elementRelationship: atomic, elementType: {scalar: string}, key: [b]}}]",
            r#"type `a`: .types[name="a"].list.key: unknown field, accepted are elementType, elementRelationship, keys"#,
        ),
        (
            "of a map",
            "types: [{name: a, map: {field: []}}]",
            r#"type `a`: .types[name="a"].map.field: unknown field, accepted are fields, unions, elementType, elementRelationship"#,
        ),
        (
            "of a field",
            "types: [{name: a, map: {fields: [{name: b, typ: {scalar: string}}]}}]",
            r#"type `a`: .types[name="a"].map.fields[name="b"].typ: unknown field, accepted are name, type, default"#,
        ),
        (
            "of a reference",
            "types: [{name: a, map: {elementType: {type: string}}}]",
            r#"type `a`: .types[name="a"].map.elementType.type: unknown field, accepted are namedType, scalar, list, map, untyped, elementRelationship, nullable"#,
        ),
        (
            "of a union",
            "types: [{name: a, map: {unions: [{discriminators: b}]}}]",
            r#"type `a`: .types[name="a"].map.unions[0].discriminators: unknown field, accepted are discriminator, deduceInvalidDiscriminator, fields, emptyMembers, closed, required"#,
        ),
        (
            "of a member",
            "types: [{name: a, map: {unions: [{fields: [{fieldName: b, value: c}]}]}}]",
            r#"type `a`: .types[name="a"].map.unions[0].fields[fieldName="b"].value: unknown field, accepted are fieldName, discriminatorValue, optional"#,
        ),
        (
            "a scalar",
            "types: [{name: a, scalar: integer}]",
            r#"type `a`: .types[name="a"].scalar: unknown scalar `integer`, accepted are numeric, string, boolean and untyped"#,
        ),
        (
            "a relationship",
            "types: [{name: a, map: {elementRelationship: granular}}]",
            r#"type `a`: .types[name="a"].map.elementRelationship: unknown relationship `granular`, accepted are associative, atomic and separable"#,
        ),
    ]);
}

#[test]
fn names_are_unique() {
    check(&[
        (
            "a type",
            "types: [{name: a, scalar: string}, {name: b, scalar: string}, {name: a, scalar: numeric}]",
            r#".types[name="a"]: duplicate name"#,
        ),
        (
            "a type without a name",
            "types: [{scalar: string}]",
            ".types[0]: field `name` is missing or empty",
        ),
        (
            "a type with an empty name",
            "types: [{name: '', scalar: string}]",
            r#".types[name=""]: field `name` is missing or empty"#,
        ),
        (
            "a field",
            "types: [{name: a, map: {fields: [{name: b, type: {scalar: string}}, {name: b, type: {scalar: string}}]}}]",
            r#"type `a`: .types[name="a"].map.fields[name="b"]: duplicate name"#,
        ),
        (
            "a field without a name",
            "types: [{name: a, map: {fields: [{type: {scalar: string}}]}}]",
            r#"type `a`: .types[name="a"].map.fields[0]: field `name` is missing or empty"#,
        ),
        (
            "a member",
            "types: [{name: a, map: {unions: [{fields: [{fieldName: b}, {fieldName: b}]}]}}]",
            r#"type `a`: .types[name="a"].map.unions[0].fields[fieldName="b"]: duplicate fieldName"#,
        ),
        (
            "a member without a name",
            "types: [{name: a, map: {unions: [{fields: [{discriminatorValue: b}]}]}}]",
            r#"type `a`: .types[name="a"].map.unions[0].fields[0]: field `fieldName` is missing or empty"#,
        ),
    ]);
}

#[test]
fn references_are_checked() {
    check(&[
        (
            "to an unknown type, with a suggestion",
            "types: [{name: container, scalar: string}, {name: a, map: {elementType: {namedType: contaner}}}]",
            r#"type `a`: .types[name="a"].map.elementType: unknown type `contaner`, did you mean `container`"#,
        ),
        (
            "to an unknown type",
            "types: [{name: a, map: {elementType: {namedType: zzz}}}]",
            r#"type `a`: .types[name="a"].map.elementType: unknown type `zzz`"#,
        ),
        (
            "named and inlined",
            "types: [{name: a, map: {elementType: {namedType: a, scalar: string}}}]",
            r#"type `a`: .types[name="a"].map.elementType: expected either namedType or an inlined type, got both"#,
        ),
        (
            "from a field",
            "types: [{name: a, map: {fields: [{name: f, type: {namedType: b}}]}}]",
            r#"type `a`: .types[name="a"].map.fields[name="f"].type: unknown type `b`"#,
        ),
        (
            "from a list in a field",
            "types: [{name: a, map: {fields: [{name: f, type: {list: {elementRelationship: atomic, elementType: {namedType: b}}}}]}}]",
            r#"type `a`: .types[name="a"].map.fields[name="f"].type.list.elementType: unknown type `b`"#,
        ),
    ]);
}

#[test]
fn relationships_are_checked() {
    let list = |rest: &str| {
        format!("types: [{{name: a, list: {{elementType: {{scalar: string}}{rest}}}}}]")
    };
    check(&[
        (
            "a list without a relationship",
            &list(""),
            r#"type `a`: .types[name="a"].list: a list needs an elementRelationship, atomic or associative"#,
        ),
        (
            "a list with the relationship of maps",
            &list(", elementRelationship: separable"),
            r#"type `a`: .types[name="a"].list: a list needs an elementRelationship, atomic or associative"#,
        ),
        ("a set", &list(", elementRelationship: associative"), "ok"),
        (
            "a map with the relationship of lists",
            "types: [{name: a, map: {elementRelationship: associative}}]",
            "ok",
        ),
        (
            "an override on a scalar",
            "types: [{name: s, scalar: string}, {name: a, map: {elementType: {namedType: s, elementRelationship: atomic}}}]",
            r#"type `a`: .types[name="a"].map.elementType: elementRelationship is set on a type that is neither map nor list"#,
        ),
        (
            "an override on an inlined scalar",
            "types: [{name: a, map: {elementType: {scalar: string, elementRelationship: atomic}}}]",
            r#"type `a`: .types[name="a"].map.elementType: elementRelationship is set on a type that is neither map nor list"#,
        ),
        (
            "an override on a list with the relationship of maps",
            "types: [{name: l, list: {elementType: {scalar: string}, elementRelationship: atomic}},
                     {name: a, map: {elementType: {namedType: l, elementRelationship: separable}}}]",
            r#"type `a`: .types[name="a"].map.elementType: elementRelationship of a list must be atomic or associative"#,
        ),
    ]);
}

#[test]
fn keys_are_checked() {
    let list = |element: &str| {
        format!(
            "types: [{{name: a, list: {{elementRelationship: associative, keys: [id, name], elementType: {element}}}}}]"
        )
    };
    check(&[
        (
            "undeclared fields",
            &list(
                "{map: {fields: [{name: title, type: {scalar: string}}, {name: id, type: {scalar: string}}]}}",
            ),
            r#"type `a`: .types[name="a"].list.keys: key `name` is not a field of the items, expected one of id, title"#,
        ),
        (
            "of scalars",
            &list("{scalar: string}"),
            r#"type `a`: .types[name="a"].list.keys: an associative list with keys needs items that are maps"#,
        ),
        (
            "of a map with undeclared fields",
            &list("{map: {elementType: {scalar: string}}}"),
            "ok",
        ),
        (
            "of an atomic list",
            &list("{scalar: string}").replace("associative", "atomic"),
            "ok",
        ),
    ]);
}

#[test]
fn unions_are_checked() {
    let map = |unions: &str| {
        format!(
            "types: [{{name: a, map: {{fields: [{{name: d, type: {{scalar: string}}}}, {{name: x, type: {{scalar: numeric}}}}, {{name: u, type: {{scalar: string}}}}], unions: {unions}}}}}]"
        )
    };
    check(&[
        (
            "valid",
            &map(
                "[{discriminator: d, fields: [{fieldName: x, discriminatorValue: X}, {fieldName: u, discriminatorValue: U}]}]",
            ),
            "ok",
        ),
        (
            "shared members",
            &map("[{fields: [{fieldName: x}]}, {fields: [{fieldName: u}, {fieldName: x}]}]"),
            r#"type `a`: .types[name="a"].map.unions[1].fields[fieldName="x"]: a field may belong to one union only"#,
        ),
        (
            "shared discriminator values",
            &map(
                "[{discriminator: d, fields: [{fieldName: x, discriminatorValue: A}, {fieldName: u, discriminatorValue: A}]}]",
            ),
            r#"type `a`: .types[name="a"].map.unions[0].fields[fieldName="u"]: two fields have the discriminator value `A`"#,
        ),
        (
            "an undeclared discriminator",
            &map("[{discriminator: e, fields: [{fieldName: x, discriminatorValue: A}]}]"),
            "ok",
        ),
        (
            "a discriminator that is not a string",
            &map("[{discriminator: x, fields: [{fieldName: u, discriminatorValue: A}]}]"),
            "ok",
        ),
        (
            "shared values without a discriminator",
            &map(
                "[{fields: [{fieldName: x, discriminatorValue: A}, {fieldName: u, discriminatorValue: A}]}]",
            ),
            "ok",
        ),
    ]);
}

#[test]
fn all_errors_are_reported() {
    let error = Schema::from_yaml(
        "
types:
- {name: a, scalar: text}
- {name: b, map: {fields: [{name: f, type: {scalar: text}}], more: 1}}
",
    )
    .unwrap_err();
    let fault = |name: &str, path: &str, message: &str| Fault {
        type_name: Some(name.into()),
        path: path.into(),
        message: message.into(),
    };
    let scalar = "unknown scalar `text`, accepted are numeric, string, boolean and untyped";
    assert_eq!(
        error.faults(),
        [
            fault("a", r#".types[name="a"].scalar"#, scalar),
            fault(
                "b",
                r#".types[name="b"].map.more"#,
                "unknown field, accepted are fields, unions, elementType, elementRelationship"
            ),
            fault(
                "b",
                r#".types[name="b"].map.fields[name="f"].type.scalar"#,
                scalar
            ),
        ]
    );
    // One line per error.
    assert_eq!(error.to_string().lines().count(), 3);
    assert!(matches!(error, Error::Invalid(_)));
    assert!(Schema::from_yaml("a: [").unwrap_err().faults().is_empty());
}

/// References are also checked in definitions that were not parsed.
#[test]
fn definitions_are_checked() {
    let faults = |types| match resolve_definitions(types) {
        Ok(_) => Vec::new(),
        Err(error) => error.faults().iter().map(ToString::to_string).collect(),
    };
    let scalar = TypeRef {
        inlined: AtomDef {
            scalar: Some(Scalar::String),
            ..AtomDef::default()
        },
        ..TypeRef::default()
    };
    let field = |name: &str, ty: TypeRef| FieldDef {
        name: name.into(),
        ty,
        default: None,
    };
    let with_fields = |fields| {
        let map = MapDef {
            fields,
            ..MapDef::default()
        };
        TypeDef {
            name: "a".into(),
            atom: AtomDef {
                map: Some(map.into()),
                ..AtomDef::default()
            },
        }
    };
    assert_eq!(
        faults(vec![with_fields(vec![
            field("f", scalar.clone()),
            field(
                "f",
                TypeRef {
                    named: Some("b".into()),
                    ..TypeRef::default()
                }
            ),
            field(
                "g",
                TypeRef {
                    relationship: Some(Relationship::Atomic),
                    ..scalar.clone()
                }
            ),
        ])]),
        [
            r#"type `a`: .types[name="a"].map.fields[name="f"].type: unknown type `b`"#,
            r#"type `a`: .types[name="a"].map: duplicate field `f`"#,
            r#"type `a`: .types[name="a"].map.fields[name="g"].type: elementRelationship is set on a type that is neither map nor list"#,
        ]
    );
}

/// Excessive nesting is an error, never a stack overflow.
#[test]
fn nesting_is_bounded() {
    let nested = |levels: usize| {
        let element = "{map: {elementType: ".repeat(levels);
        format!(
            "types: [{{name: a, map: {{elementType: {element}{{scalar: string}}{}}}}}]",
            "}}".repeat(levels)
        )
    };
    assert!(Schema::from_yaml(&nested(100)).is_ok());
    for levels in [200, 10_000] {
        let error = Schema::from_yaml(&nested(levels)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "nesting is deeper than 256 levels",
            "{levels}"
        );
    }
    // A value that was not parsed.
    let mut reference = Value::Null;
    for _ in 0..120 {
        let inner = Value::Map([("elementType", reference)].into_iter().collect());
        reference = Value::Map([("map", inner)].into_iter().collect());
    }
    assert!(Schema::from_value(&Value::Null).is_ok());
    let types = Value::from(vec![Value::Map(
        [
            ("name", Value::from("a")),
            ("map", reference.get("map").cloned().unwrap_or_default()),
        ]
        .into_iter()
        .collect(),
    )]);
    assert!(Schema::from_value(&Value::Map([("types", types)].into_iter().collect())).is_ok());
}
