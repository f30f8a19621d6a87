//! The expressions of validation rules.
//!
//! Behaviour: `ValidateCustomResourceDefinitionOpenAPISchema` and `CELSchemaContext` of
//! `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation`.

use std::collections::BTreeSet;

use fieldmanager_cel::internal::{CheckedRule, RefusedRule, RuleChecks, RuleOptions, is_exposed};
use fieldmanager_structural::internal::{declare_metadata, is_below, rule_struct};
use fieldmanager_structural::{FieldError, FieldPath, Structural};
use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Value};

use super::cost::Costs;
use super::members::{flag, member, text};

const KEYWORD: &str = "x-kubernetes-validations";

/// What a definition had before.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The rules and the expressions of messages, which may use what newer API servers have.
    pub(super) rules: BTreeSet<String>,
    pub(super) messages: BTreeSet<String>,
}

/// The faults of the rules of a schema. Rules at and above a schema with other faults are not checked. The cost of a rule
/// is limited unless the schema did not change.
pub(super) fn check(
    schema: &Value,
    structural: &Structural,
    path: &FieldPath,
    faults: &[FieldError],
    known: &Known,
    is_unchanged: bool,
) -> Vec<FieldError> {
    let faults = faults.iter().map(|error| error.path.clone()).collect();
    let costs = Costs::new(!is_unchanged);
    let mut walk = Walk {
        root: path.clone(),
        faults,
        known,
        errors: Vec::new(),
        costs,
    };
    let place = Place {
        uncorrelated: None,
        most: Some(1),
    };

    // The schemas of values are made where the first rules are.
    walk.schema(schema, structural, None, path, place);
    walk.errors.extend(walk.costs.total(path));
    walk.errors
}

struct Walk<'k> {
    root: FieldPath,
    /// The paths of other faults.
    faults: BTreeSet<FieldPath>,
    known: &'k Known,
    errors: Vec<FieldError>,
    costs: Costs,
}

/// What the schemas above say about a schema.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// The first schema above whose old and new values cannot be matched.
    uncorrelated: Option<&'p FieldPath>,
    /// How often a value can occur in an object, if all lists and maps above have bounds.
    most: Option<u64>,
}

impl<'p> Place<'p> {
    /// The place of the schemas below. `is_correlated` is whether their old values can be matched.
    fn below(self, schema: &Map, path: &'p FieldPath, is_correlated: bool) -> Self {
        let bound = |name: &str| {
            let limit = member(schema, name).and_then(Value::as_i64);
            limit.map(|limit| u64::try_from(limit).unwrap_or(0))
        };
        let factor = match text(schema, "type") {
            "object" if member(schema, "additionalProperties").is_some() => bound("maxProperties"),
            "array" => bound("maxItems"),
            _ => Some(1),
        };

        Place {
            uncorrelated: if is_correlated {
                self.uncorrelated
            } else {
                self.uncorrelated.or(Some(path))
            },
            most: self
                .most
                .zip(factor)
                .map(|(most, factor)| most.saturating_mul(factor)),
        }
    }
}

impl Walk<'_> {
    /// Visits a schema after the schemas below it. `values` is the schema with the metadata of resources, if there are rules
    /// here or above.
    fn schema(
        &mut self,
        schema: &Value,
        structural: &Structural,
        values: Option<&Structural>,
        path: &FieldPath,
        place: Place<'_>,
    ) {
        level(|| {
            let Value::Map(map) = schema else { return };
            let made;
            let is_root = *path == self.root;

            // Rules see the metadata of resources, so the schema of their values is made at the topmost rule and handed
            // down.
            let values = match values {
                None if member(map, KEYWORD).is_some() => {
                    let is_resource = is_root || flag(map, "x-kubernetes-embedded-resource");
                    made = declare_metadata(structural, is_resource);
                    Some(&made)
                }
                values => values,
            };

            // The values of a map are matched by key, so rules below may use `oldSelf`.
            let additional = structural
                .additional_properties
                .as_ref()
                .and_then(|all| all.schema());
            if let (Some(inner), Some(structural)) = (map.get("additionalProperties"), additional) {
                let values =
                    values.and_then(|values| values.additional_properties.as_ref()?.schema());
                let below = place.below(map, path, true);
                self.schema(
                    inner,
                    structural,
                    values,
                    &path.child("additionalProperties"),
                    below,
                );
            }

            // Fields are matched by name, whatever the map type is, unless it is an unknown one.
            let is_granular = matches!(
                text(map, "x-kubernetes-map-type"),
                "" | "granular" | "atomic"
            );
            let properties = path.child("properties");

            for (name, inner) in map
                .get("properties")
                .and_then(Value::as_map)
                .into_iter()
                .flatten()
            {
                if let Some(structural) = structural.properties.get(name.as_str()) {
                    let values = values.and_then(|values| values.properties.get(name.as_str()));
                    let below = place.below(map, path, is_granular);
                    self.schema(
                        inner,
                        structural,
                        values,
                        &properties.key(name.clone()),
                        below,
                    );
                }
            }

            // Only items with keys have a counterpart in the old list.
            if let (Some(inner), Some(structural)) = (map.get("items"), &structural.items) {
                let is_keyed = text(map, "x-kubernetes-list-type") == "map";
                let values = values.and_then(|values| values.items.as_ref());
                let below = place.below(map, path, is_keyed);
                self.schema(inner, structural, values, &path.child("items"), below);
            }
            self.rules(map, values.unwrap_or(structural), path, place);
        })
    }

    fn rules(&mut self, schema: &Map, values: &Structural, path: &FieldPath, place: Place<'_>) {
        let rules: Vec<&Value> = schema
            .get(KEYWORD)
            .and_then(Value::as_list)
            .into_iter()
            .flatten()
            .collect();

        // A fault here or below leaves no types by which a rule can be checked.
        let has_faults = self
            .faults
            .range(path..)
            .next()
            .is_some_and(|fault| is_below(fault, path));
        if rules.is_empty() || has_faults {
            return;
        }

        let path = path.child(KEYWORD);
        if !is_exposed(values) {
            self.errors.push(FieldError::internal(
                path,
                "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
                 convert structural schema to CEL declarations",
            ));
            return;
        }

        let mut checks = RuleChecks::new(values);
        for (at, rule) in rules.into_iter().enumerate() {
            if let Value::Map(fields) = rule {
                self.rule(rule, fields, &path.index(at), place, &mut checks);
            }
        }
    }

    fn rule(
        &mut self,
        rule: &Value,
        fields: &Map,
        path: &FieldPath,
        place: Place<'_>,
        checks: &mut RuleChecks<'_>,
    ) {
        let (source, message) = (text(fields, "rule"), text(fields, "messageExpression"));
        let has_optional_old = flag(fields, "optionalOldSelf");
        let rule_path = path.child("rule");

        // An expression of the old definition may use what only newer API servers offer.
        let is_stored = self.known.rules.contains(source);
        let checked = checks.rule(
            source,
            RuleOptions {
                has_optional_old,
                is_stored,
                ..RuleOptions::default()
            },
        );
        let uses_old_self = match &checked {
            Ok(checked) => checked.uses_old_self,
            Err(refused) => refused.uses_old_self,
        };

        // A refused rule has no cost, and its message is not checked.
        if let Some(checked) = self.checked(rule, &rule_path, checked) {
            let most = place.most.unwrap_or_else(|| checks.occurrences());
            let cost = checked.cost.saturating_mul(most);
            self.errors.extend(self.costs.add(&rule_path, "rule", cost));
            if !message.is_empty() {
                let path = path.child("messageExpression");
                let is_stored = self.known.messages.contains(message);
                let checked = checks.message(
                    message,
                    RuleOptions {
                        has_optional_old,
                        is_stored,
                        ..RuleOptions::default()
                    },
                );

                if let Some(checked) = self.checked(rule, &path, checked) {
                    self.errors
                        .extend(self.costs.add(&path, "messageExpression", checked.cost));
                }
            }
        }

        // Without a counterpart, a value has no `oldSelf`.
        match (uses_old_self, place.uncorrelated) {
            (true, Some(above)) => {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {above}"
                );
                self.errors
                    .push(FieldError::invalid(rule_path, source, detail));
            }
            (true, None) => {}
            (false, _) => {
                if let Some(flag) = member(fields, "optionalOldSelf") {
                    let detail = "may not be set if oldSelf is not used in rule";
                    let path = path.child("optionalOldSelf");
                    self.errors
                        .push(FieldError::invalid(path, flag.clone(), detail));
                }
            }
        }
    }

    /// An expression that was checked; reports why it is refused.
    fn checked(
        &mut self,
        rule: &Value,
        path: &FieldPath,
        checked: Result<CheckedRule, RefusedRule>,
    ) -> Option<CheckedRule> {
        let error = |refused: RefusedRule| {
            FieldError::invalid_shown(path.clone(), &rule_struct(rule), refused.reason)
        };
        checked
            .map_err(|refused| self.errors.push(error(refused)))
            .ok()
    }
}
