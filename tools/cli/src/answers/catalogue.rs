//! The kinds that a cluster serves: those of Kubernetes, and those that definitions among the sources add.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use fieldmanager_handlers::Resource;
use fieldmanager_openapi::{GroupVersionKind, Importer, KindError, Types, builtin};
use fieldmanager_schema::internal::Atom;
use fieldmanager_schema::{Schema, Type};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use super::cluster::LiveCluster;
use crate::types::resource;

/// The kind of definitions.
pub(crate) const DEFINITION: &str = "CustomResourceDefinition";

/// A kind that is served.
pub(crate) struct ServedKind {
    /// What answers requests.
    pub(crate) resource: Resource,
    pub(crate) ty: Option<Type>,
}

/// Kinds, found once each: in Kubernetes, in definitions of sources, and in those of a cluster.
#[derive(Default)]
pub(crate) struct Catalogue {
    /// The definitions by group and kind.
    definitions: HashMap<(String, String), Value>,
    types: HashMap<GroupVersionKind, Types>,
    kinds: HashMap<GroupVersionKind, Result<Arc<ServedKind>, String>>,
    cluster: Option<Rc<LiveCluster>>,
}

impl Catalogue {
    /// The kinds of Kubernetes, and those of a cluster.
    pub(crate) fn of_cluster(cluster: Option<Rc<LiveCluster>>) -> Self {
        Catalogue {
            cluster,
            ..Catalogue::default()
        }
    }

    /// Adds a definition. Other objects are left out.
    pub(crate) fn add(&mut self, object: &Value) {
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(spec) = object
            .get("spec")
            .filter(|_| object.declared_kind().kind == DEFINITION)
        else {
            return;
        };
        let kind = spec.get("names").and_then(|names| names.get("kind"));
        let names = (text(spec.get("group")), text(kind));
        self.definitions.insert(names, object.clone());
    }

    /// The definition of a kind.
    pub(crate) fn definition(&self, kind: &GroupVersionKind) -> Option<&Value> {
        self.definitions
            .get(&(kind.group.to_string(), kind.kind.to_string()))
    }

    /// What answers requests to the kind of an object, and its type.
    ///
    /// # Errors
    ///
    /// What is wrong with the definition, or that there is none.
    pub(crate) fn kind(&mut self, object: &Value) -> Result<Arc<ServedKind>, String> {
        let kind = object.declared_kind();
        if let Some(known) = self.kinds.get(&kind) {
            return known.clone();
        }
        let found = self.find(&kind);
        let found = match found {
            Ok(Some(resource)) => Ok(Arc::new(ServedKind {
                resource,
                ty: self.type_of(object),
            })),
            Ok(None) => Err(self.unknown(&kind)),
            Err(error) => Err(error),
        };
        self.kinds.insert(kind, found.clone());

        found
    }

    /// The resource of a kind, whose definition may be in the cluster.
    fn find(&mut self, kind: &GroupVersionKind) -> Result<Option<Resource>, String> {
        let definition = self.definition(kind).map(std::slice::from_ref);
        let known = resource(definition, kind, true)?;
        let Some(cluster) = self.cluster.as_ref().filter(|_| known.is_none()) else {
            return Ok(known);
        };
        let live = cluster.definition(kind);
        let live = live.map_err(|failure| failure.messages().join("; "))?;
        let Some(live) = live else {
            return Ok(None);
        };
        self.add(&live);
        let definition = self.definition(kind).map(std::slice::from_ref);
        resource(definition, kind, true)
    }

    /// What a client says about a kind that no cluster has, with the kinds that have a similar name.
    pub(crate) fn unknown(&self, kind: &GroupVersionKind) -> String {
        let message = format!(
            "no matches for kind {:?} in version {:?}",
            kind.kind,
            kind.api_version()
        );
        match builtin::types().for_kind(kind) {
            Err(KindError::Unknown { nearest, .. }) if !nearest.is_empty() => {
                let near: Vec<String> = nearest
                    .iter()
                    .map(|near| format!("{} {}", near.api_version(), near.kind))
                    .collect();
                format!("{message} (nearest: {})", near.join(", "))
            }
            _ => format!("{message}: a CustomResourceDefinition among the sources adds it"),
        }
    }

    /// The type of an object.
    fn type_of(&mut self, object: &Value) -> Option<Type> {
        let kind = object.declared_kind();
        if !self.types.contains_key(&kind) {
            let custom = self.definition(&kind).map(std::slice::from_ref);
            let custom = custom.and_then(|found| Types::load_all(found, &Importer::new()).ok());
            let types = custom.map_or_else(builtin::types, |imported| imported.types);
            self.types.insert(kind.clone(), types);
        }
        self.types.get(&kind)?.for_object(object).ok()
    }

    /// The names of fields that are similar to the last one of a path of an object, such as `spec.containers[0].imgae`.
    pub(crate) fn nearest(&mut self, object: &Value, path: &str) -> Vec<String> {
        let ty = self.type_of(object);
        let (around, name) = path.rsplit_once('.').unwrap_or(("", path));
        let near = ty.as_ref().and_then(|ty| {
            let atom = atom_at(ty.schema(), ty.atom(), around)?;
            Some(atom.map.as_ref()?.nearest_fields(name))
        });
        near.unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect()
    }
}

/// The type of the part of an object at a path.
fn atom_at<'s>(schema: &'s Schema, atom: &'s Atom, path: &str) -> Option<&'s Atom> {
    let mut parts = path.split(['.', '[']).filter(|part| !part.is_empty());
    parts.try_fold(atom, |atom, part| {
        let id = if part.ends_with(']') {
            atom.list.as_ref()?.element
        } else {
            atom.map.as_ref()?.type_of(part)?
        };
        Some(schema.atom(id))
    })
}
