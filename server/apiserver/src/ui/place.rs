//! The object that a path names, and links to it.

use std::sync::Arc;

use fieldmanager_blame::printable;
use fieldmanager_value::Value;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::endpoint::{Core, Failure};
use crate::log::{ObjectHistory, Recorder};
use crate::registry::{Registry, Served};
use crate::store::{Entry, Key};

/// The characters of a segment of a path or a parameter that are not encoded.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The namespace of a path for objects of cluster scope.
const CLUSTER: &str = "-";

/// A string as a segment of a path, or as a parameter.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// The group and the plural name of a resource such as `deployments.apps`.
pub(super) fn group_and_plural(resource: &str) -> (&str, &str) {
    resource
        .split_once('.')
        .map_or(("", resource), |(plural, group)| (group, plural))
}

/// An object that may exist, or may have existed.
pub(super) struct Place {
    pub(super) key: Key,
    /// `None` if the kind is no longer served.
    pub(super) served: Option<Arc<Served>>,
}

impl Place {
    pub(super) fn of(
        core: &Core,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Self, Failure> {
        let (group, plural) = group_and_plural(resource);
        let namespace = (namespace != CLUSTER).then_some(namespace);
        Ok(Place::of_key(
            &core.registry(),
            Key::new(group, plural, namespace, name)?,
        ))
    }

    pub(super) fn of_key(registry: &Registry, key: Key) -> Self {
        let parts = key.parts();
        let served = registry.stored_as(parts.group, parts.plural).cloned();
        Place { key, served }
    }

    /// The kind, or the resource if the kind is no longer served.
    pub(super) fn kind(&self) -> String {
        let kind = self
            .served
            .as_ref()
            .map(|served| served.facts.kind.to_string());
        printable(&kind.unwrap_or_else(|| resource(&self.key)))
    }

    /// The namespace and the name.
    pub(super) fn name(&self) -> String {
        let parts = self.key.parts();
        printable(&match parts.namespace {
            Some(namespace) => format!("{namespace}/{}", parts.name),
            None => parts.name.to_owned(),
        })
    }

    /// The path of a view of the object, such as `history`.
    pub(super) fn link(&self, view: &str) -> String {
        let parts = self.key.parts();
        let namespace = parts.namespace.map_or_else(|| CLUSTER.to_owned(), encoded);
        format!(
            "/ui/{view}/{}/{namespace}/{}",
            encoded(&resource(&self.key)),
            encoded(parts.name)
        )
    }

    pub(super) async fn entry(&self, core: &Core) -> Result<Option<Entry>, Failure> {
        Ok(core.store.get(&self.key, None).await?.entry)
    }

    /// The history; empty if nothing happened to the object.
    pub(super) fn history(&self, core: &Core) -> ObjectHistory {
        let history = core.log.as_deref().and_then(Recorder::history);
        history
            .and_then(|history| history.of(&self.key))
            .unwrap_or_default()
    }

    /// 404: neither the object nor a history of it exists.
    pub(super) fn not_found(&self) -> Failure {
        let message = format!(
            "{} {} does not exist, and the server has no history of it",
            self.kind(),
            self.name()
        );
        Failure::new(404, "NotFound", message)
    }

    /// An object of the store as requests read it.
    pub(super) fn present(&self, object: &Value, revision: crate::store::Revision) -> Value {
        match &self.served {
            Some(served) => served.present(object, revision),
            None => object.clone(),
        }
    }
}

/// The resource of a key, such as `deployments.apps`.
pub(super) fn resource(key: &Key) -> String {
    let parts = key.parts();
    match parts.group {
        "" => parts.plural.to_owned(),
        group => format!("{}.{group}", parts.plural),
    }
}
