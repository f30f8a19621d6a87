//! The OpenAPI definitions that the API server publishes for a custom resource.

use std::sync::LazyLock;

use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use super::rules::has_invalid_types;
use super::{CrdError, CustomResource, Version};
use crate::schema::unfold;
use crate::{FieldPath, GroupVersionKind, Structural};

const REFERENCE: &str = "#/components/schemas/";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// The `meta/v1` definitions that custom resources refer to, from Kubernetes 1.37 without descriptions. A test parses
/// them.
static META: LazyLock<Map> = LazyLock::new(|| match Value::from_json(include_str!("meta.json")) {
    Ok(Value::Map(definitions)) => definitions,
    _ => Map::new(),
});

impl CustomResource {
    /// Adds the definitions of a version.
    fn add_definitions(&self, version: &Version, to: &mut Map) {
        let (kind, list_kind) = (self.kind(&version.name), list_kind(self, &version.name));
        to.insert(
            definition_name(&kind),
            published(version.schema.as_ref(), &kind),
        );
        to.insert(definition_name(&list_kind), list(&kind, &list_kind));
    }
}

/// The kind of lists at a version.
///
/// ```
/// # use fieldmanager_structural::internal::list_kind;
/// # use fieldmanager_structural::crd::CustomResource;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// assert_eq!(list_kind(&shop, "v1").to_string(), "example.com/v1, Kind=ShopList");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn list_kind(resource: &CustomResource, version: &str) -> GroupVersionKind {
    GroupVersionKind::new(
        resource.group.clone(),
        version,
        resource.names.list_kind.clone(),
    )
}

/// The OpenAPI v3 definitions of a version, as the API server publishes them: the definition of the kind, named by
/// the reversed labels of the group, the definition of its list, and the `meta/v1` definitions that both refer to.
///
/// `apiVersion`, `kind` and `metadata` have the definitions of Kubernetes, at the root and in embedded resources,
/// regardless of the schema. Without a structural schema, the definition accepts any map.
///
/// # Errors
///
/// [`CrdError::UnknownVersion`].
///
/// Behaviour: `BuildOpenAPIV3` of `k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder`, without
/// descriptions of its own, and with `x-kubernetes-unions`, which the apiserver drops.
///
/// ```
/// # use fieldmanager_structural::internal::publish;
/// # use fieldmanager_structural::crd::CustomResource;
/// # use fieldmanager_value::Value;
/// # let versions = "[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]";
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
/// let definitions = publish(&shop, "v1")?;
/// let properties = definitions.get("com.example.v1.Shop").and_then(|shop| shop.get("properties"));
/// let names: Vec<&str> =
///     properties.and_then(Value::as_map).into_iter().flatten().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(names, ["apiVersion", "kind", "metadata", "spec"]);
/// assert!(definitions.contains("com.example.v1.ShopList"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn publish(resource: &CustomResource, version: &str) -> Result<Map, CrdError> {
    let version = resource.version(version)?;
    let mut definitions = META.clone();
    resource.add_definitions(version, &mut definitions);
    Ok(definitions)
}

/// The schema of a version as the API server publishes it, before `apiVersion`, `kind` and `metadata` are added;
/// `None` if the version has no structural schema.
///
/// # Errors
///
/// [`CrdError::UnknownVersion`].
///
/// ```
/// # use fieldmanager_structural::internal::publish_schema;
/// # use fieldmanager_structural::crd::CustomResource;
/// # let versions = "[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]";
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
/// let schema = publish_schema(&shop, "v1")?;
/// assert_eq!(schema.map(|schema| schema.to_json()), Some(r#"{"type":"object"}"#.to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn publish_schema(resource: &CustomResource, version: &str) -> Result<Option<Value>, CrdError> {
    Ok(resource
        .version(version)?
        .schema
        .as_ref()
        .and_then(unfolded))
}

/// The OpenAPI definitions of all versions, served or not. Server-side apply uses them to merge.
///
/// Behaviour: `buildOpenAPIModelsForApply` of `k8s.io/apiextensions-apiserver/pkg/apiserver`.
///
/// ```
/// # use fieldmanager_structural::internal::publish_all;
/// # use fieldmanager_structural::crd::CustomResource;
/// # let versions = "[{name: v1, served: true, storage: true}, {name: v2, served: false}]";
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
/// let definitions = publish_all(&shop);
/// assert!(definitions.contains("com.example.v1.Shop") && definitions.contains("com.example.v2.Shop"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn publish_all(resource: &CustomResource) -> Map {
    let mut definitions = META.clone();
    for version in &resource.versions {
        resource.add_definitions(version, &mut definitions);
    }
    definitions
}

/// `com.example.v1.Shop` for the `Shop` of `example.com/v1`.
fn definition_name(kind: &GroupVersionKind) -> Str {
    // As for built-in kinds, the group is reversed: `example.com` becomes `com.example`.
    let mut labels: Vec<&str> = kind.group.split('.').collect();
    labels.reverse();
    format!("{}.{}.{}", labels.join("."), kind.version, kind.kind).into()
}

fn object() -> Map {
    Map::single("type", "object")
}

fn text() -> Value {
    Map::single("type", "string").into()
}

fn reference(name: &str) -> Value {
    Map::single("$ref", format!("{REFERENCE}{name}")).into()
}

fn kinds(kind: &GroupVersionKind) -> Value {
    let fields = [
        ("group", &kind.group),
        ("version", &kind.version),
        ("kind", &kind.kind),
    ];
    let entry: Map = fields
        .into_iter()
        .map(|(name, text)| (name, text.clone()))
        .collect();
    Value::from(vec![Value::Map(entry)])
}

fn published(schema: Option<&Value>, kind: &GroupVersionKind) -> Value {
    let mut root = schema.and_then(structural).unwrap_or_else(object);
    root.insert("x-kubernetes-group-version-kind", kinds(kind));
    root.into()
}

/// The published form of a structural schema; `None` if the schema is not structural.
fn structural(schema: &Value) -> Option<Map> {
    let Value::Map(mut root) = complete(&unfolded(schema)?) else {
        return None;
    };
    set_identity(&mut root);
    Some(root)
}

/// A structural schema with `anyOf` for what is an integer or a string; `None` if the schema is not structural.
fn unfolded(schema: &Value) -> Option<Value> {
    // As in the API server, only a schema without violations is published.
    if has_invalid_types(schema) {
        return None;
    }
    let structural = Structural::from_value(schema).ok()?;
    structural
        .validate(&FieldPath::default())
        .is_empty()
        .then(|| unfold(&structural).to_value())
}

/// Sets `apiVersion`, `kind` and `metadata` to the definitions of Kubernetes.
fn set_identity(schema: &mut Map) {
    let mut properties = schema
        .get("properties")
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();
    properties.insert("apiVersion", text());
    properties.insert("kind", text());
    properties.insert("metadata", reference(OBJECT_META));
    schema.insert("properties", properties);
}

/// A schema with other subschemas, of those that describe values by themselves.
pub fn with_subschemas(schema: &Map, change: impl Fn(&Value) -> Value) -> Map {
    let mut out = schema.clone();
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(name) {
            out.insert(name, change(inner));
        }
    }

    if let Some(Value::Map(properties)) = schema.get("properties") {
        let properties: Map = properties
            .iter()
            .map(|(name, property)| (name.clone(), change(property)))
            .collect();
        out.insert("properties", properties);
    }

    out
}

/// Fills in the embedded resources of a schema. Subschemas that do not describe a value by themselves, such as `anyOf`,
/// stay unchanged.
fn complete(schema: &Value) -> Value {
    level(|| {
        let Value::Map(schema) = schema else {
            return schema.clone();
        };
        let mut out = with_subschemas(schema, complete);

        // The API server's encoder omits an empty example but writes every default.
        if out.get("example").is_some_and(is_empty) {
            out.remove("example");
        }
        if schema.get(EMBEDDED) == Some(&Value::Bool(true)) {
            set_identity(&mut out);
            // An embedded resource must have both fields, whether or not the schema requires them.
            let mut required = match schema.get("required") {
                Some(Value::List(required)) => required.clone(),
                _ => List::default(),
            };

            for name in ["kind", "apiVersion"] {
                if !required.iter().any(|known| known.as_str() == Some(name)) {
                    required.push(name.into());
                }
            }
            out.insert("required", required);
        }

        out.into()
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(fields) => fields.is_empty(),
        _ => false,
    }
}

fn list(kind: &GroupVersionKind, list_kind: &GroupVersionKind) -> Value {
    let mut items = Map::single("type", "array");
    items.insert("items", reference(&definition_name(kind)));
    let properties: Map = [
        ("apiVersion", text()),
        ("items", items.into()),
        ("kind", text()),
        ("metadata", reference(LIST_META)),
    ]
    .into_iter()
    .collect();
    let mut out = object();
    out.insert("properties", properties);
    out.insert("required", vec!["items"]);
    out.insert("x-kubernetes-group-version-kind", kinds(list_kind));

    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_meta_definitions_are_read() {
        assert_eq!(META.len(), 7);
        assert!(META.contains(OBJECT_META) && META.contains(LIST_META));
    }

    #[test]
    fn definition_name_starts_with_the_reversed_group() {
        let name = |group: &str| definition_name(&GroupVersionKind::new(group, "v1", "Foo"));
        assert_eq!(name("bar.k8s.io"), "io.k8s.bar.v1.Foo");
        assert_eq!(name("single"), "single.v1.Foo");
    }
}
