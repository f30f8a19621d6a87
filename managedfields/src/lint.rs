//! Checks for problems in the managed fields of an object.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fieldmanager_fieldpath::{ApiVersion, Set};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_structural::{FieldError, FieldPath, validate_managed_fields};
use fieldmanager_value::{Map, Str, Value};

use crate::cap::ANCIENT_CHANGES;
use crate::entry::{Entry, EntryError};
use crate::identity::{Identity, Operation, display_name};
use crate::managed_fields::{Decoded, decode_lossy};

use crate::update::BEFORE_FIRST_APPLY;

/// Options of [`lint`].
///
/// ```
/// use fieldmanager_managedfields::internal::LintOptions;
/// let options = LintOptions::default().served(["apps/v1"]).large_percent(30);
/// assert_eq!(options.large_percent, 30);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintOptions {
    /// The served versions of the kind, if known.
    pub served: Option<Vec<ApiVersion>>,
    /// The percentage of an object from which its managed fields are large.
    pub large_percent: u8,
}

impl Default for LintOptions {
    fn default() -> Self {
        LintOptions {
            served: None,
            large_percent: 50,
        }
    }
}

impl LintOptions {
    /// Sets the served versions.
    #[must_use]
    pub fn served<V: Into<ApiVersion>>(mut self, versions: impl IntoIterator<Item = V>) -> Self {
        self.served = Some(versions.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the percentage of an object from which its managed fields are large.
    #[must_use]
    pub fn large_percent(mut self, percent: u8) -> Self {
        self.large_percent = percent;
        self
    }
}

/// A finding of [`lint`]. Its message says what it means and how to fix it.
///
/// ```
/// use fieldmanager_managedfields::internal::Finding;
/// let finding = Finding::Large { managed_bytes: 600, object_bytes: 1000 };
/// assert_eq!(finding.to_string(), "managedFields are 600 of 1000 bytes (60%)");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Finding {
    /// An entry cannot be read.
    Unreadable(EntryError),
    /// An API server refuses a request that sends the entry.
    Refused(FieldError),
    /// Several entries have one identity.
    Duplicate {
        /// The identity.
        identity: Identity,
    },
    /// An updater owns only fields that appliers own too. It keeps them from being removed.
    OwnsNothingAlone {
        /// The identity of the entry.
        identity: Identity,
        /// The appliers.
        appliers: Vec<Identity>,
    },
    /// An updater has entries at several versions.
    SeveralVersions {
        /// Its name.
        manager: Str,
        /// The subresource; empty for the object itself.
        subresource: Str,
        /// The versions, sorted.
        versions: Vec<ApiVersion>,
    },
    /// An entry is at a version that is not served. The next write drops it.
    NotServed {
        /// The identity of the entry.
        identity: Identity,
        /// Its version.
        version: ApiVersion,
        /// The versions that are served.
        served: Vec<ApiVersion>,
    },
    /// Fields that the object had before its first apply have no other owner.
    BeforeFirstApply {
        /// The number of fields that no other manager owns.
        alone: usize,
        /// The number of fields that it owns.
        all: usize,
    },
    /// The entries of the oldest updaters were united.
    AncientChanges {
        /// The version of the entry.
        version: ApiVersion,
        /// The number of fields that no other manager owns.
        alone: usize,
        /// The number of fields that it owns.
        all: usize,
    },
    /// The managed fields are a large part of the object.
    Large {
        /// The size of the list as JSON.
        managed_bytes: usize,
        /// The size of the object as JSON.
        object_bytes: usize,
    },
}

/// The severity of a [`Finding`], in ascending order.
///
/// ```
/// use fieldmanager_managedfields::internal::{Finding, Severity};
/// let large = Finding::Large { managed_bytes: 900, object_bytes: 1000 };
/// assert_eq!(large.severity(), Severity::Note);
/// assert!(Severity::Note < Severity::Warning && Severity::Warning < Severity::Error);
/// assert_eq!(Severity::Warning.to_string(), "warning");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It may be intended.
    Note,
    /// The effect on later requests is probably unexpected.
    Warning,
    /// Requests fail.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Finding {
    /// The severity of the finding.
    pub fn severity(&self) -> Severity {
        match self {
            Finding::Unreadable(_) => Severity::Error,
            Finding::AncientChanges { .. }
            | Finding::SeveralVersions { .. }
            | Finding::Large { .. } => Severity::Note,
            Finding::Refused(_)
            | Finding::Duplicate { .. }
            | Finding::OwnsNothingAlone { .. }
            | Finding::NotServed { .. }
            | Finding::BeforeFirstApply { .. } => Severity::Warning,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each message says what follows from the finding, or what to do.
        match self {
            Finding::Unreadable(error) => {
                write!(f, "{error}: every apply fails until the entry is removed")
            }
            Finding::Refused(error) => {
                write!(f, "{error}: an API server refuses requests with this entry")
            }
            Finding::Duplicate { identity } => {
                write!(
                    f,
                    "{} has several entries, of which an API server reads the last",
                    display_name(identity)
                )
            }
            Finding::OwnsNothingAlone { identity, appliers } => {
                let appliers: Vec<String> = appliers.iter().map(display_name).collect();
                write!(
                    f,
                    "{} owns only fields that {} applies too, and keeps them from being removed: drop its entry",
                    display_name(identity),
                    appliers.join(" or ")
                )
            }

            // An updater has an entry for each version, while an applier has one for all.
            Finding::SeveralVersions {
                manager,
                subresource,
                versions,
            } => {
                write!(f, "{manager:?}")?;
                if !subresource.is_empty() {
                    write!(f, " with subresource {subresource:?}")?;
                }
                write!(
                    f,
                    " has updated at {}: its entries could be united at one version",
                    list(versions)
                )
            }
            Finding::NotServed {
                identity,
                version,
                served,
            } => write!(
                f,
                "{} has an entry at {version}, which is not served ({} is): the next write drops it",
                display_name(identity),
                list(served)
            ),
            Finding::BeforeFirstApply { alone, all } => write!(
                f,
                "{BEFORE_FIRST_APPLY:?} owns {all} fields, {alone} of them alone: \
                 no apply removes them until an applier owns them"
            ),
            Finding::AncientChanges {
                version,
                alone,
                all,
            } => write!(
                f,
                "{ANCIENT_CHANGES:?} owns {all} fields of updaters at {version}, {alone} of them alone: \
                 the updaters that changed them are no longer known"
            ),
            Finding::Large {
                managed_bytes,
                object_bytes,
            } => write!(
                f,
                "managedFields are {managed_bytes} of {object_bytes} bytes ({}%)",
                percent(*managed_bytes, *object_bytes)
            ),
        }
    }
}

fn list(versions: &[ApiVersion]) -> String {
    let texts: Vec<&str> = versions.iter().map(ApiVersion::as_str).collect();
    texts.join(", ")
}

fn percent(part: usize, whole: usize) -> usize {
    part.saturating_mul(100)
        .checked_div(whole)
        .unwrap_or_default()
}

/// The size of the entries of one manager.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManagerSize {
    /// The name of the manager; empty if its entries have no name.
    pub manager: Str,
    /// The number of its entries.
    pub entries: usize,
    /// The size of its entries as JSON.
    pub bytes: usize,
}

/// The result of [`lint`].
///
/// ```
/// use fieldmanager_managedfields::internal::{LintOptions, lint};
/// let report = lint(&fieldmanager_value::Value::Null, &LintOptions::default());
/// assert!(report.findings.is_empty() && report.sizes.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LintReport {
    /// The findings, in the order of the variants of [`Finding`].
    pub findings: Vec<Finding>,
    /// The size of each manager, the largest first.
    pub sizes: Vec<ManagerSize>,
    /// The size of the whole list as JSON.
    pub managed_bytes: usize,
    /// The size of the object as JSON, with the list.
    pub object_bytes: usize,
}

/// Checks the managed fields of an object for problems. [`rename`](crate::ManagedFields::rename),
/// [`transfer`](crate::ManagedFields::transfer) and [`without`](crate::ManagedFields::without) fix them.
///
/// Behaviour: Kubernetes has no such check.
///
/// ```
/// use fieldmanager_managedfields::internal::{Finding, LintOptions, lint};
/// use fieldmanager_value::Value;
/// let object = Value::from_json(r#"{"data": {"a": "1"}, "metadata": {"managedFields": [
///     {"manager": "ci", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
///      "fieldsV1": {"f:data": {"f:a": {}}}},
///     {"manager": "controller", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
///      "fieldsV1": {"f:data": {"f:a": {}}}}
/// ]}}"#)?;
/// let report = lint(&object, &LintOptions::default().large_percent(100));
/// assert_eq!(
///     report.findings[0].to_string(),
///     r#""controller" using v1 owns only fields that "ci" applies too, and keeps them from being removed: drop its entry"#,
/// );
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[must_use]
pub fn lint(object: &Value, options: &LintOptions) -> LintReport {
    let Some(list) = object.managed_fields().filter(|list| !list.is_null()) else {
        return LintReport {
            object_bytes: object.to_json().len(),
            ..LintReport::default()
        };
    };

    // Entries that can be read are examined even if others cannot.
    let Decoded { managed, faults } = decode_lossy(Some(list));
    let entries = managed.entries();
    let refused = refused(list, &faults);

    // The findings are in the order of the variants.
    let mut findings: Vec<Finding> = faults.into_iter().map(Finding::Unreadable).collect();
    findings.extend(refused);
    findings.extend(duplicates(list));
    findings.extend(
        entries
            .iter()
            .filter_map(|entry| nothing_alone(entry, &entries)),
    );
    findings.extend(several_versions(&entries));

    findings.extend(
        entries
            .iter()
            .filter_map(|entry| not_served(entry, options.served.as_deref()?)),
    );
    findings.extend(
        entries
            .iter()
            .filter_map(|entry| collected(entry, &entries)),
    );
    let (managed_bytes, object_bytes) = (list.to_json().len(), object.to_json().len());

    if percent(managed_bytes, object_bytes) >= usize::from(options.large_percent) {
        findings.push(Finding::Large {
            managed_bytes,
            object_bytes,
        });
    }

    LintReport {
        findings,
        sizes: sizes(list),
        managed_bytes,
        object_bytes,
    }
}

/// The faults that an API server finds in the entries that can be read.
fn refused(list: &Value, unreadable: &[EntryError]) -> Vec<Finding> {
    let path = FieldPath::root("metadata").child("managedFields");
    // An entry that cannot be read is reported already, so a valid one takes its place.
    let valid = Value::Map(Map::single("operation", "Apply"));
    let replaced = unreadable
        .iter()
        .map(|error| (error.index, valid.clone()))
        .collect();
    let list = list
        .as_list()
        .map(|list| Value::List(list.with_edits(replaced, Vec::new())));

    validate_managed_fields(list.as_ref(), &path)
        .into_iter()
        .map(Finding::Refused)
        .collect()
}

/// Identities of more than one entry.
fn duplicates(list: &Value) -> Vec<Finding> {
    // Decoded managed fields unite duplicates, so the list is read again.
    let mut identities: BTreeMap<Str, (usize, Identity)> = BTreeMap::new();
    for (index, value) in list.as_list().into_iter().flatten().enumerate() {
        if let Ok(entry) = Entry::from_value(index, value) {
            let identity = entry.identity();
            identities
                .entry(identity.identifier())
                .or_insert((0, identity))
                .0 += 1;
        }
    }

    let several = identities.into_values().filter(|(count, _)| *count > 1);
    several
        .map(|(_, identity)| Finding::Duplicate { identity })
        .collect()
}

/// An updater whose leaf fields all have appliers as owners. The maps and lists above them do not count.
fn nothing_alone(entry: &Entry, entries: &[Entry]) -> Option<Finding> {
    if entry.operation != Operation::Update || entry.fields.is_empty() {
        return None;
    }
    let own = entry.fields.leaves();
    // Paths at different versions cannot be compared.
    let appliers: Vec<&Entry> = entries
        .iter()
        .filter(|other| {
            other.operation == Operation::Apply && other.api_version == entry.api_version
        })
        .filter(|other| !own.intersection(&other.fields).is_empty())
        .collect();
    let applied = appliers
        .iter()
        .fold(Set::new(), |all, other| all.union(&other.fields));

    own.is_subset(&applied).then(|| Finding::OwnsNothingAlone {
        identity: entry.identity(),
        appliers: appliers.iter().map(|entry| entry.identity()).collect(),
    })
}

fn several_versions(entries: &[Entry]) -> Vec<Finding> {
    let mut versions: BTreeMap<(&Str, &Str), BTreeSet<&ApiVersion>> = BTreeMap::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.operation == Operation::Update)
    {
        versions
            .entry((&entry.manager, &entry.subresource))
            .or_default()
            .insert(&entry.api_version);
    }

    let several = versions
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1);
    several
        .map(
            |((manager, subresource), versions)| Finding::SeveralVersions {
                manager: manager.clone(),
                subresource: subresource.clone(),
                versions: versions.into_iter().cloned().collect(),
            },
        )
        .collect()
}

fn not_served(entry: &Entry, served: &[ApiVersion]) -> Option<Finding> {
    (!served.contains(&entry.api_version)).then(|| Finding::NotServed {
        identity: entry.identity(),
        version: entry.api_version.clone(),
        served: served.to_vec(),
    })
}

/// Entries that collect the fields of unknown managers.
fn collected(entry: &Entry, entries: &[Entry]) -> Option<Finding> {
    let name = entry.manager.as_str();
    if entry.operation != Operation::Update
        || (name != BEFORE_FIRST_APPLY && name != ANCIENT_CHANGES)
    {
        return None;
    }

    let own = entry.fields.leaves();
    // Fields at another version may be the same under another path, which is not known here.
    let others = entries
        .iter()
        .filter(|other| *other != entry && other.api_version == entry.api_version);
    let alone = others
        .fold(own.clone(), |left, other| left.difference(&other.fields))
        .len();

    Some(match name {
        BEFORE_FIRST_APPLY => Finding::BeforeFirstApply {
            alone,
            all: own.len(),
        },
        _ => Finding::AncientChanges {
            version: entry.api_version.clone(),
            alone,
            all: own.len(),
        },
    })
}

fn sizes(list: &Value) -> Vec<ManagerSize> {
    let mut sizes: BTreeMap<Str, (usize, usize)> = BTreeMap::new();
    for entry in list.as_list().into_iter().flatten() {
        let name = match entry.get("manager") {
            Some(Value::String(name)) => name.into(),
            _ => Str::default(),
        };
        let size = sizes.entry(name).or_default();
        size.0 += 1;
        size.1 += entry.to_json().len();
    }

    let size = |(manager, (entries, bytes))| ManagerSize {
        manager,
        entries,
        bytes,
    };
    let mut sizes: Vec<ManagerSize> = sizes.into_iter().map(size).collect();
    sizes.sort_by(|a, b| {
        b.bytes
            .cmp(&a.bytes)
            .then_with(|| a.manager.cmp(&b.manager))
    });

    sizes
}
