//! What an apply would do to an object, and which fields it would keep.

use std::collections::BTreeSet;

use fieldmanager_fieldpath::{Path, Set};
use fieldmanager_handlers::internal::difference;
use fieldmanager_handlers::{Outcome, Refused, Request, Resource};
use fieldmanager_harness::internal::find_path;
use fieldmanager_managedfields::internal::{Difference, LAST_APPLIED, decode_lossy};
use fieldmanager_managedfields::{
    CsaUpgrade, Entry, Identity, Operation, RequestOptions, Status, Time,
};
use fieldmanager_merge::Conflicts;
use fieldmanager_schema::Type;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

use super::catalogue::ServedKind;
use super::tool::{Taken, Tool, annotation_path};
use crate::answer::{NO_UID, Verb, answer, stored};
use crate::request::LATEST;

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Created,
    Changed,
    Unchanged,
    /// Other managers own fields that would change.
    Conflict,
    Refused,
    /// It is in the inventory, and no longer among the sources.
    Removed,
}

impl Fate {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fate::Created => "created",
            Fate::Changed => "changed",
            Fate::Unchanged => "unchanged",
            Fate::Conflict => "conflict",
            Fate::Refused => "refused",
            Fate::Removed => "removed",
        }
    }
}

/// Why a field stays that the configuration does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptBecause {
    /// Only updates of client-side apply and of other programs of people made it.
    ClientSideApply,
    /// Another manager owns it.
    OtherOwner,
    /// Nobody owns it, and so nobody's apply removes it.
    NoOwner,
}

/// A field that stays although the configuration does not have it.
#[derive(Clone, Debug)]
pub(crate) struct KeptField {
    pub(crate) path: Path,
    pub(crate) value: Value,
    pub(crate) owners: Vec<Identity>,
    pub(crate) because: KeptBecause,
}

impl KeptBecause {
    /// The reason in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            KeptBecause::ClientSideApply => {
                "only updates made it, as client-side apply does, and an apply removes only what its own manager applied"
            }
            KeptBecause::OtherOwner => "another manager owns it",
            KeptBecause::NoOwner => {
                "no manager owns it, so an apply that leaves it out does not remove it"
            }
        }
    }
}

/// What an apply does to an object.
pub(crate) struct Planned {
    pub(crate) fate: Fate,
    /// Why the object is refused.
    pub(crate) message: String,
    /// The object afterwards; of a conflict, after an apply by force.
    pub(crate) new: Value,
    pub(crate) ty: Option<Type>,
    pub(crate) difference: Option<Difference>,
    pub(crate) conflicts: Option<Conflicts>,
    pub(crate) kept: Vec<KeptField>,
    /// The managers whose fields the tool takes over.
    pub(crate) taken: Vec<Identity>,
    pub(crate) warnings: Vec<String>,
}

impl Planned {
    pub(crate) fn refused(message: String) -> Self {
        Planned {
            message,
            ..Planned::of(Fate::Refused)
        }
    }

    pub(crate) fn of(fate: Fate) -> Self {
        Planned {
            fate,
            message: String::new(),
            new: Value::Null,
            ty: None,
            difference: None,
            conflicts: None,
            kept: Vec::new(),
            taken: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Computes what a tool's apply of a configuration does to a live object, which is null if there is none.
pub(crate) fn plan(kind: &ServedKind, tool: &Tool, live: &Value, config: &Value) -> Planned {
    let planned = attempt(kind, &tool.of(live), live, config);
    Planned {
        ty: kind.ty.clone(),
        ..planned.unwrap_or_else(Planned::refused)
    }
}

fn attempt(
    kind: &ServedKind,
    tool: &Tool,
    live: &Value,
    config: &Value,
) -> Result<Planned, String> {
    let resource = &kind.resource;
    // As a server has it: at the version of the configuration, and with defaults.
    let live = match live {
        Value::Null => Value::Null,
        live => resource.read(&stored(resource, live)),
    };
    let Taken {
        object: prepared,
        managers: mut taken,
    } = tool.prepare(&live)?;

    // Conflicts do not hide what an apply by force would change.
    let (mut outcome, conflicts) = match apply(resource, tool, &prepared, config, tool.force) {
        Ok(outcome) => (outcome, None),
        Err(refused) => match refused.conflicts {
            Some(conflicts) => {
                let forced = apply(resource, tool, &prepared, config, true);
                (
                    forced.map_err(|refused| refused.status.message)?,
                    Some(conflicts),
                )
            }
            None => return Err(refused.status.message),
        },
    };
    if let Some(more) = tool.follow_up(&outcome.object)? {
        let again = apply(resource, tool, &more.object, config, true);
        outcome = again.map_err(|refused| refused.status.message)?;
        taken.extend(more.managers);
    }

    let new = outcome.object;
    let warnings = outcome.warnings;
    if live.is_null() {
        return Ok(Planned {
            new,
            warnings,
            ..Planned::of(Fate::Created)
        });
    }
    let difference = difference(resource, &live, &new);
    let mut difference = difference.map_err(|error| error.to_string())?;
    // It counts the requests of a tool, which nobody configures.
    let is_count = |path: &Path| path.to_string() == ".metadata.generation";
    difference.changes.retain(|change| !is_count(&change.path));
    let is_changed = !difference.changes.is_empty() || !difference.ownership.is_empty();
    let fate = match conflicts {
        Some(_) => Fate::Conflict,
        None if is_changed => Fate::Changed,
        None => Fate::Unchanged,
    };
    Ok(Planned {
        kept: without_defaults(kind, tool, &new, config, kept(kind, tool, &prepared, &new)),
        difference: Some(difference),
        new,
        conflicts,
        taken,
        warnings,
        ..Planned::of(fate)
    })
}

/// Applies a configuration as a server does.
fn apply(
    resource: &Resource,
    tool: &Tool,
    live: &Value,
    config: &Value,
    force: bool,
) -> Result<Outcome, Refused> {
    // The latest of all times: an entry that changes gets it, and the output has no times.
    let now = LATEST
        .parse::<Time>()
        .map_err(|error| Status::bad_request(error.to_string()))?;
    let options = RequestOptions::default()
        .field_manager(tool.manager.as_str())
        .force(Some(force));
    let request = Request::new(now).options(options).uid(NO_UID);
    answer(resource, Verb::Apply, live, config, request)
}

/// The fields that stay although the configuration does not have them: those that the manager, client-side apply or
/// another program of people has configured before.
fn kept(kind: &ServedKind, tool: &Tool, live: &Value, new: &Value) -> Vec<KeptField> {
    let entries = |object: &Value| decode_lossy(object.managed_fields()).managed.entries();
    let (before, after) = (entries(live), entries(new));
    let own = |entries: &[Entry]| {
        let is_own = |entry: &&Entry| {
            entry.operation == Operation::Apply
                && entry.manager == *tool.manager
                && entry.subresource.is_empty()
        };
        entries
            .iter()
            .find(is_own)
            .map(|entry| entry.fields.clone())
            .unwrap_or_default()
    };

    let is_clients = |entry: &&Entry| {
        entry.operation == Operation::Update
            && entry.subresource.is_empty()
            && tool.is_client(&entry.manager)
    };
    let clients = after.iter().filter(is_clients);
    let own_before = own(&before);
    let configured = clients.fold(own_before.clone(), |all, entry| all.union(&entry.fields));
    let configured = configured.union(&last_applied(kind, live));
    let annotation = annotation_path();
    let candidates = configured.leaves().difference(&own(&after));

    let mut kept = Vec::new();
    for path in candidates.leaves().paths() {
        let is_annotation = path.iter().eq(annotation.iter());
        let value = find_path(new, &path);
        let Some(value) = value.filter(|_| !is_annotation && !is_identity(&path)) else {
            continue;
        };
        let elements: Vec<_> = path.iter().cloned().collect();
        let owners = after.iter().filter(|entry| entry.fields.has(&elements));
        let owners: Vec<&Entry> = owners.collect();
        let because = if owners.is_empty() {
            KeptBecause::NoOwner
        } else if owners.iter().all(is_clients) {
            KeptBecause::ClientSideApply
        } else {
            KeptBecause::OtherOwner
        };
        // The apply removed what its manager alone owned, and the server has set a default in its place.
        if !owners.is_empty() || !own_before.has(&elements) {
            kept.push(KeptField {
                value: value.clone(),
                owners: owners.iter().map(|entry| entry.identity()).collect(),
                path,
                because,
            });
        }
    }

    kept
}

/// Leaves out what would come back: a client that creates an object owns its defaults, too.
fn without_defaults(
    kind: &ServedKind,
    tool: &Tool,
    outcome: &Value,
    config: &Value,
    kept: Vec<KeptField>,
) -> Vec<KeptField> {
    let is_clients = |kept: &&KeptField| kept.because == KeptBecause::ClientSideApply;
    let names = kept.iter().filter(is_clients).flat_map(|kept| &kept.owners);
    let names: BTreeSet<&str> = names.map(|owner| owner.manager.as_str()).collect();
    if names.is_empty() {
        return kept;
    }

    // What the same apply makes of the object once the manager owns what the clients own.
    let upgrade = CsaUpgrade::new(names, tool.manager.as_str()).unite_versions(true);
    let upgraded = upgrade.upgrade(outcome).ok();
    let applied =
        upgraded.and_then(|object| apply(&kind.resource, tool, &object, config, true).ok());
    let Some(applied) = applied else {
        return kept;
    };
    let comes_back = |kept: &KeptField| find_path(&applied.object, &kept.path) == Some(&kept.value);
    kept.into_iter()
        .filter(|kept| !is_clients(&kept) || !comes_back(kept))
        .collect()
}

/// Whether a path is that of a field which every configuration has, or which is part of the others.
fn is_identity(path: &Path) -> bool {
    matches!(
        path.to_string().as_str(),
        ".apiVersion"
            | ".kind"
            | ".metadata"
            | ".metadata.name"
            | ".metadata.namespace"
            | ".metadata.annotations"
    )
}

/// The fields of the annotation that client-side apply leaves.
fn last_applied(kind: &ServedKind, live: &Value) -> Set {
    let text = live
        .annotations()
        .and_then(|all| all.get(LAST_APPLIED)?.as_str());
    let last = text.and_then(|text| Value::from_json(text).ok());
    let last = last.filter(|last| last.declared_kind() == *kind.resource.kind());
    let typed =
        last.and_then(|last| TypedValue::new(last, kind.ty.clone()?, Duplicates::Allow).ok());
    typed.map(|typed| typed.field_set()).unwrap_or_default()
}
