//! The cost of schemas designed to be expensive, measured in allocated bytes and in steps, which do not depend on the
//! machine.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use allocation_counter::measure;
use fieldmanager_structural::MAX_DEFAULT_BYTES;
use fieldmanager_structural::{Error, Structural};
use fieldmanager_value::internal::{Stopped, Work};
use fieldmanager_value::{Map, Value};

/// A schema whose default is an array of ten empty objects, each of which has the default of the next level.
fn nested_defaults(levels: usize) -> Structural {
    let innermost =
        r#"{"type":"object","properties":{"a":{"type":"integer","default":1}}}"#.to_owned();
    let items = ["{}"; 10].join(",");
    let schema = (0..levels).fold(innermost, |below, _| {
        format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"array","default":[{items}],"items":{below}}}}}}}"#
        )
    });
    Structural::from_value(&Value::from_json(&schema).unwrap()).unwrap()
}

#[test]
fn nested_defaults_are_computed_once_and_shared() {
    let empty = Value::Map(Map::new());
    let cost = |levels: usize| {
        let schema = nested_defaults(levels);
        measure(|| drop(schema.default_object(&empty).unwrap())).bytes_total
    };
    // The JSON of each level is ten times as large.
    assert!(
        cost(6) < 4 * cost(3),
        "{} bytes for 3 levels, {} for 6",
        cost(3),
        cost(6)
    );
}

#[test]
fn shared_default_equals_the_default_of_each_place() {
    let object = nested_defaults(2)
        .default_object(&Value::from_json(r#"{"a":[{},{"a":[]}]}"#).unwrap())
        .unwrap();
    let inner = format!("[{}]", [r#"{"a":1}"#; 10].join(","));
    assert_eq!(
        object.to_json(),
        format!(r#"{{"a":[{{"a":{inner}}},{{"a":[]}}]}}"#)
    );
}

#[test]
fn oversized_defaults_are_refused() {
    let empty = Value::Map(Map::new());
    let error = nested_defaults(8).default_object(&empty).unwrap_err();
    assert!(
        matches!(
            error,
            Error::DefaultsTooLarge {
                limit: MAX_DEFAULT_BYTES,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "`a[0].a[1].a`: the defaults of the schema add more than 16777216 bytes to the object",
    );
    let object = nested_defaults(5).default_object(&empty).unwrap();
    assert!(object.to_json().len() < MAX_DEFAULT_BYTES);
}

#[cfg(feature = "validation")]
mod validation {
    use super::*;
    use fieldmanager_structural::validation::Validator;

    fn validator(schema: &str) -> Validator {
        Validator::new(&Value::from_json(schema).unwrap()).unwrap()
    }

    fn steps<T>(work: impl FnOnce() -> T) -> u64 {
        let counted = Work::new();
        counted.run(work).unwrap();
        counted.steps()
    }

    #[test]
    fn steps_are_the_product_of_schemas_and_values() {
        let part =
            r#"{"maximum":1,"maxLength":3,"required":["x"],"properties":{"x":{"minimum":0}}}"#;
        let all_of = |parts: usize| {
            validator(&format!(
                r#"{{"items":{{"allOf":[{}]}}}}"#,
                vec![part; parts].join(",")
            ))
        };
        let list = |item: &str, items: usize| {
            Value::from_json(&format!("[{}]", vec![item; items].join(","))).unwrap()
        };

        for item in [
            "0",
            r#"{"x":1,"y":2}"#,
            r#""0123456789012345678901234567890123456789""#,
        ] {
            let count = |parts, items| {
                let (validator, object) = (all_of(parts), list(item, items));
                steps(|| validator.validate(&object))
            };
            let (small, large) = (count(20, 30), count(200, 300));
            assert!(
                small >= 20 * 30 && large >= 200 * 300,
                "{item}: {small}, {large}"
            );
            assert!(
                (90 * small..=110 * small).contains(&large),
                "{item}: {small}, {large}"
            );
        }

        // Far fewer than the six billion visits take place.
        let (validator, object) = (all_of(20_000), list("0", 300_000));
        let work = Work::with_limit(100_000);
        assert_eq!(work.run(|| validator.validate(&object)), Err(Stopped));
        assert!(work.steps() < 200_000, "{}", work.steps());
    }

    #[test]
    fn loops_without_a_schema_for_each_value_count_steps() {
        let names = |count: usize| {
            (0..count)
                .map(|n| format!(r#""p{n}""#))
                .collect::<Vec<_>>()
                .join(",")
        };
        let list =
            |item: &str| Value::from_json(&format!("[{}]", vec![item; 100].join(","))).unwrap();

        let required = validator(&format!(r#"{{"items":{{"required":[{}]}}}}"#, names(1000)));
        assert!(steps(|| required.validate(&list("{}"))) >= 100_000);

        let numbers = (0..1000)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(",");
        let one_of = validator(&format!(r#"{{"items":{{"enum":[{numbers}]}}}}"#));
        assert!(steps(|| one_of.validate(&list("-1"))) >= 100_000);

        let properties = names(1000).replace(',', ":{},") + ":{}";
        let schema = format!(
            r#"{{"type":"object","properties":{{"a":{{"items":{{"properties":{{{properties}}}}}}}}}}}"#
        );
        let schema = Structural::from_value(&Value::from_json(&schema).unwrap()).unwrap();
        let object = Value::Map(Map::from_iter([(
            fieldmanager_value::Str::from("a"),
            list("{}"),
        )]));
        assert!(steps(|| schema.default_object(&object).unwrap()) >= 100_000);
    }

    #[test]
    fn patterns_that_no_value_uses_take_no_memory() {
        let property =
            |n: usize| format!(r#""p{n}":{{"pattern":"^\\p{{Han}}{{110}}\\pL{{100}}{n}$"}}"#);
        let schema = format!(
            r#"{{"properties":{{{}}}}}"#,
            (0..250).map(property).collect::<Vec<_>>().join(",")
        );
        assert!(schema.len() < 15_000);

        let (mut unused, mut used) = (None, Vec::new());
        let counted = measure(|| unused = Some(validator(&schema)));
        assert!(counted.bytes_max < 500_000, "{}", counted.bytes_max);

        // One of them is compiled.
        let counted = measure(|| {
            used = unused
                .as_ref()
                .unwrap()
                .validate(&Value::from_json(r#"{"p7":"a"}"#).unwrap())
        });
        assert_eq!(used.len(), 1);
        assert!(
            (1_000_000..30_000_000).contains(&counted.bytes_max),
            "{}",
            counted.bytes_max
        );
    }
}
