//! The priority levels and flow schemas that a server always has, with fixed specs.

use fieldmanager_value::{Map, Value};

use super::field::Field;
use crate::functions::edit::with_value_of;
use crate::place::Errors;
use crate::shown;

/// The rules of both schemas, but for their subjects.
const EVERYTHING: &str = "resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, \
                          namespaces: ['*']}], nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]";

pub(super) fn flow_schema(schema: &Field<'_>, errors: &mut Errors) {
    let (level, rest, groups) = match schema.get("metadata").get("name").text() {
        "exempt" => ("exempt", "matchingPrecedence: 1", &["system:masters"][..]),
        "catch-all" => (
            "catch-all",
            "matchingPrecedence: 10000, distinguisherMethod: {type: ByUser}",
            &["system:unauthenticated", "system:authenticated"][..],
        ),
        _ => return,
    };
    let subject = |group: &&str| format!("{{kind: Group, group: {{name: '{group}'}}}}");
    let subjects: Vec<String> = groups.iter().map(subject).collect();
    let fixed = format!(
        "{{priorityLevelConfiguration: {{name: {level}}}, {rest}, rules: [{{subjects: [{}], {EVERYTHING}}}]}}",
        subjects.join(", ")
    );
    let detail = format!("spec of '{level}' must equal the fixed value");
    check(
        &schema.get("spec"),
        "FlowSchemaSpec",
        &fixed,
        &detail,
        errors,
    );
}

pub(super) fn priority_level(level: &Field<'_>, errors: &mut Errors) {
    const TYPE: &str = "PriorityLevelConfigurationSpec";
    let spec = level.get("spec");
    match level.get("metadata").get("name").text() {
        // An administrator may change how exempt requests are counted.
        "exempt" => {
            let fixed = "{type: Exempt}";
            let own = spec.value.map(|spec| with_value_of(spec, "exempt", None));
            let detail =
                "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value";
            if !is_equal(TYPE, own.as_ref(), fixed) {
                spec.invalid_as(TYPE, detail, errors);
            }
        }
        "catch-all" => {
            let fixed = "{type: Limited, limited: {nominalConcurrencyShares: 5, lendablePercent: 0, \
                         limitResponse: {type: Reject}}}";
            let detail = "spec of 'catch-all' must equal the fixed value";
            check(&spec, TYPE, fixed, detail, errors);
        }
        _ => {}
    }
}

fn check(spec: &Field<'_>, ty: &str, fixed: &str, detail: &str, errors: &mut Errors) {
    if !is_equal(ty, spec.value, fixed) {
        spec.invalid_as(ty, detail, errors);
    }
}

/// Whether a spec is the fixed one. Their written forms are equal, too, if only one has what is not set.
fn is_equal(ty: &str, spec: Option<&Value>, fixed: &str) -> bool {
    let fixed = Value::from_yaml(fixed).unwrap_or(Value::Map(Map::default()));
    shown::json(ty, spec) == shown::json(ty, Some(&fixed))
}
