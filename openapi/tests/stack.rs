//! Definitions at the depth limit are imported on a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_openapi::internal::sources;
use fieldmanager_openapi::{Importer, ListUnions, Types};
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_testing::{NestedSchema, custom_resource_definition, map, on_small_stack};
use fieldmanager_value::{MAX_DEPTH, Str, Value};

#[test]
fn definitions_are_imported_on_a_small_stack() {
    for form in NestedSchema::ALL {
        on_small_stack("import", move || {
            let import = |schema: &Value| {
                let definitions = [(Str::from("t"), schema.clone())];
                let importer = Importer::new().unions(ListUnions::Respecting);
                importer.definitions(definitions.iter().map(|(name, schema)| (name, schema))).ok()
            };
            form.deepest(import);
            assert!(import(&form.schema(10_000)).is_none());
            let document = map([("definitions", map([("t", form.schema(80))])), ("swagger", "2.0".into())]);
            assert!(Importer::new().document(&document).is_ok());
            assert!(!sources(&[document]).is_empty());
        });
    }
}

#[test]
fn custom_resources_are_imported_on_a_small_stack() {
    for form in [NestedSchema::Properties, NestedSchema::Resources] {
        on_small_stack("crd", move || {
            let crd = |levels: usize| custom_resource_definition(form.schema(levels));
            for levels in [100, 124, 127, 128, MAX_DEPTH - 1, MAX_DEPTH, 10_000] {
                let Ok(resource) = CustomResource::from_value(&crd(levels)) else { continue };
                Types::from_custom_resource(&resource).ok();
            }
            let resource = CustomResource::from_value(&crd(100)).unwrap();
            assert!(Types::from_custom_resource(&resource).is_ok());
            assert_eq!(sources(&[crd(100)]).len(), 1);
        });
    }
}
