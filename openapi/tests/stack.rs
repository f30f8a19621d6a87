//! Definitions at the depth limit are imported on a small stack.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_openapi::internal::{import_definitions, sources};
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
                import_definitions(
                    &importer,
                    definitions.iter().map(|(name, schema)| (name, schema)),
                )
                .ok()
            };
            form.deepest(import);
            assert!(import(&form.schema(10_000)).is_none());
            let document = map([
                ("definitions", map([("t", form.schema(80))])),
                ("swagger", "2.0".into()),
            ]);
            assert!(Importer::new().document(&document).is_ok());
            assert!(
                Types::load_all(
                    std::slice::from_ref(&document),
                    &Importer::new().keep_good(true)
                )
                .is_ok()
            );
            assert!(!sources(&[document]).is_empty());
            for levels in [MAX_DEPTH - 1, MAX_DEPTH, 10_000] {
                let definitions = map([("t", form.schema(levels))]);
                let document = map([("definitions", definitions), ("swagger", "2.0".into())]);
                for import in [
                    Importer::new(),
                    Importer::new()
                        .keep_good(true)
                        .preserve_unknown_fields(true),
                ] {
                    import.document(&document).ok();
                    Types::load_all(std::slice::from_ref(&document), &import).ok();
                }
                Types::load(&document).ok();
                sources(&[document]);
            }
        });
    }
}

#[test]
fn custom_resources_are_imported_on_a_small_stack() {
    for form in [NestedSchema::Properties, NestedSchema::Resources] {
        on_small_stack("crd", move || {
            let crd = |levels: usize| custom_resource_definition(form.schema(levels));
            for levels in [100, 124, 127, 128, MAX_DEPTH - 1, MAX_DEPTH, 10_000] {
                let Ok(resource) = CustomResource::from_value(&crd(levels)) else {
                    continue;
                };
                Types::from_custom_resource(&resource).ok();
                for unions in [ListUnions::Respecting, ListUnions::Deducing] {
                    Importer::new()
                        .unions(unions)
                        .custom_resource(&resource)
                        .ok();
                }
            }
            let resource = CustomResource::from_value(&crd(100)).unwrap();
            let types = Types::from_custom_resource(&resource).unwrap();
            assert!(Types::load(&crd(100)).is_ok());
            let object = map([
                ("apiVersion", "example.com/v1".into()),
                ("kind", "Shop".into()),
                ("a", form.object(10_000)),
            ]);
            assert!(types.for_object(&object).is_ok());
            assert!(!format!("{types:?} {:?}", types.schema()).is_empty());
            assert_eq!(sources(&[crd(100)]).len(), 1);
        });
    }
}
