//! Custom resource definitions with unions.

use kube_core::CustomResourceExt;
use kube_core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use serde_json::Value;

const UNIONS: &str = "x-kubernetes-unions";

/// Custom resource definitions with the unions that the types of a resource declare. Implemented for every type that
/// derives `CustomResource`.
///
/// `CustomResourceExt::crd` returns the type of `k8s-openapi`, which has no field for `x-kubernetes-unions` and
/// therefore loses the unions of a schema. This trait returns the same definition with the unions, as JSON.
pub trait CrdWithUnions: CustomResourceExt + JsonSchema {
    /// The definition of `crd()` as JSON, with `x-kubernetes-unions` wherever the schema of the type has it.
    ///
    /// # Errors
    ///
    /// Those of `serde_json`, if the definition cannot be serialized.
    fn crd_with_unions() -> serde_json::Result<Value> {
        let mut crd = serde_json::to_value(Self::crd())?;
        // The same settings that `CustomResource` uses for the schema of the definition.
        let generator = SchemaSettings::openapi3()
            .with(|settings| {
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            })
            .with_transform(AddNullable::default())
            .with_transform(StructuralSchemaRewriter)
            .with_transform(OptionalEnum)
            .with_transform(OptionalIntOrString)
            .into_generator();

        let schema = generator.into_root_schema_for::<Self>().to_value();
        // Both schemas have the same form except for the unions, so they are walked together.
        for version in crd
            .pointer_mut("/spec/versions")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(published) = version.pointer_mut("/schema/openAPIV3Schema") {
                copy_unions(&schema, published);
            }
        }

        Ok(crd)
    }
}

impl<T: CustomResourceExt + JsonSchema> CrdWithUnions for T {}

/// Copies the unions of a schema to another schema of the same form that lacks them. The depth is that of the type,
/// whose schema was built by recursion.
fn copy_unions(from: &Value, to: &mut Value) {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            for (name, from) in from {
                match to.get_mut(name) {
                    Some(to) => copy_unions(from, to),
                    None if name == UNIONS => {
                        to.insert(name.clone(), from.clone());
                    }
                    None => {}
                }
            }
        }
        (Value::Array(from), Value::Array(to)) => {
            from.iter()
                .zip(to)
                .for_each(|(from, to)| copy_unions(from, to));
        }
        _ => {}
    }
}
