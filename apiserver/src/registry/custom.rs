//! CustomResourceDefinitions as resources.

use fieldmanager_structural::crd::{CrdError, CustomResource, Scope};
use fieldmanager_value::{Str, Value};

use super::beta::from_beta;
use crate::facts::SelectableField;
use crate::object::{is_terminating, text};

/// A definition whose resources are served.
pub(crate) struct Definition {
    /// The name of the object: `shops.example.com`.
    pub(crate) name: String,
    pub(crate) resource: CustomResource,
    /// Whether the definition was deleted and waits for the end of its objects.
    pub(crate) is_terminating: bool,
    /// The object, for its columns and selectable fields.
    object: Value,
}

impl Definition {
    /// The definition of an object, with the names that were accepted.
    pub(crate) fn of(object: &Value) -> Result<Self, CrdError> {
        let object = &from_beta(object).unwrap_or_else(|| object.clone());
        let resource = CustomResource::from_value(object)?;
        let name = text(object, &["metadata", "name"]).to_owned();
        Ok(Definition { name, resource, is_terminating: is_terminating(object), object: object.clone() })
    }

    /// The version at which objects are stored.
    pub(crate) fn storage_version(&self) -> Str {
        let storage = self.resource.versions.iter().find(|version| version.storage);
        storage.map(|version| version.name.clone()).unwrap_or_default()
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
        let columns =
            self.version(version).and_then(|version| version.get("additionalPrinterColumns")?.as_list());
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
