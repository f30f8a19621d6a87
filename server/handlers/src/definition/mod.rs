//! Validation of CustomResourceDefinitions that requests create and update.
//!
//! Behaviour: `pkg/apis/apiextensions/validation` and `pkg/registry/customresourcedefinition` of
//! `k8s.io/apiextensions-apiserver`. Errors name the fields of the internal version, which has the parts that are equal in
//! all versions at the top: `spec.validation` instead of `spec.versions[0].schema`.

mod approval;
mod certificates;
mod conversion;
mod cost;
mod defaults;
mod expressions;
mod members;
mod names;
mod parts;
mod ratchet;
mod schema;
mod selectable;
mod spec;
mod spec_checks;
mod warnings;
mod webhook;

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_structural::internal::{
    NameSyntax, validate_object_meta, validate_object_meta_update,
};
use fieldmanager_structural::{FieldError, FieldPath};
use fieldmanager_value::{Str, Value};

use self::ratchet::Ratchet;
use self::spec::Spec;
use crate::kind::Checked;

pub use self::approval::approval;
pub(crate) use self::warnings::warnings;

/// The faults of a new definition, after those of its metadata.
/// The errors of a new CustomResourceDefinition whose metadata is valid.
pub fn errors_of_definition(object: &Value) -> Vec<FieldError> {
    validate_create(object, Vec::new()).errors
}

pub(crate) fn validate_create(object: &Value, metadata: Vec<FieldError>) -> Checked {
    let spec = Spec::of(object);
    let mut out = Checked {
        errors: metadata,
        ..Checked::default()
    };
    let wrong = names::faults_of_name(&spec, object);
    let path = FieldPath::root("metadata");
    let [base, name] = ["generateName", "name"].map(|field| path.child(field));

    // Faults of the name precede those of other metadata, but follow the general ones about the name.
    let first_other = out
        .errors
        .iter()
        .position(|error| error.path != base && error.path != name);

    let at = first_other.unwrap_or(out.errors.len());
    out.errors.splice(at..at, wrong);
    spec.validate(&Ratchet::default(), &mut out);
    rest(&spec, object, None, &mut out.errors);
    out
}

/// The faults of a definition that replaces another one. A fault that the old definition has too is mostly allowed.
pub(crate) fn validate_update(object: &Value, live: &Value) -> Checked {
    let (spec, old) = (Spec::of(object), Spec::of(live));
    let mut out = Checked {
        errors: updated_metadata(object, live),
        ..Checked::default()
    };
    let ratchet = Ratchet::of(&spec, &old, live);
    spec.validate(&ratchet, &mut out);
    let path = FieldPath::root("spec");
    let names = path.child("names");
    let mut immutable = |path: FieldPath, new: &str, old: &str| {
        if new != old {
            out.errors
                .push(FieldError::invalid(path, new, "field is immutable"));
        }
    };

    // A served definition may have objects, so neither scope nor kind can change. Group and plural never can.
    if ratchet.is_established {
        immutable(path.child("scope"), spec.text("scope"), old.text("scope"));
        immutable(names.child("kind"), spec.name("kind"), old.name("kind"));
    }
    immutable(path.child("group"), spec.text("group"), old.text("group"));
    immutable(
        names.child("plural"),
        spec.name("plural"),
        old.name("plural"),
    );
    rest(&spec, object, Some(live), &mut out.errors);

    out
}

/// Whether the webhook of a definition's conversion has a certificate that can be read, or none. An API server refuses to
/// establish other definitions: their condition `Established` is false, with the reason `InvalidCABundle`.
///
/// ```
/// use fieldmanager_handlers::custom::has_valid_certificates;
/// use fieldmanager_value::Value;
///
/// let webhook = |bundle: &str| {
///     let webhook = format!("{{clientConfig: {{url: https://example.com, caBundle: {bundle}}}}}");
///     Value::from_yaml(&format!("{{spec: {{conversion: {{strategy: Webhook, webhook: {webhook}}}}}}}"))
/// };
/// assert!(has_valid_certificates(&webhook("\"\"")?));
/// assert!(!has_valid_certificates(&webhook("bm90aGluZw==")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn has_valid_certificates(definition: &Value) -> bool {
    let conversion = definition
        .get("spec")
        .and_then(|spec| spec.get("conversion")?.as_map());
    !conversion.is_some_and(ratchet::has_invalid_bundle)
}

/// The faults of a changed status.
pub(crate) fn validate_status(object: &Value, live: &Value) -> Checked {
    let mut errors = updated_metadata(object, live);
    accepted_names(object, &mut errors);
    Checked {
        errors,
        ..Checked::default()
    }
}

/// The faults of metadata, of which the API server finds those of an update twice.
fn updated_metadata(object: &Value, live: &Value) -> Vec<FieldError> {
    let path = FieldPath::root("metadata");
    let (new, old) = (object.get("metadata"), live.get("metadata"));
    let mut errors = validate_object_meta(new, false, NameSyntax::PathSegment, &path);
    let update = validate_object_meta_update(new, old, &path);
    errors.extend(update.clone());
    errors.extend(update);
    errors
}

/// The checks that follow those of the spec.
fn rest(spec: &Spec<'_>, object: &Value, live: Option<&Value>, errors: &mut Vec<FieldError>) {
    accepted_names(object, errors);
    stored_versions(spec, object, errors);
    approval::check(spec.text("group"), object, live, errors);
    let preserved = live.is_some_and(|live| Spec::of(live).preserves_unknown_fields());
    if spec.preserves_unknown_fields() && !preserved {
        errors.push(FieldError::invalid(
            FieldPath::root("spec").child("preserveUnknownFields"),
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
}

fn accepted_names(object: &Value, errors: &mut Vec<FieldError>) {
    let accepted = object
        .get("status")
        .and_then(|status| status.get("acceptedNames"));
    let path = FieldPath::root("status").child("acceptedNames");
    names::check(accepted.and_then(Value::as_map), &path, errors);
}

/// The versions at which objects may be stored must be versions of the definition.
fn stored_versions(spec: &Spec<'_>, object: &Value, errors: &mut Vec<FieldError>) {
    let path = FieldPath::root("status").child("storedVersions");
    let found = object
        .get("status")
        .and_then(|status| status.get("storedVersions"));
    let stored: Vec<&str> = found
        .and_then(Value::as_list)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let invalid = |detail: String| {
        FieldError::invalid(path.clone(), found.cloned().unwrap_or_default(), detail)
    };

    if stored.is_empty() {
        errors.push(invalid("must have at least one stored version".to_owned()));
        return;
    }
    let mut left: BTreeSet<&str> = stored.iter().copied().collect();

    for version in &spec.versions {
        let name = members::text(version, "name");
        if members::flag(version, "storage") && !left.contains(name) {
            errors.push(invalid(format!("must have the storage version {name}")));
        }
        // As in the API server, another version of this name does not find it.
        left.remove(name);
    }

    // A version that is listed twice is reported at its last place.
    let last: BTreeMap<&str, usize> = stored
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, at))
        .collect();
    let known: BTreeSet<&str> = spec
        .versions
        .iter()
        .map(|version| members::text(version, "name"))
        .collect();

    for (at, name) in stored.iter().enumerate() {
        if last.get(name) == Some(&at) && !known.contains(name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            errors.push(FieldError::invalid(
                path.index(at),
                Str::from(*name),
                detail,
            ));
        }
    }
}
