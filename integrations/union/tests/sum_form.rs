//! Enums with data.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use fieldmanager::KubeUnion;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
struct Git {
    url: String,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
struct Image {
    tag: String,
}

/// The location.
#[derive(Clone, Debug, PartialEq, KubeUnion)]
enum Source {
    /// A repository.
    Git(Git),
    OciImage(Image),
    None,
}

#[derive(Clone, Debug, PartialEq, KubeUnion)]
#[kube_union(discriminator = "kind", optional)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Sink<T> {
    #[kube_union(member = "GitRepo")]
    #[serde(alias = "repo")]
    Git(T),
    #[kube_union(optional)]
    OciImage(Option<Image>),
    #[kube_union(value = "Nothing")]
    None,
    #[kube_union(other)]
    Other(String),
}

#[derive(Clone, Debug, PartialEq, KubeUnion)]
#[kube_union(deducing)]
enum Old {
    Git(Git),
    #[serde(rename = "img")]
    Image(Image),
    None,
}

fn git() -> Git {
    Git { url: "u".into() }
}

fn image() -> Image {
    Image { tag: "t".into() }
}

fn assert_round_trip<T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug>(
    value: &T,
    json: &Value,
) {
    assert_eq!(serde_json::to_value(value).unwrap(), *json);
    assert_eq!(serde_json::from_value::<T>(json.clone()).unwrap(), *value);
    assert_eq!(
        serde_json::from_str::<T>(&json.to_string()).unwrap(),
        *value
    );
}

fn read_error<T: for<'a> Deserialize<'a> + std::fmt::Debug>(json: Value) -> String {
    serde_json::from_value::<T>(json).unwrap_err().to_string()
}

#[test]
fn variants_are_member_fields() {
    assert_round_trip(
        &Source::Git(git()),
        &json!({"type": "Git", "git": {"url": "u"}}),
    );
    assert_round_trip(
        &Source::OciImage(image()),
        &json!({"type": "OciImage", "ociImage": {"tag": "t"}}),
    );
    assert_round_trip(&Source::None, &json!({"type": "None"}));
    let null = json!({"type": "Git", "git": {"url": "u"}, "ociImage": null});
    assert_eq!(
        serde_json::from_value::<Source>(null).unwrap(),
        Source::Git(git())
    );
}

#[test]
fn names_and_values_follow_the_attributes() {
    assert_round_trip(&Sink::Git(1), &json!({"kind": "GitRepo", "git": 1}));
    assert_round_trip(&Sink::<u8>::OciImage(None), &json!({"kind": "OciImage"}));
    assert_round_trip(
        &Sink::<u8>::OciImage(Some(image())),
        &json!({"kind": "OciImage", "oci_image": {"tag": "t"}}),
    );
    assert_round_trip(&Sink::<u8>::None, &json!({"kind": "Nothing"}));
    assert_round_trip(
        &Old::Image(image()),
        &json!({"type": "Image", "img": {"tag": "t"}}),
    );
    let alias = json!({"kind": "GitRepo", "repo": 2});
    assert_eq!(
        serde_json::from_value::<Sink<u8>>(alias).unwrap(),
        Sink::Git(2)
    );
    assert!(
        read_error::<Sink<u8>>(json!({"kind": "GitRepo", "git": 1, "x": 1}))
            .starts_with("unknown field `x`")
    );
}

#[test]
fn several_members_are_rejected() {
    let both = json!({"type": "Git", "git": {"url": "u"}, "ociImage": {"tag": "t"}});
    assert_eq!(
        read_error::<Source>(both),
        "must specify at most one of: `git`, `ociImage`, got all of them"
    );
    let both = json!({"git": {"url": "u"}, "ociImage": {"tag": "t"}});
    assert_eq!(
        read_error::<Source>(both),
        "must specify at most one of: `git`, `ociImage`, got all of them"
    );
}

#[test]
fn contradictory_discriminators_are_rejected() {
    assert_eq!(
        read_error::<Source>(json!({"type": "None", "git": {"url": "u"}})),
        r#"`git` may only be specified when `type` is "Git", got "None""#,
    );
    assert_eq!(
        read_error::<Source>(json!({"git": {"url": "u"}})),
        r#"`git` may only be specified when `type` is "Git", got no value"#,
    );
    assert_eq!(
        read_error::<Source>(json!({"type": "Git"})),
        r#"`git` must be specified when `type` is "Git""#
    );
    assert_eq!(
        read_error::<Source>(json!({})),
        r#"missing field `type`: supported values: "Git", "OciImage", "None""#,
    );
}

#[test]
fn unknown_values_are_an_error_or_the_other_variant() {
    assert_eq!(
        read_error::<Source>(json!({"type": "Queue", "queue": {}})),
        r#"unsupported value of `type`: "Queue": supported values: "Git", "OciImage", "None""#,
    );
    assert_round_trip(
        &Sink::<u8>::Other("Queue".into()),
        &json!({"kind": "Queue"}),
    );
    assert_eq!(
        read_error::<Sink<u8>>(json!({"kind": "Queue", "git": 1})),
        r#"`git` may only be specified when `kind` is "GitRepo", got "Queue""#,
    );
}

#[test]
fn absent_discriminators_select_the_variant_without_data() {
    assert_eq!(
        serde_json::from_value::<Sink<u8>>(json!({})).unwrap(),
        Sink::None
    );
    assert_eq!(
        serde_json::from_value::<Sink<u8>>(json!({"kind": ""})).unwrap(),
        Sink::None
    );
    assert_eq!(serde_json::from_value::<Old>(json!({})).unwrap(), Old::None);
    assert_eq!(
        read_error::<Sink<u8>>(json!({"git": 1})),
        r#"`git` may only be specified when `kind` is "GitRepo", got no value"#,
    );
}

#[test]
fn deducing_unions_are_read_without_a_discriminator() {
    let read = |json| serde_json::from_value::<Old>(json).unwrap();
    assert_eq!(read(json!({"git": {"url": "u"}})), Old::Git(git()));
    assert_eq!(
        read(json!({"type": "", "git": {"url": "u"}})),
        Old::Git(git())
    );
}

#[test]
fn schema_contains_members_values_and_the_union() {
    let schema = schema_for!(Source).to_value();
    assert_eq!(schema["title"], "Source");
    assert_eq!(schema["description"], "The location.");
    assert_eq!(schema["required"], json!(["type"]));
    assert_eq!(
        schema["properties"]["type"],
        json!({
            "type": "string",
            "enum": ["Git", "OciImage", "None"],
            "x-kubernetes-unions": {
                "fieldMembers": {"Git": {"name": "git"}, "OciImage": {"name": "ociImage"}, "None": null},
            },
        }),
    );
    assert_eq!(schema["properties"]["git"]["description"], "A repository.");
    assert_eq!(
        schema["properties"]["ociImage"],
        json!({"$ref": "#/$defs/Image"})
    );
}

#[test]
fn schema_name_of_a_generic_sum_contains_its_types() {
    let schema = schema_for!(Sink<u8>).to_value();
    assert_eq!(schema["title"], "Sink_for_uint8");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema.get("required"), None);
    assert_eq!(
        schema["properties"]["kind"]["x-kubernetes-unions"],
        json!({"fieldMembers": {
            "GitRepo": {"name": "git"}, "OciImage": {"name": "oci_image", "optional": true}, "Nothing": null, "": null,
        }}),
    );
}

#[test]
fn deducing_sums_use_the_list_form() {
    let schema = schema_for!(Old).to_value();
    assert_eq!(
        schema["x-kubernetes-unions"],
        json!([{"discriminator": "type", "fields-to-discriminateBy": {"git": "Git", "img": "Image"}}]),
    );
    assert_eq!(
        schema["properties"]["type"],
        json!({"type": "string", "enum": ["Git", "Image", "None"]})
    );
    assert_eq!(schema.get("required"), None);
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
struct Build {
    name: String,
    #[serde(flatten)]
    source: Source,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct OldBuild {
    name: String,
    #[serde(flatten)]
    source: Old,
}

#[test]
fn sums_can_be_flattened_into_structs() {
    let build = Build {
        name: "b".into(),
        source: Source::Git(git()),
    };
    assert_round_trip(
        &build,
        &json!({"name": "b", "type": "Git", "git": {"url": "u"}}),
    );
    let schema = schema_for!(Build).to_value();
    assert!(schema["properties"]["type"]["x-kubernetes-unions"].is_object());
    assert_eq!(schema["required"], json!(["name", "type"]));
    assert!(schema_for!(OldBuild).to_value()["x-kubernetes-unions"].is_array());
}
