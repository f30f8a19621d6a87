//! The expressions of validation rules.

use std::collections::BTreeSet;

use fieldmanager_rules::RuleFault;
use fieldmanager_rules::internal::{ExpressionFault, check_expression, is_exposed};
use fieldmanager_structural::internal::rule_struct;
use fieldmanager_structural::{FieldError, FieldPath, Structural};
use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Value};

use super::members::{member, text};

const KEYWORD: &str = "x-kubernetes-validations";

/// The faults of expressions.
#[derive(Default)]
pub(super) struct Found {
    pub(super) errors: Vec<FieldError>,
    /// The rules that cannot be run, and that the API server may accept.
    pub(super) unchecked: Vec<RuleFault>,
}

/// The faults of the rules of a schema. Rules at and above a schema with other faults are not checked. `known` are the
/// expressions that the definition had before, which need not be runnable.
pub(super) fn check(
    schema: &Value,
    structural: &Structural,
    path: &FieldPath,
    faults: &[FieldError],
    known: &BTreeSet<String>,
) -> Found {
    let faults = faults.iter().map(|error| error.path.clone()).collect();
    let mut walk = Walk { faults, known, found: Found::default() };
    walk.schema(schema, structural, path, None);
    walk.found
}

struct Walk<'k> {
    /// The paths of other faults.
    faults: BTreeSet<FieldPath>,
    known: &'k BTreeSet<String>,
    found: Found,
}

impl Walk<'_> {
    /// Visits a schema after the schemas below it. `uncorrelated` is the first schema above whose old and new values cannot
    /// be matched.
    fn schema(
        &mut self,
        schema: &Value,
        structural: &Structural,
        path: &FieldPath,
        uncorrelated: Option<&FieldPath>,
    ) {
        level(|| {
            let Value::Map(map) = schema else { return };
            let additional = structural.additional_properties.as_ref().and_then(|all| all.schema());
            if let (Some(inner), Some(structural)) = (map.get("additionalProperties"), additional) {
                self.schema(inner, structural, &path.child("additionalProperties"), uncorrelated);
            }
            let is_granular = matches!(text(map, "x-kubernetes-map-type"), "" | "granular" | "atomic");
            let below = if is_granular { uncorrelated } else { uncorrelated.or(Some(path)) };
            let properties = path.child("properties");
            for (name, inner) in map.get("properties").and_then(Value::as_map).into_iter().flatten() {
                if let Some(structural) = structural.properties.get(name.as_str()) {
                    self.schema(inner, structural, &properties.key(name.clone()), below);
                }
            }
            if let (Some(inner), Some(structural)) = (map.get("items"), &structural.items) {
                let is_keyed = text(map, "x-kubernetes-list-type") == "map";
                let below = if is_keyed { uncorrelated } else { uncorrelated.or(Some(path)) };
                self.schema(inner, structural, &path.child("items"), below);
            }
            self.rules(map, structural, path, uncorrelated);
        })
    }

    fn rules(
        &mut self,
        schema: &Map,
        structural: &Structural,
        path: &FieldPath,
        uncorrelated: Option<&FieldPath>,
    ) {
        let rules: Vec<&Value> = schema.get(KEYWORD).and_then(Value::as_list).into_iter().flatten().collect();
        let has_faults = self.faults.range(path..).next().is_some_and(|fault| fault.starts_with(path));
        if rules.is_empty() || has_faults {
            return;
        }
        let path = path.child(KEYWORD);
        if !is_exposed(structural) {
            self.found.errors.push(FieldError::internal(
                path,
                "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
                 convert structural schema to CEL declarations",
            ));
            return;
        }
        for (at, rule) in rules.into_iter().enumerate() {
            if let Value::Map(fields) = rule {
                self.rule(rule, fields, &path.index(at), uncorrelated);
            }
        }
    }

    fn rule(&mut self, rule: &Value, fields: &Map, path: &FieldPath, uncorrelated: Option<&FieldPath>) {
        let source = text(fields, "rule");
        let uses_old_self = match check_expression(source) {
            Ok(uses_old_self) => uses_old_self,
            Err(fault) => {
                self.fault(rule, path, "rule", source, fault);
                false
            }
        };
        let expression = text(fields, "messageExpression");
        if !expression.is_empty()
            && let Err(fault) = check_expression(expression)
        {
            self.fault(rule, path, "messageExpression", expression, fault);
        }
        match (uses_old_self, uncorrelated) {
            (true, Some(place)) => {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {place}"
                );
                self.found.errors.push(FieldError::invalid(path.child("rule"), source, detail));
            }
            (true, None) => {}
            (false, _) => {
                if let Some(flag) = member(fields, "optionalOldSelf") {
                    let detail = "may not be set if oldSelf is not used in rule";
                    let path = path.child("optionalOldSelf");
                    self.found.errors.push(FieldError::invalid(path, flag.clone(), detail));
                }
            }
        }
    }

    fn fault(&mut self, rule: &Value, path: &FieldPath, field: &str, source: &str, fault: ExpressionFault) {
        match fault.refusal {
            Some(text) => {
                let prefix = if field == "rule" { "" } else { "messageExpression " };
                let detail = format!("{prefix}compilation failed: {text}");
                let error = FieldError::invalid_shown(path.child(field), &rule_struct(rule), detail);
                self.found.errors.push(error);
            }
            None if self.known.contains(source) => {}
            None => self.found.unchecked.push(RuleFault {
                path: path.child(field),
                rule: source.trim().to_owned(),
                reason: fault.reason,
            }),
        }
    }
}
