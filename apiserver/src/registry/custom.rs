//! CustomResourceDefinitions as resources.

use std::sync::Arc;

use fieldmanager_structural::crd::{CrdError, CustomResource, Scope, Version};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Str, Value};

use super::Served;
use crate::facts::{SelectableField, ServedResource, ServedSubresource};

/// The verbs of custom resources.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// A definition whose resources are served.
pub(crate) struct Definition {
    /// The name of the object: `shops.example.com`.
    pub(crate) name: String,
    pub(crate) resource: CustomResource,
    /// The object, for its columns and selectable fields.
    object: Value,
}

impl Definition {
    /// The definition of an object, with the names that were accepted.
    pub(crate) fn of(object: &Value) -> Result<Self, CrdError> {
        let resource = CustomResource::from_value(object)?;
        let name = text(object, &["metadata", "name"]).to_owned();
        Ok(Definition { name, resource, object: object.clone() })
    }

    /// The resources at the versions that are served.
    pub(super) fn served(self: &Arc<Self>) -> Vec<Served> {
        let versions = self.resource.versions.iter().filter(|version| version.served);
        versions.map(|version| Served::custom(self.facts(version), self.clone())).collect()
    }

    /// The version at which objects are stored.
    pub(crate) fn storage_version(&self) -> Str {
        let storage = self.resource.versions.iter().find(|version| version.storage);
        storage.map(|version| version.name.clone()).unwrap_or_default()
    }

    fn facts(&self, version: &Version) -> ServedResource {
        let names = &self.resource.names;
        let own = GroupVersionKind::new(self.resource.group.clone(), version.name.clone(), names.kind.clone());
        let subresource = |name: &str, kind: GroupVersionKind| ServedSubresource {
            name: name.into(),
            kind,
            verbs: ["get", "patch", "update"].map(Str::from).to_vec(),
        };
        let mut subresources = Vec::new();
        if version.scale.is_some() {
            subresources.push(subresource("scale", GroupVersionKind::new("autoscaling", "v1", "Scale")));
        }
        if version.status {
            subresources.push(subresource("status", own));
        }
        ServedResource {
            group: self.resource.group.clone(),
            version: version.name.clone(),
            kind: names.kind.clone(),
            list_kind: names.list_kind.clone(),
            plural: names.plural.clone(),
            singular: names.singular.clone(),
            short_names: names.short_names.clone(),
            categories: names.categories.clone(),
            namespaced: self.resource.scope == Scope::Namespaced,
            verbs: VERBS.map(Str::from).to_vec(),
            subresources,
            storage_version_hash: Str::default(),
            custom: true,
        }
    }

    /// The object.
    pub(crate) fn object(&self) -> &Value {
        &self.object
    }

    /// The entry of a version in the object.
    fn version(&self, name: &str) -> Option<&Value> {
        let versions = self.object.get("spec")?.get("versions")?.as_list()?;
        versions.iter().find(|version| text(version, &["name"]) == name)
    }

    /// The `additionalPrinterColumns` of a version.
    pub(crate) fn columns(&self, version: &str) -> impl Iterator<Item = &Value> {
        let columns = self.version(version).and_then(|version| version.get("additionalPrinterColumns")?.as_list());
        columns.into_iter().flatten()
    }

    /// The fields of a version that field selectors can name.
    pub(crate) fn selectable_fields(&self, version: &str) -> Vec<SelectableField> {
        let namespaced = (self.resource.scope == Scope::Namespaced).then_some("metadata.namespace");
        let own = self.version(version).and_then(|version| version.get("selectableFields")?.as_list());
        let own = own.into_iter().flatten().map(|field| text(field, &["jsonPath"]).trim_start_matches('.'));
        ["metadata.name"].into_iter().chain(namespaced).chain(own).map(SelectableField::new).collect()
    }
}

/// A string below an object; empty if there is none.
pub(crate) fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    path.iter().try_fold(object, |value, name| value.get(name)).and_then(Value::as_str).unwrap_or_default()
}
