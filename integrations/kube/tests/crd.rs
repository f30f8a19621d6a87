//! Loads definitions of `kube` with unions.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use fieldmanager::unions::KubeUnion;
use fieldmanager::unions::Ratcheting;
use fieldmanager::{
    ApplyRequest, Duplicates, FieldManager, GroupVersionKind, Time, TypedValue, Types,
    UpdateRequest, Value,
};
use fieldmanager_kube::CrdWithUnions;
use fieldmanager_schema::internal::type_definitions;
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "App")]
struct AppSpec {
    respecting: Source,
    optional: Option<Source>,
    may_be_missing: Option<MayBeMissing>,
    list: Vec<Source>,
    #[serde(default)]
    deducing: Deducing,
    validated: Option<Checked>,
    several: Option<Several>,
}

#[derive(Clone, Debug, KubeUnion)]
enum Source {
    /// A repository.
    Git(Git),
    Image(Image),
    None,
}

#[derive(Clone, Debug, KubeUnion)]
#[kube_union(optional)]
enum MayBeMissing {
    Git(Git),
    #[kube_union(optional)]
    Image(Option<Image>),
    None,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
struct Git {
    url: String,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
struct Image {
    name: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, JsonSchema, KubeUnion)]
#[kube_union(discriminator = "kind", deducing)]
#[schemars(transform = Deducing::kube_union)]
struct Deducing {
    kind: Option<Kind>,
    #[kube_union(member)]
    a: Option<String>,
    #[kube_union(member = "BB")]
    b: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema, KubeUnion)]
enum Kind {
    A,
    #[serde(rename = "BB")]
    B,
}

/// Uses `KubeSchema` instead of `JsonSchema`.
#[derive(Serialize, Deserialize, Clone, Debug, KubeSchema, KubeUnion)]
#[kube_union(discriminator = "kind", optional)]
#[schemars(transform = Checked::kube_union)]
#[x_kube(validation = ("self.a != 'x'", "not x"))]
struct Checked {
    kind: Option<Kind>,
    #[kube_union(member)]
    #[x_kube(validation = "self != 'y'")]
    a: Option<String>,
    #[kube_union(member = "BB", optional)]
    b: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema, KubeUnion)]
#[kube_union(name = "source", discriminator = "kind", optional)]
#[kube_union(name = "trigger", deducing)]
#[schemars(transform = Several::kube_union)]
struct Several {
    kind: Option<Kind>,
    #[kube_union(member, union = "source")]
    a: Option<String>,
    #[kube_union(member = "BB", union = "source")]
    b: Option<String>,
    #[kube_union(member, union = "trigger")]
    webhook: Option<String>,
    #[kube_union(member, union = "trigger")]
    schedule: Option<String>,
}

fn crd() -> serde_json::Value {
    App::crd_with_unions().unwrap()
}

fn spec() -> serde_json::Value {
    crd()
        .pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties")
        .unwrap()
        .clone()
}

#[test]
fn only_unions_are_added_to_the_definition() {
    fn without_unions(value: &mut serde_json::Value) {
        if let Some(map) = value.as_object_mut() {
            map.remove("x-kubernetes-unions");
            map.values_mut().for_each(without_unions);
        } else if let Some(list) = value.as_array_mut() {
            list.iter_mut().for_each(without_unions);
        }
    }
    let mut added = crd();
    without_unions(&mut added);
    assert_eq!(added, serde_json::to_value(App::crd()).unwrap());
    assert_ne!(added, crd());
}

#[test]
fn unions_are_added_at_every_occurrence_of_the_type() {
    let spec = spec();
    let source =
        json!({"fieldMembers": {"Git": {"name": "git"}, "Image": {"name": "image"}, "None": null}});
    for place in ["/respecting", "/optional", "/list/items"] {
        let kind = spec.pointer(&format!("{place}/properties/type")).unwrap();
        assert_eq!(kind["x-kubernetes-unions"], source, "{place}");
        assert_eq!(kind["enum"], json!(["Git", "Image", "None"]), "{place}");
    }
    let union =
        json!([{"discriminator": "kind", "fields-to-discriminateBy": {"a": "A", "b": "BB"}}]);
    assert_eq!(spec["deducing"]["x-kubernetes-unions"], union);
    assert_eq!(
        spec["validated"]["properties"]["kind"]["x-kubernetes-unions"],
        json!({"fieldMembers": {"A": {"name": "a"}, "BB": {"name": "b", "optional": true}, "": null}}),
    );
    assert_eq!(
        spec["several"]["properties"]["kind"]["x-kubernetes-unions"],
        json!({"fieldMembers": {"A": {"name": "a"}, "BB": {"name": "b"}, "": null}}),
    );
    assert_eq!(
        spec["several"]["x-kubernetes-unions"],
        json!([{"fields-to-discriminateBy": {"webhook": "Webhook", "schedule": "Schedule"}}]),
    );
    assert_eq!(
        spec["validated"]["x-kubernetes-validations"][0]["message"],
        "not x"
    );
}

fn types() -> Types {
    Types::load(&Value::from_json(&crd().to_string()).unwrap()).unwrap()
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("example.com", "v1", "App")
}

fn object(spec: &str) -> Value {
    Value::from_yaml(&format!(
        "{{apiVersion: example.com/v1, kind: App, metadata: {{name: a}}, spec: {spec}}}"
    ))
    .unwrap()
}

#[test]
fn definition_loads_with_its_unions() {
    let schema = format!("{:?}", type_definitions(types().schema()));
    let count = |part| schema.matches(part).count();
    assert_eq!(count("Union {"), 8, "{schema}");
    assert_eq!(
        (count("closed: true"), count("deduce: true")),
        (6, 1),
        "{schema}"
    );
}

#[test]
fn update_is_normalized() {
    let manager = FieldManager::builder(kind())
        .types(types())
        .build()
        .unwrap();
    let now: Time = "2026-01-31T12:00:00Z".parse().unwrap();
    let old = object("{respecting: {type: Git, git: {url: u}}, deducing: {kind: A, a: x}}");
    let old = manager
        .update(
            UpdateRequest::new(&Value::Null, &old)
                .manager("one")
                .at(now),
        )
        .unwrap()
        .object;
    let new = object(
        "{respecting: {type: Image, git: {url: u}, image: {}}, deducing: {kind: A, a: x, b: v}}",
    );
    let new = manager
        .update(UpdateRequest::new(&old, &new).manager("two").at(now))
        .unwrap()
        .object;
    assert_eq!(
        new.get("spec").unwrap().to_json(),
        r#"{"deducing":{"b":"v","kind":"BB"},"respecting":{"image":{},"type":"Image"}}"#,
    );
}

/// Each union of a struct is normalized and validated separately.
#[test]
fn several_unions_of_a_struct_are_independent() {
    let manager = FieldManager::builder(kind())
        .types(types())
        .build()
        .unwrap();
    let now: Time = "2026-01-31T12:00:00Z".parse().unwrap();
    let old = object("{several: {kind: A, a: x, webhook: w}}");
    let old = manager
        .update(
            UpdateRequest::new(&Value::Null, &old)
                .manager("one")
                .at(now),
        )
        .unwrap()
        .object;
    let new = object("{several: {kind: BB, a: x, b: z, webhook: w, schedule: s}}");
    let new = manager
        .update(UpdateRequest::new(&old, &new).manager("two").at(now))
        .unwrap()
        .object;
    assert_eq!(
        new.get("spec").unwrap().to_json(),
        r#"{"several":{"b":"z","kind":"BB","schedule":"s"}}"#
    );
    let app = types().for_kind(&kind()).unwrap();
    let both = object("{several: {kind: A, b: z, webhook: w, schedule: s}}");
    let both = TypedValue::new(both, app.clone(), Duplicates::Refuse).unwrap();
    let faults = TypedValue::null(app).validate_unions(&both, Ratcheting::Off);
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            ".spec.several: must specify at most one of: `schedule`, `webhook`",
            ".spec.several.a: must be specified when `kind` is \"A\"",
            ".spec.several.b: may only be specified when `kind` is \"BB\"",
        ],
    );
}

#[test]
fn another_member_is_a_conflict_on_the_discriminator() {
    let manager = FieldManager::builder(kind())
        .types(types())
        .build()
        .unwrap();
    let now: Time = "2026-01-31T12:00:00Z".parse().unwrap();
    let apply = |live: &Value, spec: &str, by: &str, force| {
        manager.apply(
            ApplyRequest::new(live, &object(spec))
                .manager(by)
                .force_if(force)
                .at(now),
        )
    };
    let live = "{respecting: {type: Git, git: {url: u}}, deducing: {a: x}}";
    let live = apply(&Value::Null, live, "one", false).unwrap().object;
    for (spec, path) in [
        (
            "{respecting: {type: Image, image: {}}}",
            ".spec.respecting.type",
        ),
        ("{respecting: {type: None}}", ".spec.respecting.type"),
        ("{deducing: {b: v}}", ".spec.deducing.kind"),
    ] {
        let refused = apply(&live, spec, "two", false).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("Apply failed with 1 conflict: conflict with \"one\": {path}")
        );
    }
    let forced = apply(&live, "{respecting: {type: None}}", "two", true)
        .unwrap()
        .object;
    assert_eq!(
        forced.get("spec").unwrap().to_json(),
        r#"{"deducing":{"a":"x","kind":"A"},"respecting":{"type":"None"}}"#,
    );
}

/// Rust deserializes exactly the values that the library considers valid.
#[test]
fn sum_types_accept_what_validation_accepts() {
    let app = types().for_kind(&kind()).unwrap();
    let nothing = TypedValue::null(app.clone());
    let is_valid = |field: &str, union: &serde_json::Value| {
        let object = object(&json!({ field: union }).to_string());
        let object = TypedValue::new(object, app.clone(), Duplicates::Refuse).unwrap();
        nothing.validate_unions(&object, Ratcheting::Off).is_empty()
    };
    let git = json!({"url": "u"});
    let mut accepted = 0;
    for value in [
        None,
        Some(""),
        Some("Git"),
        Some("Image"),
        Some("None"),
        Some("Queue"),
    ] {
        for git in [None, Some(json!(null)), Some(git.clone())] {
            for image in [None, Some(json!(null)), Some(json!({}))] {
                let entries = [
                    ("type", value.map(Into::into)),
                    ("git", git.clone()),
                    ("image", image),
                ];
                let entries = entries
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_owned(), value?)));
                let union = serde_json::Value::Object(entries.collect());
                let read = serde_json::from_value::<Source>(union.clone());
                assert_eq!(
                    read.is_ok(),
                    is_valid("respecting", &union),
                    "{union}: {read:?}"
                );
                accepted += usize::from(read.is_ok());
                let read = serde_json::from_value::<MayBeMissing>(union.clone());
                assert_eq!(
                    read.is_ok(),
                    is_valid("may_be_missing", &union),
                    "{union}: {read:?}"
                );
                accepted += usize::from(read.is_ok());
            }
        }
    }
    // Of `Source` 8: a member alone or beside a null, and `None` without members. Of the other 20: the same, with an
    // unset image, and with a missing or empty discriminator.
    assert_eq!(accepted, 28);
}
