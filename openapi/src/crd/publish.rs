//! What the apiserver publishes for a custom resource, and the types that it makes of it for server-side apply.

use std::sync::LazyLock;

use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use super::rules::has_invalid_types;
use super::{CrdError, CustomResource, Version};
use crate::structural::Structural;
use crate::{FieldPath, GroupVersionKind, Imported, Importer, Types};

const REFERENCE: &str = "#/components/schemas/";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// The definitions of `meta/v1` that custom resources refer to. They are those of Kubernetes 1.37 without
/// descriptions. A test reads them.
static META: LazyLock<Map> = LazyLock::new(|| match Value::from_json(include_str!("meta.json")) {
    Ok(Value::Map(definitions)) => definitions,
    _ => Map::new(),
});

impl CustomResource {
    /// The OpenAPI definitions of a version, as the apiserver publishes them in version 3: that of the kind, named
    /// by the labels of the group backwards, that of its list, and those of `meta/v1` that they refer to.
    ///
    /// `apiVersion`, `kind` and `metadata` are those of Kubernetes, at the root and in embedded resources, whatever
    /// the schema says of them. Where there is no schema, or it is not structural, the definition is a map of
    /// anything.
    ///
    /// # Errors
    ///
    /// [`CrdError::UnknownVersion`].
    ///
    /// Behaviour: `BuildOpenAPIV3` of `k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder`, without
    /// descriptions of its own, and with `x-kubernetes-unions`, which the apiserver drops.
    ///
    /// ```
    /// # use fieldmanager_openapi::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&Value::from_yaml("
    /// # apiVersion: apiextensions.k8s.io/v1
    /// # kind: CustomResourceDefinition
    /// # spec:
    /// #   group: example.com
    /// #   names: {kind: Shop, plural: shops}
    /// #   scope: Cluster
    /// #   versions:
    /// #   - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}
    /// # ")?)?;
    /// let definitions = shop.definitions("v1")?;
    /// let properties = definitions.get("com.example.v1.Shop").and_then(|shop| shop.get("properties"));
    /// let names: Vec<&str> =
    ///     properties.and_then(Value::as_map).into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    /// assert_eq!(names, ["apiVersion", "kind", "metadata", "spec"]);
    /// assert!(definitions.contains("com.example.v1.ShopList"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn definitions(&self, version: &str) -> Result<Map, CrdError> {
        let version = self.version(version)?;
        let mut definitions = META.clone();
        self.add_definitions(version, &mut definitions);
        Ok(definitions)
    }

    /// The types of all versions, served or not, by the usual importer: what the apiserver applies by.
    ///
    /// # Errors
    ///
    /// [`CrdError::Import`] if lists or maps have types that do not exist, or unions are no unions. None of that is
    /// possible without [`violations`](Self::violations), but for unions, which are not looked at there.
    ///
    /// Behaviour: `buildOpenAPIModelsForApply` of `k8s.io/apiextensions-apiserver/pkg/apiserver`.
    ///
    /// ```
    /// # use fieldmanager_openapi::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&Value::from_yaml("
    /// # apiVersion: apiextensions.k8s.io/v1
    /// # kind: CustomResourceDefinition
    /// # spec:
    /// #   group: example.com
    /// #   names: {kind: Shop, plural: shops}
    /// #   scope: Cluster
    /// #   versions:
    /// #   - name: v1
    /// #     served: true
    /// #     subresources: {scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}}
    /// # ")?)?;
    /// assert!(shop.types()?.for_kind(&shop.kind("v1")).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn types(&self) -> Result<Types, CrdError> {
        self.types_with(&Importer::new())
    }

    /// The same by an importer with other options. `spec.preserveUnknownFields` counts in any case.
    ///
    /// # Errors
    ///
    /// As for [`types`](Self::types).
    ///
    /// ```
    /// # use fieldmanager_openapi::crd::CustomResource;
    /// # use fieldmanager_openapi::{Importer, ListUnions};
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&Value::from_yaml("
    /// # apiVersion: apiextensions.k8s.io/v1
    /// # kind: CustomResourceDefinition
    /// # spec:
    /// #   group: example.com
    /// #   names: {kind: Shop, plural: shops}
    /// #   scope: Cluster
    /// #   versions: [{name: v1, served: true, storage: true}, {name: v2, served: true}]
    /// # ")?)?;
    /// let types = shop.types_with(&Importer::new().unions(ListUnions::Respecting))?;
    /// assert!(types.for_kind(&shop.kind("v1")).is_ok() && types.for_kind(&shop.list_kind("v2")).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn types_with(&self, importer: &Importer) -> Result<Types, CrdError> {
        Ok(self.import(importer)?.types)
    }

    /// The same with the warnings of the import, and with the faults of what was left out, if the importer leaves
    /// definitions out.
    ///
    /// # Errors
    ///
    /// As for [`types`](Self::types).
    ///
    /// ```
    /// # use fieldmanager_openapi::crd::CustomResource;
    /// # use fieldmanager_openapi::Importer;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&Value::from_yaml("
    /// # apiVersion: apiextensions.k8s.io/v1
    /// # kind: CustomResourceDefinition
    /// # spec:
    /// #   group: example.com
    /// #   names: {kind: Shop, plural: shops}
    /// #   scope: Cluster
    /// #   versions:
    /// #   - name: v1
    /// #     served: true
    /// #     storage: true
    /// #     schema:
    /// #       openAPIV3Schema: {type: object, properties: {a: {type: object}}, x-kubernetes-unions: [{fields: {b: B}}]}
    /// # ")?)?;
    /// let imported = shop.import(&Importer::new())?;
    /// assert_eq!(
    ///     imported.warnings[0].to_string(),
    ///     "definition `com.example.v1.Shop`: .x-kubernetes-unions[0]: member `b` is no property of the struct",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn import(&self, importer: &Importer) -> Result<Imported, CrdError> {
        let mut all = META.clone();
        for version in &self.versions {
            self.add_definitions(version, &mut all);
        }
        let importer = importer.clone();
        let importer =
            if self.preserve_unknown_fields { importer.preserve_unknown_fields(true) } else { importer };
        Ok(importer.definitions(&all)?)
    }

    /// The definitions that belong to a version.
    fn add_definitions(&self, version: &Version, to: &mut Map) {
        let (kind, list_kind) = (self.kind(&version.name), self.list_kind(&version.name));
        to.insert(definition_name(&kind), published(version.schema.as_ref(), &kind));
        to.insert(definition_name(&list_kind), list(&kind, &list_kind));
    }
}

/// `com.example.v1.Shop` for the `Shop` of `example.com/v1`.
fn definition_name(kind: &GroupVersionKind) -> Str {
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
    let fields = [("group", &kind.group), ("version", &kind.version), ("kind", &kind.kind)];
    let entry: Map = fields.into_iter().map(|(name, text)| (name, text.clone())).collect();
    Value::from(vec![Value::Map(entry)])
}

fn published(schema: Option<&Value>, kind: &GroupVersionKind) -> Value {
    let mut root = schema.and_then(structural).unwrap_or_else(object);
    root.insert("x-kubernetes-group-version-kind", kinds(kind));
    root.into()
}

/// A structural schema as it is published; none if it is not structural.
fn structural(schema: &Value) -> Option<Map> {
    if has_invalid_types(schema) {
        return None;
    }
    let structural = Structural::from_value(schema).ok()?;
    if !structural.validate(&FieldPath::empty()).is_empty() {
        return None;
    }
    let Value::Map(mut root) = complete(&structural.unfold().to_value()) else {
        return None;
    };
    set_identity(&mut root);
    Some(root)
}

/// `apiVersion`, `kind` and `metadata` as Kubernetes has them.
fn set_identity(schema: &mut Map) {
    let mut properties = schema.get("properties").and_then(Value::as_map).cloned().unwrap_or_default();
    properties.insert("apiVersion", text());
    properties.insert("kind", text());
    properties.insert("metadata", reference(OBJECT_META));
    schema.insert("properties", properties);
}

/// A schema with the embedded resources in it filled in. What is not in the place of a value, such as `anyOf`,
/// stays as it is.
fn complete(schema: &Value) -> Value {
    level(|| {
        let Value::Map(schema) = schema else {
            return schema.clone();
        };
        let mut out = schema.clone();
        // The apiserver's encoder leaves an example out that is empty; defaults it writes all.
        if out.get("example").is_some_and(is_empty) {
            out.remove("example");
        }
        for name in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(name) {
                out.insert(name, complete(inner));
            }
        }
        if let Some(Value::Map(properties)) = schema.get("properties") {
            let properties: Map =
                properties.iter().map(|(name, property)| (name.clone(), complete(property))).collect();
            out.insert("properties", properties);
        }
        if schema.get(EMBEDDED) == Some(&Value::Bool(true)) {
            set_identity(&mut out);
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
    fn the_definitions_of_meta_are_there_and_refer_to_each_other() {
        assert_eq!(META.len(), 7);
        assert!(META.contains(OBJECT_META) && META.contains(LIST_META));
        Importer::new().definitions(&*META).unwrap();
    }

    #[test]
    fn definitions_are_named_by_the_group_backwards() {
        let name = |group: &str| definition_name(&GroupVersionKind::new(group, "v1", "Foo"));
        assert_eq!(name("bar.k8s.io"), "io.k8s.bar.v1.Foo");
        assert_eq!(name("single"), "single.v1.Foo");
    }
}
