//! The merge strategies of the types in a bundle.

use std::collections::BTreeSet;

use fieldmanager_openapi::Types;
use fieldmanager_patch::PatchTypes;
use fieldmanager_patch::internal::write_types;
use fieldmanager_value::{Map, Str, Value};

use crate::Error;
use crate::text;

/// The serialized table of the merge strategies of an OpenAPI document, for the kinds and types of a bundle of the same
/// document. [`read_types`](fieldmanager_patch::internal::read_types) reads it.
///
/// # Errors
///
/// [`Error::Patches`], if the document has no definitions.
///
/// ```
/// use fieldmanager_bundle::{Corrections, bundle, patches};
/// use fieldmanager_openapi::Types;
/// use fieldmanager_value::Value;
///
/// let openapi = Value::from_yaml("
/// $defs:
///   Shop:
///     type: object
///     properties:
///       metadata: {type: object}
///       owners:
///         type: array
///         items: {$ref: '#/$defs/Owner'}
///         x-kubernetes-patch-strategy: merge
///         x-kubernetes-patch-merge-key: name
///     x-kubernetes-group-version-kind: [{group: '', version: v1, kind: Shop}]
///   Owner: {type: object, properties: {name: {type: string}}}
/// ")?;
/// let schema = bundle(&openapi, &Corrections::from_yaml("[]")?)?;
/// let text = patches(&openapi, &Types::load(&Value::from_json(&schema)?)?)?;
/// assert_eq!(text, r#"{
/// "kinds":[
/// {"group":"","kind":"Shop","type":"Shop","version":"v1"}
/// ],
/// "types":{
/// "Shop":{"owners":{"key":"name","strategy":"merge"}}
/// }
/// }
/// "#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn patches(openapi: &Value, bundled: &Types) -> Result<String, Error> {
    // The bundle has only types that objects use, and the strategies of other types would never be read.
    let table = write_types(&PatchTypes::from_openapi(openapi)?);
    let bundled: BTreeSet<&str> = bundled.schema().type_names().collect();
    let kept = |name: &str| bundled.contains(name);
    let all = table
        .get("types")
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();
    let types: Map = all
        .iter()
        .filter(|(name, _)| kept(name.as_str()))
        .map(|(name, fields)| (Str::clone(name), fields.clone()))
        .collect();

    let kinds = table
        .get("kinds")
        .and_then(Value::as_list)
        .into_iter()
        .flatten();
    let kinds = kinds.filter(|kind| kind.get("type").and_then(Value::as_str).is_some_and(kept));
    Ok(text::write_patches(kinds, &types))
}
