//! Rules are compiled and evaluated on a small stack, at the depth limits of schemas, objects and expressions.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use fieldmanager_cel::{BUDGET, Rules};
use fieldmanager_structural::{FieldPath, Structural};
use fieldmanager_testing::{map, on_small_stack};
use fieldmanager_value::Value;

fn rules(source: &str) -> (&'static str, Value) {
    (
        "x-kubernetes-validations",
        Value::from(vec![map([("rule", source.into())])]),
    )
}

#[test]
fn rules_at_any_depth_of_a_schema_run_on_a_small_stack() {
    for form in 0..3 {
        on_small_stack("schemas", move || {
            let innermost = || map([("type", "string".into()), rules("self == oldSelf")]);
            let schema = |levels: usize| {
                (0..levels).fold(innermost(), |below, _| match form {
                    0 => map([
                        ("type", "object".into()),
                        ("properties", map([("a", below)])),
                        rules("self == oldSelf"),
                    ]),
                    1 => map([
                        ("type", "array".into()),
                        ("items", below),
                        rules("self.size() < 3"),
                    ]),
                    _ => map([
                        ("type", "object".into()),
                        ("additionalProperties", below),
                        rules("has(self.a)"),
                    ]),
                })
            };
            let deepest = (1..256)
                .rev()
                .find_map(|levels| Some((levels, Structural::from_value(&schema(levels)).ok()?)));
            let (levels, schema) = deepest.unwrap();
            let rules = Rules::compile(&schema);
            let object = |text: &str| {
                (0..levels).fold(Value::from(text), |below, _| match form {
                    1 => Value::from(vec![below]),
                    _ => map([("a", below)]),
                })
            };
            let (new, old) = (object("x"), object("y"));
            rules.validate(&FieldPath::default(), &new, Some(&old), BUDGET);
            rules.validate(&FieldPath::default(), &new, None, BUDGET);
            Rules::compile_value(&schema);
        });
    }
}

#[test]
fn deep_expressions_are_refused_or_run_on_a_small_stack() {
    on_small_stack("expressions", || {
        for levels in [100, 400, 10_000] {
            for (open, middle, close) in [
                ("(", "self", ")"),
                ("[", "self", "]"),
                ("!", "true", ""),
                ("self + ", "self", ""),
            ] {
                let source = format!(
                    "{}{middle}{} == self",
                    open.repeat(levels),
                    close.repeat(levels)
                );
                let schema = map([("type", "string".into()), rules(&source)]);
                let rules = Rules::compile(&Structural::from_value(&schema).unwrap());
                rules.validate(&FieldPath::default(), &Value::from("a"), None, BUDGET);
            }
        }
    });
}
