//! The families of kinds.

use std::sync::LazyLock;

use super::description::KindDescription;
use super::{access, core, network, scheduling, server, storage, workloads};
use crate::functions::FUNCTIONS;
use crate::table::Table as Rules;

/// The descriptions and the rules of each family of kinds.
const FAMILIES: [(&[KindDescription], &str); 7] = [
    (core::KINDS, include_str!("core.yaml")),
    (workloads::KINDS, include_str!("workloads.yaml")),
    (network::KINDS, include_str!("network.yaml")),
    (storage::KINDS, include_str!("storage.yaml")),
    (access::KINDS, include_str!("access.yaml")),
    (scheduling::KINDS, include_str!("scheduling.yaml")),
    (server::KINDS, include_str!("server.yaml")),
];

impl KindDescription {
    /// All descriptions, by family.
    ///
    /// ```
    /// use fieldmanager_builtin::KindDescription;
    /// assert!(KindDescription::all().any(|description| description.kind == "StorageClass"));
    /// ```
    pub fn all() -> impl Iterator<Item = &'static KindDescription> {
        FAMILIES.into_iter().flat_map(|(kinds, _)| kinds)
    }
}

/// The rules of defaults and strategies.
pub(crate) fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| {
        let texts = FAMILIES.map(|(_, rules)| rules);
        Rules::new(&texts, include_str!("shared.yaml"), FUNCTIONS)
    });
    &RULES
}
