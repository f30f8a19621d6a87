//! The types of the expressions of policies.

use std::cell::Cell;

use fieldmanager_admission::policies::{ServedKinds, check_types};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Map, Str, Value};

/// Serves no kind, and counts how often it is asked for one.
#[derive(Default)]
struct Asked(Cell<usize>);

impl ServedKinds for Asked {
    fn kinds(&self, _: &str, _: &str, _: &str) -> Vec<GroupVersionKind> {
        self.0.set(self.0.get() + 1);
        Vec::new()
    }

    fn document(&self, _: &str, _: &str) -> Option<Value> {
        None
    }
}

#[test]
fn a_rule_of_many_resources_is_looked_at_in_part() {
    let names = Value::from((0..300).map(|at| format!("n{at}")).collect::<Vec<_>>());
    let lists =
        ["apiGroups", "apiVersions", "resources"].map(|list| (Str::from(list), names.clone()));
    let rule: Map = lists.into_iter().collect();
    let rules = Value::from(vec![Value::Map(rule)]);
    let constraints = Value::Map(Map::single("resourceRules", rules));
    let mut policy = Map::single("metadata", Value::Map(Map::single("generation", 1)));
    policy.insert(
        "spec",
        Value::Map(Map::single("matchConstraints", constraints)),
    );

    let served = Asked::default();
    let status = check_types(&Value::Map(policy), &served).unwrap();
    assert_eq!(
        status.to_json(),
        r#"{"observedGeneration":1,"typeChecking":{}}"#
    );
    assert_eq!(served.0.get(), 10_000);
}
