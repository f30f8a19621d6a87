//! CustomResourceDefinitions as resources.

use std::sync::Arc;

use fieldmanager_structural::crd::{CrdError, CustomResource, Scope};
use fieldmanager_value::{Str, Value};
use tokio::sync::watch;

use super::beta::from_beta;
use crate::facts::SelectableField;
use crate::object::{is_terminating, text};
use crate::store::Conversion;

/// A definition whose resources are served.
pub(crate) struct Definition {
    /// The name of the object: `shops.example.com`.
    pub(crate) name: String,
    pub(crate) resource: CustomResource,
    /// Whether the definition was deleted and waits for the end of its objects.
    pub(crate) is_terminating: bool,
    /// The object, for its columns and selectable fields.
    object: Value,
    /// What converts the objects between versions, if it is not the change of `apiVersion` alone.
    pub(crate) conversion: Option<Arc<dyn Conversion>>,
    /// Whether another definition took its place, so that watches of its objects end.
    replaced: watch::Sender<bool>,
}

impl Definition {
    /// The definition of an object, with the names that were accepted.
    pub(crate) fn of(object: &Value) -> Result<Self, CrdError> {
        let object = &from_beta(object).unwrap_or_else(|| object.clone());
        let resource = CustomResource::from_value(object)?;
        let name = text(object, &["metadata", "name"]).to_owned();
        Ok(Definition {
            name,
            resource,
            is_terminating: is_terminating(object),
            object: object.clone(),
            conversion: None,
            replaced: watch::Sender::new(false),
        })
    }

    /// Keeps the watches of an earlier definition of the name, if both serve the same.
    ///
    /// Behaviour: `updateCustomResourceDefinition` of `k8s.io/apiextensions-apiserver/pkg/apiserver`.
    pub(crate) fn inherit_watches(&mut self, earlier: &Definition) {
        let served = |object: &Value| {
            let status = object.get("status");
            let names = status.and_then(|status| status.get("acceptedNames"));
            (object.get("spec").cloned(), names.cloned())
        };
        if served(&self.object) == served(&earlier.object) {
            self.replaced = earlier.replaced.clone();
        }
    }

    /// Ends the watches of its objects, but for those that another definition keeps.
    pub(crate) fn end_watches(&self, successor: Option<&Definition>) {
        if !successor.is_some_and(|other| other.replaced.same_channel(&self.replaced)) {
            self.replaced.send_replace(true);
        }
    }

    /// Becomes true when watches of its objects end.
    pub(crate) fn replaced(&self) -> watch::Receiver<bool> {
        self.replaced.subscribe()
    }

    /// The version at which objects are stored.
    pub(crate) fn storage_version(&self) -> Str {
        let storage = self
            .resource
            .versions
            .iter()
            .find(|version| version.storage);
        storage
            .map(|version| version.name.clone())
            .unwrap_or_default()
    }

    /// The object.
    pub(crate) fn object(&self) -> &Value {
        &self.object
    }

    /// The entry of a version in the object.
    fn version(&self, name: &str) -> Option<&Value> {
        let versions = self.object.get("spec")?.get("versions")?.as_list()?;
        versions
            .iter()
            .find(|version| text(version, &["name"]) == name)
    }

    /// The `additionalPrinterColumns` of a version.
    pub(crate) fn columns(&self, version: &str) -> impl Iterator<Item = &Value> {
        let columns = self
            .version(version)
            .and_then(|version| version.get("additionalPrinterColumns")?.as_list());
        columns.into_iter().flatten()
    }

    /// The fields of a version that field selectors can name.
    pub(crate) fn selectable_fields(&self, version: &str) -> Vec<SelectableField> {
        let namespaced = (self.resource.scope == Scope::Namespaced).then_some("metadata.namespace");
        let metadata = ["metadata.name"].into_iter().chain(namespaced);
        metadata
            .chain(self.selectable_paths(version))
            .map(SelectableField::new)
            .collect()
    }

    /// The paths of `selectableFields` of a version, without the leading dot.
    pub(crate) fn selectable_paths(&self, version: &str) -> impl Iterator<Item = &str> {
        let fields = self
            .version(version)
            .and_then(|version| version.get("selectableFields")?.as_list());
        fields
            .into_iter()
            .flatten()
            .map(|field| text(field, &["jsonPath"]).trim_start_matches('.'))
    }
}
