//! The types of custom resources: unions, versions, and the paths of faults.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use fieldmanager_openapi::internal::types_document;
use fieldmanager_openapi::{GroupVersionKind, Importer, LoadError, Types};
use fieldmanager_structural::crd::{CrdError, CustomResource};
use fieldmanager_testing::namespaced_shop;
use fieldmanager_value::Value;

fn yaml(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

/// A definition with one version and a one-line schema.
fn with_schema(schema: &str) -> CustomResource {
    with_version(&format!("schema: {{openAPIV3Schema: {schema}}}"))
}

fn with_version(rest: &str) -> CustomResource {
    let versions = format!("versions: [{{name: v1, served: true, storage: true, {rest}}}]");
    CustomResource::from_value(&namespaced_shop(&versions)).unwrap()
}

#[test]
fn version_without_structural_schema_accepts_any_fields() {
    for shop in [
        with_version("deprecated: false"),
        with_schema("{properties: {a: {type: string}}}"),
        with_schema("{type: object, properties: {a: {type: text}}}"),
        with_schema("{type: object, properties: {a: {$ref: b}}}"),
    ] {
        let types = Types::from_custom_resource(&shop).unwrap();
        assert!(
            types
                .for_kind(&shop.kind("v1"))
                .unwrap()
                .atom()
                .map
                .as_ref()
                .unwrap()
                .field("anything")
                .is_none()
        );
    }
}

#[test]
fn unions_of_both_forms_are_imported() {
    let shop = with_schema(
        "{type: object, properties: {
          door: {type: object, x-kubernetes-unions: [{discriminator: type, fields-to-discriminateBy: {wood: Wood}}],
            properties: {type: {type: string}, wood: {type: object}}},
          roof: {type: object, properties: {straw: {type: object},
            kind: {type: string, x-kubernetes-unions: {fieldMembers: {Straw: {name: straw}, None: null}}}}}}}",
    );
    assert!(shop.violations().is_empty());
    let types = Types::from_custom_resource(&shop).unwrap();
    let text = types_document(&types).to_json();
    assert!(
        text.contains(r#""unions":[{"deduceInvalidDiscriminator":true,"discriminator":"type""#),
        "{text}"
    );
    assert!(text.contains(r#""emptyMembers":["None"]"#), "{text}");
}

#[test]
fn types_cover_all_versions_and_load_from_a_document() {
    let text = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: {kind: Shop, plural: shops}
  scope: Cluster
  preserveUnknownFields: true
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}
  - {name: v2, served: false}
";
    let types = Types::load(&yaml(text)).unwrap();
    for version in ["v1", "v2"] {
        types
            .for_kind(&GroupVersionKind::new("example.com", version, "Shop"))
            .unwrap();
        types
            .for_kind(&GroupVersionKind::new("example.com", version, "ShopList"))
            .unwrap();
    }
    // The version has no schema, so unknown fields are kept.
    let v1 = types
        .for_kind(&GroupVersionKind::from_api_version_kind(
            "example.com/v1",
            "Shop",
        ))
        .unwrap();
    assert!(v1.atom().map.as_ref().unwrap().element.is_some());
    let error = Types::load(&yaml(&text.replace("Cluster", "Moon"))).unwrap_err();
    assert!(
        matches!(error, LoadError::CustomResource(CrdError::Fields(_))),
        "{error}"
    );
}

#[test]
fn faulty_extensions_are_reported_with_their_path() {
    let shop = with_schema(
        "{type: object, properties: {a: {type: array, items: {type: string}, x-kubernetes-list-type: bag}}}",
    );
    assert_eq!(
        Importer::new()
            .custom_resource(&shop)
            .unwrap_err()
            .to_string(),
        "definition `com.example.shops.v1.Shop`: .properties.a.x-kubernetes-list-type: unknown list type `bag`: \
         atomic, set and map are accepted"
    );
}
