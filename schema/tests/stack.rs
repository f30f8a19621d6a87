//! Stack usage of schemas at the depth limit and of definitions of any depth.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{
    AtomDef, FieldDef, ListDef, MapDef, Nested, Relationship, Scalar, TypeDef, TypeRef,
    resolve_definitions, type_definitions,
};
use fieldmanager_testing::on_small_stack;
use fieldmanager_value::{MAX_DEPTH, Value};

/// Far more levels than fit on any stack.
const DEEP: usize = 10_000;

/// Nested types, as lists or as fields and elements of maps.
fn definitions(levels: usize, lists: bool, scalar: Scalar) -> Vec<TypeDef> {
    let mut atom = AtomDef {
        scalar: Some(scalar),
        ..AtomDef::default()
    };
    for level in 0..levels {
        let below = TypeRef {
            inlined: atom,
            ..TypeRef::default()
        };
        atom = AtomDef::default();
        if lists {
            let relationship = Some(Relationship::Atomic);
            atom.list = Some(
                ListDef {
                    element: below,
                    relationship,
                    keys: Vec::new(),
                }
                .into(),
            );
        } else if level % 2 == 0 {
            atom.map = Some(
                MapDef {
                    element: Some(below),
                    ..MapDef::default()
                }
                .into(),
            );
        } else {
            let field = FieldDef {
                name: "a".into(),
                ty: below,
                default: None,
            };
            atom.map = Some(
                MapDef {
                    fields: vec![field],
                    ..MapDef::default()
                }
                .into(),
            );
        }
    }
    vec![TypeDef {
        name: "t".into(),
        atom,
    }]
}

#[test]
fn definitions_of_any_depth_are_dropped_compared_and_printed() {
    on_small_stack("definitions", || {
        for lists in [true, false] {
            let types = definitions(DEEP, lists, Scalar::String);
            assert_eq!(types, types.clone());
            assert_eq!(types, definitions(DEEP, lists, Scalar::String));
            assert_ne!(types, definitions(DEEP, lists, Scalar::Numeric));
            let (printed, pretty) = (format!("{types:?}"), format!("{types:#?}"));
            assert_eq!(printed.matches("TypeRef").count(), DEEP);
            assert!(pretty.len() < 2 * printed.len());
        }
    });
}

#[test]
fn definitions_beyond_the_depth_limit_are_rejected() {
    on_small_stack("from_definitions", || {
        for lists in [true, false] {
            for levels in [MAX_DEPTH + 1, DEEP] {
                let error =
                    resolve_definitions(definitions(levels, lists, Scalar::String)).unwrap_err();
                let expected = "inlined types are nested deeper than 256 levels";
                assert!(error.to_string().ends_with(expected), "{error}");
                assert_eq!(error.faults().len(), 1);
            }
            let types = definitions(MAX_DEPTH, lists, Scalar::String);
            let schema = resolve_definitions(types.clone()).unwrap();
            assert_eq!(type_definitions(&schema), types);
            assert_eq!(schema, resolve_definitions(types).unwrap());
            assert!(schema.to_value().to_json().contains("string"));
            let _ = format!("{schema:?} {:?}", schema.type_named("t").unwrap().atom());
        }
    });
}

#[test]
fn schemas_at_the_depth_limit_round_trip() {
    on_small_stack("from_value", || {
        for lists in [true, false] {
            // A list in a list takes two levels of the document; a field of a map in a map takes more.
            let deepest = (1..MAX_DEPTH).rev().find_map(|levels| {
                let types = definitions(levels, lists, Scalar::String);
                let document = resolve_definitions(types).ok()?.to_value();
                Value::from_json(&document.to_json()).ok()
            });
            let document = deepest.unwrap();
            let schema = Schema::from_value(&document).unwrap();
            assert_eq!(schema.to_value(), document);
            assert_eq!(Schema::from_yaml(&document.to_yaml()).unwrap(), schema);
            let wrong = document.to_json().replace("string", "text");
            assert_eq!(Schema::from_yaml(&wrong).unwrap_err().faults().len(), 1);
        }
    });
}

#[test]
fn nested_definitions_can_be_modified() {
    let mut list = Nested::from(ListDef::default());
    list.keys.push("name".into());
    assert_eq!(list.clone().keys, ["name"]);
}
