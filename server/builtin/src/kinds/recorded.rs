//! The recorded facts: what a program reads from Go sources, and what a kube-apiserver says in discovery documents.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use ahash::RandomState;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Str;
use fieldmanager_value::internal::embedded;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::description::KindDescription;
use super::resource::{Column, ResourceFacts};
use crate::types::TypeId;

/// A kind of the table.
#[derive(Debug)]
pub(super) struct RecordedKind {
    pub(super) gvk: GroupVersionKind,
    pub(super) ty: TypeId,
    /// The resource whose objects are of the kind.
    pub(super) resource: Option<ResourceFacts>,
    pub(super) description: &'static KindDescription,
}

/// The kinds, and other types by name.
#[derive(Debug)]
pub(super) struct RecordedTable {
    /// Sorted by group, version and kind.
    pub(super) kinds: Vec<RecordedKind>,
    /// Their positions. A request asks for its kind fifteen times, so it is not searched.
    pub(super) positions: HashMap<GroupVersionKind, usize, RandomState>,
    /// The kinds of the resources that are served, in the order of discovery documents.
    pub(super) served: Vec<GroupVersionKind>,
    pub(super) parts: BTreeMap<String, TypeId>,
}

pub(super) fn table() -> &'static RecordedTable {
    static TABLE: LazyLock<RecordedTable> = LazyLock::new(|| {
        let discovered = include_bytes!("../data/resources.json.gz");
        embedded(
            "kinds",
            load(include_str!("../data/kinds.json"), discovered),
        )
    });
    &TABLE
}

/// The columns of tables by `GROUP/VERSION/KIND`. Most of what is recorded is their descriptions, so they are read when a
/// table is first asked for.
pub(super) fn columns() -> &'static HashMap<String, Vec<Column>> {
    static COLUMNS: LazyLock<HashMap<String, Vec<Column>>> = LazyLock::new(|| {
        let recorded = include_bytes!("../data/columns.json.gz");
        embedded("columns", decompressed(recorded))
    });
    &COLUMNS
}

/// What Go sources say.
#[derive(Deserialize)]
struct Sources {
    kinds: Vec<SourceKind>,
    resources: Vec<ResourceFacts>,
    parts: BTreeMap<String, TypeId>,
}

#[derive(Deserialize)]
struct SourceKind {
    #[serde(default)]
    group: Str,
    version: Str,
    kind: Str,
    #[serde(rename = "type")]
    ty: TypeId,
}

fn decompressed<T: DeserializeOwned>(recorded: &[u8]) -> Result<T, serde_json::Error> {
    // A text is read in half of the time that a reader takes, which gets a byte at a time.
    let text = std::io::read_to_string(GzDecoder::new(recorded)).map_err(serde_json::Error::io)?;
    serde_json::from_str(&text)
}

fn load(sources: &str, discovered: &[u8]) -> Result<RecordedTable, serde_json::Error> {
    use serde::de::Error;

    let sources: Sources = serde_json::from_str(sources)?;
    let discovered: Vec<ResourceFacts> = decompressed(discovered)?;

    // Discovery documents say what is served, sources what they do not say: storage, strategies and reset fields.
    let served = discovered.iter().map(ResourceFacts::group_version_kind);
    let served: Vec<_> = served.collect();
    let mut known: HashMap<_, _> = served.iter().cloned().zip(discovered).collect();

    let mut resources = HashMap::new();
    for source in sources.resources {
        let kind = source.group_version_kind();
        let facts = match known.remove(&kind) {
            Some(discovered) => discovered.with_sources(source),
            // It is not served by default.
            None => source,
        };
        resources.insert(kind, facts);
    }

    // Each served kind must have sources, since its strategy would be unknown.
    if let Some(kind) = known.keys().next() {
        return Err(Error::custom(format!(
            "{kind} is in discovery documents alone"
        )));
    }

    let kinds = sources.kinds.into_iter().map(|source| {
        let gvk = GroupVersionKind::new(source.group, source.version, source.kind);
        let description = KindDescription::all().find(|found| found.describes(&gvk));
        let missing = || Error::custom(format!("{gvk} has no description"));
        Ok(RecordedKind {
            description: description.ok_or_else(missing)?,
            resource: resources.remove(&gvk),
            ty: source.ty,
            gvk,
        })
    });
    let kinds = kinds.collect::<Result<Vec<_>, serde_json::Error>>()?;

    let names = kinds.iter().map(|kind| kind.gvk.clone());
    let positions = names.zip(0..).collect();
    let parts = sources.parts;
    Ok(RecordedTable {
        kinds,
        positions,
        served,
        parts,
    })
}
