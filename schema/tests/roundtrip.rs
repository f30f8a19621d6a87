//! Round trips of definitions, and the resolved types.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its own schema must fail"
)]

use fieldmanager_schema::internal::{
    Atom, Relationship, Scalar, Union, UnionField, has_no_polymorphic_types, resolve_definitions,
    type_definitions,
};
use fieldmanager_schema::{Schema, Type, UNTYPED_ATOMIC, UNTYPED_DEDUCED};
use fieldmanager_value::Value;

const SCHEMA: &str = "
types:
- name: root
  map:
    fields:
    - {name: kind, type: {scalar: string}}
    - {name: replicas, type: {scalar: numeric}, default: 1}
    - {name: paused, type: {scalar: boolean, nullable: true}}
    - {name: labels, type: {namedType: strings}}
    - {name: selector, type: {namedType: strings, elementRelationship: atomic}}
    - {name: containers, type: {namedType: containers}}
    - {name: initContainers, type: {namedType: containers, elementRelationship: atomic}}
    - {name: child, type: {namedType: root}}
    - {name: finalizers, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
    - {name: either, type: {namedType: either}}
    unions:
    - discriminator: kind
      deduceInvalidDiscriminator: true
      fields:
      - {fieldName: labels, discriminatorValue: Labels}
      - {fieldName: selector, discriminatorValue: Selector, optional: true}
      emptyMembers: [None, '']
      closed: true
      required: true
    - fields:
      - {fieldName: containers, discriminatorValue: Containers}
- name: strings
  map: {elementType: {scalar: string}}
- name: containers
  list: {elementType: {namedType: container}, elementRelationship: associative, keys: [name, port]}
- name: container
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: port, type: {scalar: numeric}, default: 80}
    elementType: {scalar: untyped}
    elementRelationship: separable
- name: either
  scalar: untyped
  list: {elementType: {scalar: string}, elementRelationship: atomic}
  map: {elementType: {namedType: either}, elementRelationship: associative}
- {name: nothing}
";

fn schema() -> Schema {
    Schema::from_yaml(SCHEMA).unwrap()
}

fn ty(name: &str) -> Type {
    schema().type_named(name).unwrap()
}

/// The atom of a field of a type.
fn field<'t>(ty: &'t Type, name: &str) -> &'t Atom {
    ty.schema()
        .atom(ty.atom().map.as_ref().unwrap().type_of(name).unwrap())
}

#[test]
fn definitions_round_trip() {
    let read = schema();
    let document = read.to_value();
    assert_eq!(document, Value::from_yaml(SCHEMA).unwrap());
    let again = Schema::from_value(&document).unwrap();
    assert_eq!(again, read);
    assert_eq!(type_definitions(&again), type_definitions(&read));
    assert_eq!(
        resolve_definitions(type_definitions(&read).to_vec()).unwrap(),
        read
    );
    // As YAML and as JSON.
    assert_eq!(Schema::from_yaml(&document.to_yaml()).unwrap(), read);
    assert_eq!(Schema::from_yaml(&document.to_json()).unwrap(), read);
}

/// Defaults are not written, so that equivalent schemas are equal.
#[test]
fn defaults_are_not_written() {
    let verbose = "
types:
- name: a
  scalar: null
  map: {fields: [], unions: [], elementType: {}, elementRelationship: ''}
- name: b
  map:
    elementType: {scalar: string, nullable: false}
    unions:
    - {deduceInvalidDiscriminator: false, fields: [], emptyMembers: [], closed: false, required: false}
";
    let terse = "types: [{name: a, map: {}}, {name: b, map: {elementType: {scalar: string}, unions: [{}]}}]";
    assert_eq!(
        Schema::from_yaml(verbose).unwrap(),
        Schema::from_yaml(terse).unwrap()
    );
    assert_eq!(
        Schema::from_yaml(verbose).unwrap().to_value(),
        Value::from_yaml(terse).unwrap()
    );
    assert_eq!(Schema::from_yaml("").unwrap().to_value().to_json(), "{}");
}

#[test]
fn unions_keep_their_extensions() {
    let root = ty("root");
    let unions = &root.atom().map.as_ref().unwrap().unions;
    assert_eq!(
        unions[0],
        Union {
            discriminator: Some("kind".into()),
            deduce: true,
            fields: vec![
                UnionField {
                    field: "labels".into(),
                    value: "Labels".into(),
                    optional: false
                },
                UnionField {
                    field: "selector".into(),
                    value: "Selector".into(),
                    optional: true
                },
            ],
            empty_members: vec!["None".into(), "".into()],
            closed: true,
            required: true,
        }
    );
    assert_eq!(unions[1].discriminator, None);
    assert!(!unions[1].deduce && !unions[1].closed && !unions[1].required);
}

#[test]
fn types_are_found_by_name() {
    let schema = schema();
    let names: Vec<&str> = schema.type_names().collect();
    assert_eq!(
        names,
        [
            "root",
            "strings",
            "containers",
            "container",
            "either",
            "nothing"
        ]
    );
    assert!(schema.type_named("Root").is_none());
    let root = schema.type_named("root").unwrap();
    assert_eq!(root.name(), "root");
    assert!(!root.atom().inlined);
    assert!(root.schema() == &schema);
    assert_eq!(root, schema.type_named("root").unwrap());
    // The same type of a schema that was parsed again is not equal.
    assert_ne!(root, ty("root"));
    assert_eq!(format!("{root:?} {schema:?}"), format!("root {names:?}"));
}

#[test]
fn fields_are_resolved() {
    let root = ty("root");
    let map = root.atom().map.as_ref().unwrap();
    assert!(map.fields().is_sorted_by_key(|field| &field.name));
    assert_eq!(map.field("replicas").unwrap().default, Some(Value::from(1)));
    assert!(map.field("replica").is_none() && map.type_of("replica").is_none());
    assert_eq!(field(&root, "replicas").scalar, Some(Scalar::Numeric));
    assert!(field(&root, "replicas").inlined);
    // A map with an element type accepts undeclared fields.
    let container = ty("container");
    assert_eq!(field(&container, "anything").scalar, Some(Scalar::Untyped));
    assert_eq!(field(&container, "name").scalar, Some(Scalar::String));
    // A recursive type refers to itself.
    assert_eq!(map.type_of("child"), Some(root.id()));
    // A type may accept several kinds.
    let either = field(&root, "either");
    assert!(either.scalar.is_some() && either.list.is_some() && either.map.is_some());
    assert!(!either.map.as_ref().unwrap().atomic);
    let nothing = ty("nothing");
    let nothing = nothing.atom();
    assert!(nothing.scalar.is_none() && nothing.list.is_none() && nothing.map.is_none());
}

#[test]
fn overrides_do_not_change_the_referenced_type() {
    let root = ty("root");
    assert!(!field(&root, "labels").map.as_ref().unwrap().atomic);
    assert!(field(&root, "selector").map.as_ref().unwrap().atomic);
    assert!(!field(&root, "containers").list.as_ref().unwrap().atomic);
    assert!(field(&root, "initContainers").list.as_ref().unwrap().atomic);
    assert!(!ty("strings").atom().map.as_ref().unwrap().atomic);
    // The override keeps the name of the referenced type.
    assert_eq!(field(&root, "selector").name, "strings");
}

#[test]
fn overrides_apply_to_recursive_types() {
    let schema = Schema::from_yaml(
        "
types:
- name: node
  map:
    fields:
    - {name: whole, type: {namedType: node, elementRelationship: atomic}}
    - {name: parts, type: {namedType: node}}
",
    )
    .unwrap();
    let node = schema.type_named("node").unwrap();
    let whole = field(&node, "whole").map.as_ref().unwrap();
    assert!(whole.atomic);
    assert!(
        !schema
            .atom(whole.type_of("parts").unwrap())
            .map
            .as_ref()
            .unwrap()
            .atomic
    );
    // Equal overrides share one type.
    assert_eq!(
        whole.type_of("whole"),
        node.atom().map.as_ref().unwrap().type_of("whole")
    );
}

#[test]
fn keys_have_the_defaults_of_their_fields() {
    let containers = ty("containers");
    let list = containers.atom().list.as_ref().unwrap();
    let keys: Vec<_> = list
        .keys
        .iter()
        .map(|key| (key.name.as_str(), key.default.clone()))
        .collect();
    assert_eq!(keys, [("name", None), ("port", Some(Value::from(80)))]);
    let root = ty("root");
    assert!(
        field(&root, "finalizers")
            .list
            .as_ref()
            .unwrap()
            .keys
            .is_empty()
    );
}

#[test]
fn types_that_are_maps_and_associative_lists_are_polymorphic() {
    let plain = |kinds: &str| {
        has_no_polymorphic_types(
            &Schema::from_yaml(&format!("types: [{{name: a, {kinds}}}]")).unwrap(),
        )
    };
    let list = |relationship| {
        format!("list: {{elementType: {{scalar: string}}, elementRelationship: {relationship}}}")
    };
    assert!(plain("map: {}"));
    assert!(plain(&list("associative")));
    assert!(plain(&format!("map: {{}}, {}", list("atomic"))));
    assert!(!plain(&format!("map: {{}}, {}", list("associative"))));
    assert!(has_no_polymorphic_types(&schema()));
}

#[test]
fn the_deduced_schema_has_two_types() {
    let any = Schema::deduced();
    assert_eq!(any.name(), UNTYPED_DEDUCED);
    let names: Vec<&str> = any.schema().type_names().collect();
    assert_eq!(names, [UNTYPED_ATOMIC, UNTYPED_DEDUCED]);
    assert_eq!(any, Schema::deduced());
    let atomic = any.schema().type_named(UNTYPED_ATOMIC).unwrap();
    assert!(atomic.atom().map.as_ref().unwrap().atomic);
    assert!(any.atom().map.as_ref().unwrap().untyped);
    assert_eq!(
        Schema::from_value(&any.schema().to_value()).unwrap(),
        *any.schema()
    );
}

#[test]
fn ids_of_another_schema_do_not_panic() {
    let small = Schema::from_yaml("types: [{name: a, scalar: string}]").unwrap();
    let foreign = small.atom(ty("nothing").id());
    assert!(foreign.scalar.is_none() && foreign.list.is_none() && foreign.map.is_none());
}

#[test]
fn kinds_have_the_names_of_the_format() {
    assert_eq!(
        Scalar::ALL.map(Scalar::name),
        ["numeric", "string", "boolean", "untyped"]
    );
    assert_eq!(
        Relationship::ALL.map(Relationship::name),
        ["associative", "atomic", "separable"]
    );
}

/// Runs if the schema of Kubernetes is available.
#[test]
fn the_kubernetes_schema_round_trips() {
    let Some(shared) = std::env::var_os("FIELDMANAGER_SHARED") else {
        eprintln!(
            "skipped: FIELDMANAGER_SHARED does not name a folder with data/kubernetes-schema.yaml"
        );
        return;
    };
    let file = std::path::Path::new(&shared).join("data/kubernetes-schema.yaml");
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let schema = Schema::from_yaml(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(Schema::from_value(&schema.to_value()).unwrap(), schema);
    assert!(schema.type_names().count() > 500);
    let container = schema.type_named("io.k8s.api.core.v1.Container").unwrap();
    let ports = field(&container, "ports").list.as_ref().unwrap();
    let keys: Vec<_> = ports
        .keys
        .iter()
        .map(|key| (key.name.as_str(), key.default.clone()))
        .collect();
    assert_eq!(
        keys,
        [
            ("containerPort", Some(Value::from(0))),
            ("protocol", Some(Value::from("TCP")))
        ]
    );
    let service = schema.type_named("io.k8s.api.core.v1.ServiceSpec").unwrap();
    assert!(field(&service, "selector").map.as_ref().unwrap().atomic);
}
