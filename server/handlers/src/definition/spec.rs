//! The spec of a definition, with the parts that the internal version has at the top.

use fieldmanager_value::{Map, Value};

use super::members::{flag, maps, member, open_api, text};

/// The members of a version that move to the top if they are equal in all versions.
pub(super) const SHARED: [&str; 4] = [
    "additionalPrinterColumns",
    "schema",
    "selectableFields",
    "subresources",
];

/// The spec of a definition.
pub(super) struct Spec<'v> {
    pub(super) fields: Option<&'v Map>,
    pub(super) versions: Vec<&'v Map>,
    /// The members that are equal in all versions.
    pub(super) shared: Vec<&'static str>,
}

impl<'v> Spec<'v> {
    pub(super) fn of(object: &'v Value) -> Self {
        let fields = object.get("spec").and_then(Value::as_map);
        let versions: Vec<&Map> = maps(fields.and_then(|fields| fields.get("versions"))).collect();
        let shared = match versions.split_first() {
            None => Vec::new(),
            Some((first, others)) => {
                let is_shared = |name: &&str| {
                    others
                        .iter()
                        .all(|version| member(version, name) == member(first, name))
                };
                SHARED.into_iter().filter(is_shared).collect()
            }
        };

        Spec {
            fields,
            versions,
            shared,
        }
    }

    /// The string of a member.
    pub(super) fn text(&self, name: &str) -> &'v str {
        self.fields.map_or("", |fields| text(fields, name))
    }

    /// A member that is a map.
    pub(super) fn map(&self, name: &str) -> Option<&'v Map> {
        self.fields
            .and_then(|fields| fields.get(name))
            .and_then(Value::as_map)
    }

    /// One of the names.
    pub(super) fn name(&self, name: &str) -> &'v str {
        self.map("names").map_or("", |names| text(names, name))
    }

    pub(super) fn preserves_unknown_fields(&self) -> bool {
        self.fields
            .is_some_and(|fields| flag(fields, "preserveUnknownFields"))
    }

    /// A member that all versions share.
    pub(super) fn top(&self, name: &str) -> Option<&'v Value> {
        let is_shared = self.shared.contains(&name);
        self.versions
            .first()
            .filter(|_| is_shared)
            .and_then(|version| member(version, name))
    }

    /// A member of a version that not all versions share.
    pub(super) fn own(&self, version: &'v Map, name: &str) -> Option<&'v Value> {
        let is_shared = self.shared.contains(&name);
        member(version, name).filter(|_| !is_shared)
    }

    /// The schemas of all versions.
    pub(super) fn schemas(&self) -> impl Iterator<Item = &'v Value> {
        let shared = self.top("schema").and_then(open_api);
        let own = self
            .versions
            .iter()
            .filter_map(|version| self.own(version, "schema").and_then(open_api));
        shared.into_iter().chain(own)
    }
}
