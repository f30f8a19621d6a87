//! Large and deep documents are imported or refused in linear time.

use fieldmanager_openapi::Importer;
use fieldmanager_openapi::internal::import_definitions;
use fieldmanager_testing::assert_linear;
use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

use super::{faults_of, import};

/// Wraps a schema `depth` times. It is built by hand, because no parser accepts that depth.
fn nested(depth: usize, wrap: impl Fn(Value) -> Map) -> Value {
    let mut schema = Value::Map(Map::single("type", "string"));
    for _ in 0..depth {
        schema = Value::Map(wrap(schema));
    }
    schema
}

fn error_of(schema: &Value) -> String {
    let definitions = [(Str::from("t"), schema.clone())];
    let result = import_definitions(
        &Importer::new(),
        definitions.iter().map(|(name, schema)| (name, schema)),
    );
    result.map_or_else(|error| error.to_string(), |_| "none".to_owned())
}

#[test]
fn a_large_text_of_nested_all_of_is_refused() {
    let text = |levels: usize| {
        format!(
            "{{\"definitions\":{{\"t\":{}{{}}{}}}}}",
            "{\"allOf\":[".repeat(levels),
            "]}".repeat(levels)
        )
    };
    assert_linear("levels", 62_500, text, |text| {
        let error = Value::from_json(text).unwrap_err();
        assert!(error.to_string().contains("256"), "{error}");
    });
}

/// They do not affect the type, at any depth.
#[test]
fn nested_all_of_is_not_walked() {
    let deep = nested(MAX_DEPTH, |schema| {
        Map::single("allOf", Value::List([schema].into_iter().collect()))
    });
    let property = Map::single("t", deep);
    let mut schema = Map::single("type", "object");
    schema.insert("properties", property);
    assert_eq!(error_of(&Value::Map(schema)), "none");
}

#[test]
fn nesting_is_bounded() {
    let property = |schema: Value| {
        let mut out = Map::single("type", "object");
        out.insert("properties", Map::single("a", schema));
        out
    };
    let items = |schema: Value| {
        let mut out = Map::single("type", "array");
        out.insert("items", schema);
        out
    };
    let additional = |schema: Value| Map::single("additionalProperties", schema);
    assert_eq!(error_of(&nested(MAX_DEPTH - 1, property)), "none");
    assert_eq!(error_of(&nested(MAX_DEPTH - 1, items)), "none");
    assert_eq!(error_of(&nested(MAX_DEPTH - 1, additional)), "none");
    let cases: [(&str, Value); 3] = [
        (".properties.a", nested(MAX_DEPTH, property)),
        (".items", nested(MAX_DEPTH + 50, items)),
        (".additionalProperties", nested(MAX_DEPTH + 50, additional)),
    ];
    for (step, schema) in cases {
        let place = step.repeat(MAX_DEPTH);
        let expected = format!("definition `t`: {place}: nesting is deeper than 256 levels");
        assert_eq!(error_of(&schema), expected);
    }
}

/// The search for similar names is expensive: its cost must not grow with the number of unknown names.
#[test]
fn many_faults_take_linear_time() {
    let definitions = |n: usize| {
        let missing = |i| format!("d{i}: {{type: array, items: {{$ref: missing{i}}}}}\n");
        (n, (0..n).map(missing).collect::<String>())
    };
    assert_linear("faults", 1_250, definitions, |(n, definitions)| {
        assert_eq!(faults_of(definitions).len(), *n);
        let imported = import(&Importer::new().keep_good(true), definitions).unwrap();
        assert_eq!(imported.faults.len(), *n);
    });
}

#[test]
fn many_fields_take_linear_time() {
    let definitions = |n: usize| {
        let fields: String = (0..n * 25)
            .map(|i| format!("f{i}: {{type: string}}, "))
            .collect();
        let members: String = (0..n).map(|i| format!("f{i}: F{i}, ")).collect();
        format!(
            "{{t: {{type: object, properties: {{{fields}}}, x-kubernetes-unions: [{{fields: {{{members}}}}}]}}}}"
        )
    };
    assert_linear("fields", 125, definitions, |definitions| {
        assert!(import(&Importer::new(), definitions).is_ok());
    });
}
