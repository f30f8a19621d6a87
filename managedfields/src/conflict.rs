//! Conflicts in the messages and causes of a [`Status`].

use std::fmt::Write;

use fieldmanager_merge::{Conflict, Conflicts};

use crate::identity::{Identity, display_name};
use crate::status::{Cause, Status};

/// The maximum number of conflicts in the message and the causes of a [`Status`]. Their managers and paths take at most
/// 1 MiB. An API server has no such limits.
pub const MAX_CAUSES: usize = 1000;

/// The manager of a conflict in messages.
fn manager(conflict: &Conflict) -> String {
    match Identity::of_identifier(&conflict.manager) {
        Some(identity) => display_name(&identity),
        None => fieldmanager_value::internal::go_format::quote(&conflict.manager),
    }
}

/// The maximum size of the managers and paths of more than one conflict, in bytes. Each path below a long name repeats the
/// name.
const MAX_CAUSE_BYTES: usize = 1 << 20;

/// A conflict in messages.
struct NamedConflict<'c> {
    conflict: &'c Conflict,
    manager: String,
    path: String,
}

/// The first conflicts, within the limits.
fn named(conflicts: &Conflicts) -> Vec<NamedConflict<'_>> {
    // A `Status` has a limited size, so only the first conflicts are named, but at least one.
    let mut bytes = 0_usize;
    let name = |conflict| NamedConflict {
        conflict,
        manager: manager(conflict),
        path: conflict.path.to_string(),
    };
    let fits = |(i, named): &(usize, NamedConflict<'_>)| {
        bytes = bytes.saturating_add(named.manager.len() + named.path.len());
        *i == 0 || bytes <= MAX_CAUSE_BYTES
    };
    let first = conflicts.iter().take(MAX_CAUSES).map(name);

    first
        .enumerate()
        .take_while(fits)
        .map(|(_, named)| named)
        .collect()
}

/// The message that a client prints.
///
/// Behaviour: `NewConflictError` of `k8s.io/apimachinery/pkg/util/managedfields`.
pub(crate) fn message(conflicts: &Conflicts) -> String {
    message_of(&named(conflicts), conflicts.iter().count())
}

fn message_of(named: &[NamedConflict<'_>], found: usize) -> String {
    if let ([one], 1) = (named, found) {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            one.manager, one.path
        );
    }

    let mut out = format!("Apply failed with {found} conflicts: ");
    for (i, group) in named
        .chunk_by(|a, b| a.conflict.manager == b.conflict.manager)
        .enumerate()
    {
        if i > 0 {
            out.push('\n');
        }
        if let Some(first) = group.first() {
            let _ = write!(out, "conflicts with {}:", first.manager);
        }
        for conflict in group {
            let _ = write!(out, "\n- {}", conflict.path);
        }
    }

    if found > named.len() {
        let _ = write!(out, "\nand {} more conflicts", found - named.len());
    }
    out
}

/// The answer to a conflict: 409, with one cause for each of the first [`MAX_CAUSES`] conflicts.
pub(crate) fn status(conflicts: &Conflicts) -> Status {
    let named = named(conflicts);
    let message = message_of(&named, conflicts.iter().count());
    let cause = |named: NamedConflict<'_>| Cause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {}", named.manager),
        field: named.path,
    };
    Status::apply_conflict(message, named.into_iter().map(cause).collect())
}
