//! Cluster roles whose rules are those of others.

use std::collections::HashSet;

use fieldmanager_structural::internal::{ObjectExt, label_value, qualified_name, selects};
use fieldmanager_value::Value;

use super::rule::PolicyRule;

/// The `rules` that a ClusterRole with an `aggregationRule` should have, given all cluster roles: those of each selector in
/// turn, by the names of the roles, without the role itself and without duplicates. `None` if it has them, has no
/// `aggregationRule`, or one of its selectors is not valid.
///
/// The controller applies them as `clusterrole-aggregation-controller`, with force.
///
/// Behaviour: `pkg/controller/clusterroleaggregation`.
pub fn aggregate_rules<'v>(
    role: &Value,
    all: impl IntoIterator<Item = &'v Value>,
) -> Option<Vec<Value>> {
    let aggregation = role.get("aggregationRule").filter(|rule| !rule.is_null())?;
    let mut others: Vec<&Value> = all
        .into_iter()
        .filter(|other| other.metadata_string("name") != role.metadata_string("name"))
        .collect();
    others.sort_by_key(|other| other.metadata_string("name"));

    // One selector that is not valid leaves the role as it is, so the others are of no use.
    let mut seen = HashSet::new();
    let mut rules = Vec::new();
    for selector in aggregation.items("clusterRoleSelectors") {
        if !is_valid(selector) {
            return None;
        }
        let selected = others
            .iter()
            .filter(|other| selects(selector, other.metadata_field("labels")));
        for rule in selected.flat_map(|other| other.items("rules")) {
            if seen.insert(PolicyRule::read(rule)) {
                rules.push(rule.clone());
            }
        }
    }

    // Absent lists are empty ones, so rules are compared and not their values.
    let is_same = rules
        .iter()
        .map(PolicyRule::read)
        .eq(role.items("rules").map(PolicyRule::read));
    (!is_same).then_some(rules)
}

/// Whether a label selector can be used.
///
/// Behaviour: `LabelSelectorAsSelector` of `k8s.io/apimachinery/pkg/apis/meta/v1`.
fn is_valid(selector: &Value) -> bool {
    let is_label =
        |key: &str, value: &str| qualified_name(key).is_empty() && label_value(value).is_empty();
    let labels = selector.get("matchLabels").and_then(Value::as_map);
    let has_labels = labels
        .into_iter()
        .flatten()
        .all(|(key, value)| is_label(key.as_str(), value.as_str().unwrap_or_default()));

    has_labels
        && selector.items("matchExpressions").all(|expression| {
            let values: Vec<&str> = expression
                .items("values")
                .filter_map(Value::as_str)
                .collect();
            let key = expression.string("key");
            let is_operator = match expression.string("operator") {
                "In" | "NotIn" => !values.is_empty(),
                "Exists" | "DoesNotExist" => values.is_empty(),
                _ => false,
            };
            is_operator && is_label(key, "") && values.iter().all(|value| is_label(key, value))
        })
}
