//! The schema of a version.

use fieldmanager_structural::internal::{SchemaRules, check_schema, has_default};
use fieldmanager_structural::{Error, FieldError, FieldPath, Structural};
use fieldmanager_value::Value;

use super::members::open_api;
use super::ratchet::Ratchet;
use super::{defaults, expressions};
use crate::kind::Checked;

/// The checks of all schemas of a definition.
pub(super) struct SchemaCheck<'r> {
    pub(super) ratchet: &'r Ratchet,
    /// Schemas must be structural.
    pub(super) is_structural: bool,
}

/// The version that a schema is of.
#[derive(Clone, Copy)]
pub(super) struct Version<'v> {
    pub(super) name: &'v str,
    /// Whether it has the subresource `status`.
    pub(super) has_status: bool,
}

/// Adds the faults of a schema.
///
/// Behaviour: `validateCustomResourceDefinitionValidation`.
pub(super) fn check(
    validation: Option<&Value>,
    path: &FieldPath,
    version: Version<'_>,
    check: &SchemaCheck<'_>,
    out: &mut Checked,
) {
    let Some(schema) = validation.and_then(open_api) else {
        return;
    };
    let path = path.child("openAPIV3Schema");
    let structural = Structural::from_value(schema);

    if let Err(error @ Error::TooDeep) = &structural {
        // No walk may descend into the schema.
        out.errors
            .push(FieldError::invalid(path, "", error.to_string()));
        return;
    }

    let rules = SchemaRules {
        beside_status: version.has_status,
        is_readable: structural.is_ok(),
        ..check.ratchet.rules
    };
    let mut keywords = check_schema(schema, &path, rules);

    // The faults of the whole schema precede those of its structure.
    let at_root = keywords
        .iter()
        .take_while(|error| is_about_root(error, &path))
        .count();
    let below = keywords.split_off(at_root);
    let before = out.errors.len();
    out.errors.extend(keywords);
    let mut valid = None;

    // Each check needs the success of the one before: structure, then defaults, then expressions.
    if check.is_structural
        && let Ok(structural) = &structural
    {
        let mut errors = structural.validate(&path);
        if errors.is_empty() && has_default(schema) {
            errors = defaults::check(structural, &path, check.ratchet.pruned_defaults);
        }
        if errors.is_empty() {
            valid = Some(structural);
        }
        out.errors.extend(errors);
    }

    if let Some(structural) = valid {
        let is_unchanged = check.ratchet.is_unchanged(version.name);
        let found = expressions::check(
            schema,
            structural,
            &path,
            &below,
            &check.ratchet.expressions,
            is_unchanged,
        );
        out.errors.extend(below);
        out.errors.extend(found);
    } else {
        out.errors.extend(below);
    }

    // A schema that cannot be read usually has other faults; its own is reported only without them.
    if let (Err(error), true) = (
        structural,
        check.is_structural && out.errors.len() == before,
    ) {
        out.errors
            .push(FieldError::invalid(path, "", error.to_string()));
    }
}

/// Whether an error is one of those about keywords at the root that are reported first.
fn is_about_root(error: &FieldError, path: &FieldPath) -> bool {
    error.path == *path
        || error.path == path.child("nullable")
        || error.path == path.child("type")
            && error
                .detail
                .contains("if the status subresource is enabled")
}
