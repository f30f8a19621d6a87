//! The messages of all errors of the crate.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers may panic"
)]

use std::fmt::Display;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_managedfields::{
    ApplyRequest, ConvertError, Entry, Error, ErrorKind, ExtractRequest, FieldManager,
    ManagedFields, ObjectConverter, ObjectError, RequestKind, RequestOptions, Selector, Status,
    Time, UpdateRequest,
};
use fieldmanager_openapi::internal::types_of;
use fieldmanager_openapi::{GroupVersionKind, KindError, Types};
use fieldmanager_schema::Schema;
use fieldmanager_value::{Kind, Value};

fn value(json: &str) -> Value {
    Value::from_json(json).unwrap()
}

fn noon() -> Time {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn shop() -> GroupVersionKind {
    GroupVersionKind::from_api_version_kind("example.com/v1", "Shop")
}

fn types() -> Types {
    let yaml = "
    types:
    - name: shop
      map:
        fields:
        - {name: apiVersion, type: {scalar: string}}
        - {name: kind, type: {scalar: string}}
        - {name: metadata, type: {map: {elementType: {scalar: untyped}}}}
        - {name: size, type: {scalar: numeric}}
    ";
    types_of(Schema::from_yaml(yaml).unwrap(), [(shop(), "shop".into())])
}

fn manager() -> FieldManager {
    FieldManager::builder(shop())
        .types(types())
        .build()
        .unwrap()
}

fn object(rest: &str) -> Value {
    value(&format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Shop","metadata":{{"name":"x"}}{rest}}}"#
    ))
}

#[track_caller]
fn check(error: &impl Display, text: &str) {
    assert_eq!(error.to_string(), text);
}

#[test]
fn entries() {
    let cases = [
        ("1", ": expected a map, got integer"),
        (
            "{}",
            ".operation: operation must be `Apply` or `Update`, got ``",
        ),
        (
            r#"{"operation":1}"#,
            ".operation: expected string, got integer",
        ),
        (
            r#"{"operation":"Apply"}"#,
            ".apiVersion: apiVersion must not be empty",
        ),
        (
            r#"{"operation":"Apply","apiVersion":"v1"}"#,
            ".fieldsType: missing fieldsType, `FieldsV1` is accepted",
        ),
        (
            r#"{"operation":"Apply","apiVersion":"v1","fieldsType":"X"}"#,
            ".fieldsType: invalid fieldsType `X`, `FieldsV1` is accepted",
        ),
        (
            r#"{"operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","time":"noon"}"#,
            ".time: expected a time like 2026-01-31T12:00:00Z, got `noon`",
        ),
    ];
    for (entry, text) in cases {
        let error = Entry::from_value(2, &value(entry)).unwrap_err();
        check(&error, &format!(".metadata.managedFields[2]{text}"));
        check(
            &Error::from(error),
            &format!("failed to decode managed fields: .metadata.managedFields[2]{text}"),
        );
    }
    let error = ManagedFields::decode(Some(&value("{}"))).unwrap_err();
    check(
        &error,
        ".metadata.managedFields[0]: expected a list of entries, got map",
    );
    check(
        &"noon".parse::<Time>().unwrap_err(),
        "expected a time like 2026-01-31T12:00:00Z, got `noon`",
    );
}

/// Failed requests: the kind of the error, and the code and message of the answer.
#[test]
fn operations() {
    let apply = |live: &Value, config: &Value| {
        manager()
            .apply(ApplyRequest::new(live, config).manager("ci").at(noon()))
            .unwrap_err()
    };
    let live = manager()
        .apply(
            ApplyRequest::new(&Value::Null, &object(r#","size":1"#))
                .manager("ops")
                .at(noon()),
        )
        .unwrap()
        .object;
    let broken = value(
        r#"{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"managedFields":[{"manager":"x"}]}}"#,
    );
    let cases = [
        (
            apply(&live, &object(r#","size":2"#)),
            (ErrorKind::Conflict, 409),
            r#"Apply failed with 1 conflict: conflict with "ops": .size"#,
        ),
        (
            apply(&live, &value("{}")),
            (ErrorKind::Request, 400),
            "invalid object type: /, Kind=",
        ),
        (
            apply(&live, &value("[]")),
            (ErrorKind::Request, 400),
            "configuration: expected an object, got list",
        ),
        (
            apply(&value("1"), &object("")),
            (ErrorKind::Stored, 500),
            "live object: expected an object, got integer",
        ),
        (
            apply(
                &live,
                &value(r#"{"apiVersion":"example.com/v1","kind":"Shop","metadata":[]}"#),
            ),
            (ErrorKind::Request, 400),
            "failed to create typed patch object (/; example.com/v1, Kind=Shop): .metadata: expected map, got list",
        ),
        (
            apply(
                &live,
                &value(
                    r#"{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"managedFields":[]}}"#,
                ),
            ),
            (ErrorKind::Request, 400),
            "metadata.managedFields must be nil",
        ),
        (
            apply(&broken, &object("")),
            (ErrorKind::Stored, 500),
            "failed to decode managed fields: .metadata.managedFields[0].operation: \
             operation must be `Apply` or `Update`, got ``",
        ),
        (
            apply(&live, &object(r#","sise":1"#)),
            (ErrorKind::Request, 400),
            "failed to create typed patch object (/x; example.com/v1, Kind=Shop): \
             .sise: field not declared in schema, the nearest declared are `size`",
        ),
    ];
    for (error, (kind, code), text) in cases {
        check(&error, text);
        assert_eq!(error.kind(), kind, "{text}");
        assert_eq!(error.status().code, code, "{text}");
        assert_eq!(error.status().message, text);
    }
    check(
        &apply(&object(r#","size":"x""#), &object("")),
        "failed to convert new object (/x; example.com/v1, Kind=Shop) to smd typed: \
         .size: expected numeric, got \"x\"",
    );
}

#[test]
fn several_conflicts() {
    let any = FieldManager::builder(shop()).build().unwrap();
    let apply = |live: &Value, rest: &str, name: &str| {
        any.apply(
            ApplyRequest::new(live, &object(rest))
                .manager(name)
                .at(noon()),
        )
    };
    let live = apply(&Value::Null, r#","size":1,"x":1"#, "b")
        .unwrap()
        .object;
    let live = any
        .update(
            UpdateRequest::new(&live, &with(&live, "y"))
                .manager("a")
                .at(noon()),
        )
        .unwrap()
        .object;
    let error = apply(&live, r#","size":2,"x":2,"y":2"#, "c").unwrap_err();
    check(
        &error,
        "Apply failed with 3 conflicts: conflicts with \"a\" using example.com/v1:\n- .y\nconflicts with \"b\":\n- .size\n- .x",
    );
    let status = serde_json::to_value(error.status()).unwrap();
    assert_eq!(
        status["details"]["causes"][0]["message"],
        r#"conflict with "a" using example.com/v1"#
    );
}

/// The object with one more field.
fn with(object: &Value, name: &str) -> Value {
    let mut fields = object.as_map().unwrap().clone();
    fields.insert(name, 1);
    Value::Map(fields)
}

struct Broken;

impl ObjectConverter for Broken {
    fn convert(&self, _: &Value, version: &ApiVersion) -> Result<Value, ConvertError> {
        Err(ConvertError::Failed {
            version: version.clone(),
            message: "the webhook is down".to_owned(),
        })
    }
}

#[test]
fn conversions() {
    let manager = FieldManager::builder(shop())
        .types(types())
        .converter(Broken)
        .build()
        .unwrap();
    let live = value(
        r#"{"apiVersion":"example.com/v2","kind":"Shop","metadata":{"name":"x","namespace":"y"}}"#,
    );
    let error = manager
        .update(
            UpdateRequest::new(&live, &object(r#","size":1"#))
                .manager("ci")
                .at(noon()),
        )
        .unwrap_err();
    check(
        &error,
        "failed to convert live object (y/x; example.com/v2, Kind=Shop) to proper version: \
         cannot convert to version `example.com/v1`: the webhook is down",
    );
    assert_eq!(
        (error.kind(), error.status().code),
        (ErrorKind::Conversion, 500)
    );
    check(
        &ConvertError::MissingVersion {
            version: "v9".into(),
        },
        "there is no version `v9`",
    );
}

#[test]
fn kinds() {
    let unknown = GroupVersionKind::from_api_version_kind("example.com/v1", "Shops");
    let error = FieldManager::builder(unknown.clone())
        .types(types())
        .build()
        .err()
        .unwrap();
    check(
        &error,
        "no corresponding type for example.com/v1, Kind=Shops, did you mean example.com/v1 Shop",
    );
    let error = Error::Kind {
        action: "find the type of the entry's version",
        object: "/x; example.com/v1, Kind=Shops".to_owned(),
        source: KindError::Unknown {
            kind: unknown,
            nearest: Vec::new(),
        },
    };
    check(
        &error,
        "failed to find the type of the entry's version (/x; example.com/v1, Kind=Shops): \
         no corresponding type for example.com/v1, Kind=Shops",
    );
    assert_eq!(error.kind(), ErrorKind::Schema);
}

#[test]
fn extracts() {
    let live = manager()
        .apply(
            ApplyRequest::new(&Value::Null, &object(r#","size":1"#))
                .manager("ci")
                .at(noon()),
        )
        .unwrap()
        .object;
    let mut fields = live.as_map().unwrap().clone();
    fields.insert("apiVersion", "example.com/v2");
    let other = Value::Map(fields);
    let ty = types().for_kind(&shop()).unwrap();
    let extract = |object: &Value| {
        fieldmanager_managedfields::extract(ExtractRequest::new(object, &ty, "ci"))
    };
    check(
        &extract(&other).unwrap_err(),
        "failed to extract from object (/x; example.com/v2, Kind=Shop): \
         cannot convert to version `example.com/v1`: the object is at `example.com/v2`, convert it first",
    );
    check(
        &extract(&with(&live, "sise")).unwrap_err(),
        "failed to convert object (/x; example.com/v1, Kind=Shop) to smd typed: \
         .sise: field not declared in schema, the nearest declared are `size`",
    );
}

#[test]
fn migrations() {
    let list = r#"[
        {"manager":"a","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","subresource":"s"},
        {"manager":"b","operation":"Apply","apiVersion":"v2","fieldsType":"FieldsV1","subresource":"s"}
    ]"#;
    let error = ManagedFields::decode(Some(&value(list)))
        .unwrap()
        .rename(&Selector::manager("a"), "b")
        .unwrap_err();
    check(
        &error,
        r#"cannot unite entries of "b" with subresource "s" at v1 and v2: expected one version, apply again first"#,
    );
}

#[test]
fn objects() {
    let config = serde_json::json!({"apiVersion": "example.com/v1", "kind": "Shop", "size": 1});
    let error = manager()
        .apply_object(ApplyRequest::for_objects(None::<&Vec<i64>>, &config))
        .unwrap_err();
    let ObjectError::Deserialize { source } = &error else {
        panic!("{error}")
    };
    check(&error, &format!("cannot deserialize the result: {source}"));
    let bytes = std::collections::BTreeMap::from([((1, 2), 3)]);
    let error = manager()
        .apply_object(ApplyRequest::for_objects(
            None::<&serde_json::Value>,
            &bytes,
        ))
        .unwrap_err();
    let ObjectError::Serialize { source, .. } = &error else {
        panic!("{error}")
    };
    check(
        &error,
        &format!("cannot serialize the configuration: {source}"),
    );
    let error = ObjectError::from(Error::NotAnObject {
        what: "new object",
        expected: "an object",
        found: Kind::Null,
    });
    check(&error, "new object: expected an object, got null");
}

#[test]
fn requests() {
    let options = RequestOptions::default().field_manager("a\n").force(true);
    check(
        &options.validate(RequestKind::Patch).unwrap_err(),
        "force: Forbidden: may not be specified for non-apply patch\n\
         fieldManager: Invalid value: \"a\\n\": invalid character U+000A (at position 1)",
    );
    assert_eq!(
        options
            .validate(RequestKind::Patch)
            .unwrap_err()
            .status()
            .message,
        "PatchOptions.meta.k8s.io \"\" is invalid: [force: Forbidden: may not be specified for non-apply patch, \
         fieldManager: Invalid value: \"a\\n\": invalid character U+000A (at position 1)]",
    );
    assert_eq!(Status::internal("x").code, 500);
}
