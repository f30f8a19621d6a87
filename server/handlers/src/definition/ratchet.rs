//! Faults of a definition that an update may keep.

use std::collections::BTreeSet;

use fieldmanager_structural::FieldPath;
use fieldmanager_structural::Structural;
use fieldmanager_structural::internal::{SchemaRules, each_schema, prune_defaults, violated};
use fieldmanager_value::{List, Map, Value};

use super::expressions::Known;
use super::members::{maps, member, open_api, text};
use super::selectable::MOST;
use super::spec::Spec;
use super::{certificates, webhook};

/// The checks of a definition, by the definition that it replaces.
pub(super) struct Ratchet {
    /// Each version must have a schema.
    pub(super) schemas: bool,
    /// Schemas must be structural.
    pub(super) structural: bool,
    /// Defaults must have no unknown fields.
    pub(super) pruned_defaults: bool,
    pub(super) rules: SchemaRules,
    /// The versions of conversion reviews must have one that the server knows.
    pub(super) review_versions: bool,
    /// The bundle of certificates of the webhook may be invalid.
    pub(super) allows_invalid_bundle: bool,
    /// The resource is served, so that its names and its scope cannot change.
    pub(super) is_established: bool,
    /// The versions that may have too many selectable fields; the empty name is that of all versions together.
    many: BTreeSet<String>,
    /// The expressions of the replaced definition.
    pub(super) expressions: Known,
    /// The versions whose schema did not change.
    unchanged: BTreeSet<String>,
}

impl Default for Ratchet {
    /// All checks of a new definition.
    fn default() -> Self {
        Ratchet {
            schemas: true,
            structural: true,
            pruned_defaults: true,
            rules: SchemaRules::default(),
            review_versions: true,
            allows_invalid_bundle: true,
            is_established: false,
            many: BTreeSet::new(),
            expressions: Known::default(),
            unchanged: BTreeSet::new(),
        }
    }
}

impl Ratchet {
    pub(super) fn of(spec: &Spec<'_>, old: &Spec<'_>, live: &Value) -> Self {
        let is_established = is_established(live);

        // What the old definition violates already stays allowed, so that a server with stricter checks accepts other
        // changes to it.
        let mut out = Ratchet {
            schemas: old
                .versions
                .iter()
                .all(|version| member(version, "schema").and_then(open_api).is_some()),
            review_versions: old.map("conversion").is_none_or(webhook::has_known_review),
            is_established,
            allows_invalid_bundle: !is_established
                || old.map("conversion").is_some_and(has_invalid_bundle),
            many: many(spec, old),
            unchanged: unchanged(spec, old),
            ..Ratchet::default()
        };

        // A check that one old schema does not pass is dropped for all schemas.
        for schema in old.schemas() {
            let violated = violated(schema);
            out.rules.types &= !violated.types;
            out.rules.atomic_sets &= !violated.atomic_sets;
            out.rules.list_keys &= !violated.list_keys;
            let structural = Structural::from_value(schema);
            let valid = structural
                .ok()
                .filter(|schema| schema.validate(&FieldPath::default()).is_empty());
            out.structural &= valid.is_some();
            let pruned = valid
                .as_ref()
                .and_then(|schema| prune_defaults(schema).ok());

            // Defaults can only be pruned by a structural schema.
            if let (Some(schema), Some(pruned)) = (valid, pruned) {
                out.pruned_defaults &= schema == pruned;
            }

            // An expression of any old version counts as stored.
            each_schema(schema, |schema| {
                for rule in maps(schema.get("x-kubernetes-validations")) {
                    out.expressions.rules.insert(text(rule, "rule").to_owned());
                    out.expressions
                        .messages
                        .insert(text(rule, "messageExpression").to_owned());
                }
            });
        }

        out
    }

    /// Whether the schema of a version did not change.
    pub(super) fn is_unchanged(&self, version: &str) -> bool {
        self.unchanged.contains(version)
    }

    /// Whether a version may have too many selectable fields.
    pub(super) fn allows_many(&self, version: &str) -> bool {
        self.many.contains(version)
    }
}

/// The versions whose schema did not change.
fn unchanged(spec: &Spec<'_>, old: &Spec<'_>) -> BTreeSet<String> {
    let schema = |version: &Map| member(version, "schema").and_then(open_api).cloned();
    let is_same = |version: &&&Map| {
        let before = old
            .versions
            .iter()
            .find(|old| text(old, "name") == text(version, "name"));
        before.is_some_and(|before| schema(before) == schema(version))
    };

    spec.versions
        .iter()
        .filter(is_same)
        .map(|version| text(version, "name").to_owned())
        .collect()
}

fn is_established(live: &Value) -> bool {
    let conditions = live
        .get("status")
        .and_then(|status| status.get("conditions"));
    maps(conditions).any(|condition| {
        text(condition, "type") == "Established" && text(condition, "status") == "True"
    })
}

pub(super) fn has_invalid_bundle(conversion: &Map) -> bool {
    let bundle = webhook::bundle(conversion);
    !bundle.is_empty() && certificates::check(bundle).is_err()
}

/// The versions whose selectable fields are too many, and did not change.
fn many(spec: &Spec<'_>, old: &Spec<'_>) -> BTreeSet<String> {
    const NAME: &str = "selectableFields";
    let keeps = |new: Option<&Value>, old: Option<&Value>| {
        new == old && old.and_then(Value::as_list).map_or(0, List::len) > MOST
    };
    let mut out = BTreeSet::new();
    if keeps(spec.top(NAME), old.top(NAME)) {
        out.insert(String::new());
    }

    for version in &spec.versions {
        let name = text(version, "name");
        let before = old
            .versions
            .iter()
            .rev()
            .find(|old| text(old, "name") == name);
        if before.is_some_and(|before| keeps(spec.own(version, NAME), old.own(before, NAME))) {
            out.insert(name.to_owned());
        }
    }

    out
}
