//! Conflicts as Kubernetes sends them.

use std::fmt::Write;

use fieldmanager_merge::{Conflict, Conflicts};

use crate::identity::Identity;
use crate::status::{Cause, Status};

/// How many conflicts the message and the causes of a [`Status`] name. An API server has no such limit.
pub const MAX_CAUSES: usize = 1000;

/// The manager of a conflict in messages.
fn manager(conflict: &Conflict) -> String {
    match Identity::of_identifier(&conflict.manager) {
        Some(identity) => identity.display_name(),
        None => fieldmanager_openapi::go_quote(&conflict.manager),
    }
}

/// The text of conflicts that a client prints.
///
/// Behaviour: `NewConflictError` of `k8s.io/apimachinery/pkg/util/managedfields`.
pub(crate) fn message(conflicts: &Conflicts) -> String {
    let all: Vec<&Conflict> = conflicts.iter().collect();
    if let [one] = all.as_slice() {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", manager(one), one.path);
    }
    let mut out = format!("Apply failed with {} conflicts: ", all.len());
    let named = all.get(..MAX_CAUSES).unwrap_or(&all);
    for (i, group) in named.chunk_by(|a, b| a.manager == b.manager).enumerate() {
        if i > 0 {
            out.push('\n');
        }
        if let Some(first) = group.first() {
            let _ = write!(out, "conflicts with {}:", manager(first));
        }
        for conflict in group {
            let _ = write!(out, "\n- {}", conflict.path);
        }
    }
    if all.len() > named.len() {
        let _ = write!(out, "\nand {} more conflicts", all.len() - named.len());
    }
    out
}

/// The answer to a request that conflicts: 409, with one cause for each of the first [`MAX_CAUSES`] conflicts.
pub(crate) fn status(conflicts: &Conflicts) -> Status {
    let cause = |conflict: &Conflict| Cause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {}", manager(conflict)),
        field: conflict.path.to_string(),
    };
    Status::apply_conflict(message(conflicts), conflicts.iter().take(MAX_CAUSES).map(cause).collect())
}
