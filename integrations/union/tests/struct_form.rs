//! Structs whose fields are members.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use fieldmanager::KubeUnion;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
struct Git {
    url: String,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema, KubeUnion)]
enum SourceType {
    Git,
    OciImage,
    None,
}

/// The location.
#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema, KubeUnion)]
#[kube_union(discriminator = "sourceType", optional)]
#[schemars(transform = Source::kube_union, extend("x-kubernetes-map-type" = "granular"))]
#[serde(rename_all = "camelCase")]
struct Source {
    source_type: SourceType,
    #[kube_union(member)]
    git: Option<Git>,
    #[kube_union(member, optional)]
    oci_image: Option<String>,
    #[schemars(length(min = 1))]
    name: Option<String>,
}

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

#[test]
fn respecting_unions_are_declared_on_the_discriminator() {
    let schema = schema::<Source>();
    assert_eq!(
        schema["properties"]["sourceType"]["x-kubernetes-unions"],
        json!({"fieldMembers": {
            "Git": {"name": "git"},
            "OciImage": {"name": "ociImage", "optional": true},
            "None": null,
        }}),
    );
    assert_eq!(schema.get("x-kubernetes-unions"), None);
    assert_eq!(schema["x-kubernetes-map-type"], "granular");
    assert_eq!(schema["description"], "The location.");
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type", optional)]
#[schemars(transform = Self::kube_union)]
#[allow(dead_code, reason = "only the schema is used")]
struct Open {
    r#type: String,
    #[kube_union(member = "Git")]
    git: Option<Git>,
}

#[derive(JsonSchema, KubeUnion)]
#[allow(dead_code, reason = "only the schema is used")]
enum Only {
    Git,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type", optional)]
#[schemars(transform = Self::kube_union)]
#[allow(dead_code, reason = "only the schema is used")]
struct Absent<T> {
    r#type: Option<Only>,
    #[kube_union(member)]
    git: Option<T>,
}

#[test]
fn optional_discriminators_declare_the_empty_string() {
    for schema in [schema::<Open>(), schema::<Absent<Git>>()] {
        let unions = json!({"fieldMembers": {"Git": {"name": "git"}, "": null}});
        assert_eq!(schema["properties"]["type"]["x-kubernetes-unions"], unions);
    }
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type", deducing)]
#[schemars(transform = Self::kube_union)]
#[allow(dead_code, reason = "only the schema is used")]
struct Deducing {
    r#type: Option<SourceType>,
    #[kube_union(member)]
    git: Option<Git>,
    #[kube_union(member = "OciImage")]
    image: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
#[schemars(transform = Self::kube_union)]
#[allow(dead_code, reason = "only the schema is used")]
struct Bare {
    #[kube_union(member)]
    run: Option<String>,
    #[kube_union(member)]
    wait_for: Option<String>,
}

#[test]
fn deducing_unions_are_declared_on_the_struct() {
    assert_eq!(
        schema::<Deducing>()["x-kubernetes-unions"],
        json!([{"discriminator": "type", "fields-to-discriminateBy": {"git": "Git", "image": "OciImage"}}]),
    );
    assert_eq!(
        schema::<Bare>()["x-kubernetes-unions"],
        json!([{"fields-to-discriminateBy": {"run": "Run", "wait_for": "WaitFor"}}]),
    );
}

#[derive(JsonSchema, KubeUnion)]
#[allow(dead_code, reason = "only the schema is used")]
enum ExposeType {
    Port,
    #[serde(rename = "")]
    None,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(name = "source", discriminator = "type")]
#[kube_union(name = "expose", discriminator = "exposeType", optional)]
#[kube_union(name = "trigger", deducing)]
#[kube_union(name = "step", deducing, discriminator = "step")]
#[schemars(transform = Self::kube_union)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "only the schema is used")]
#[allow(clippy::duplicated_attributes, reason = "two unions are deducing")]
struct Several<T> {
    r#type: SourceType,
    expose_type: ExposeType,
    step: Option<String>,
    #[kube_union(member, union = "source")]
    git: Option<T>,
    #[kube_union(member, optional, union = "source")]
    oci_image: Option<String>,
    #[kube_union(member = "None", union = "source")]
    nothing: Option<String>,
    #[kube_union(member, union = "expose")]
    port: Option<i32>,
    #[kube_union(member, union = "trigger")]
    webhook: Option<String>,
    // Different unions may have equal values.
    #[kube_union(member = "Git", union = "trigger")]
    schedule: Option<String>,
    #[kube_union(member, union = "step")]
    run: Option<String>,
}

#[test]
fn several_unions_are_declared_in_their_own_form() {
    let schema = schema::<Several<Git>>();
    assert_eq!(
        schema["properties"]["type"]["x-kubernetes-unions"],
        json!({"fieldMembers": {
            "Git": {"name": "git"},
            "OciImage": {"name": "ociImage", "optional": true},
            "None": {"name": "nothing"},
        }}),
    );
    assert_eq!(
        schema["properties"]["exposeType"]["x-kubernetes-unions"],
        json!({"fieldMembers": {"Port": {"name": "port"}, "": null}}),
    );
    assert_eq!(
        schema["x-kubernetes-unions"],
        json!([
            {"fields-to-discriminateBy": {"webhook": "Webhook", "schedule": "Git"}},
            {"discriminator": "step", "fields-to-discriminateBy": {"run": "Run"}},
        ]),
    );
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(name = "only", deducing)]
#[schemars(transform = Self::kube_union)]
#[allow(dead_code, reason = "only the schema is used")]
struct NamedOnce {
    #[kube_union(member)]
    run: Option<String>,
    #[kube_union(member, union = "only")]
    wait: Option<String>,
}

#[test]
fn members_of_a_single_union_may_omit_its_name() {
    assert_eq!(
        schema::<NamedOnce>()["x-kubernetes-unions"],
        json!([{"fields-to-discriminateBy": {"run": "Run", "wait": "Wait"}}]),
    );
}

mod without_the_facade {
    use fieldmanager_union::KubeUnion;
    use schemars::{JsonSchema, schema_for};

    #[derive(KubeUnion)]
    #[kube_union(crate = "fieldmanager_union")]
    enum Sum {
        Name(String),
        None,
    }

    #[derive(JsonSchema, KubeUnion)]
    #[kube_union(crate = "fieldmanager_union")]
    #[allow(dead_code, reason = "only the schema is used")]
    enum Kind {
        Name,
    }

    #[derive(JsonSchema, KubeUnion)]
    #[kube_union(discriminator = "kind", crate = "fieldmanager_union")]
    #[schemars(transform = Struct::kube_union)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Struct {
        kind: Kind,
        #[kube_union(member)]
        name: Option<String>,
    }

    #[test]
    fn path_of_the_crate_is_configurable() {
        // Imported names do not affect the generated code.
        #[allow(unused_imports, reason = "the names shadow those of the prelude")]
        use Sum::*;
        let schema = schema_for!(Sum).to_value();
        assert!(schema["properties"]["type"]["x-kubernetes-unions"].is_object());
        assert_eq!(
            serde_json::to_string(&Name("a".into())).unwrap(),
            r#"{"type":"Name","name":"a"}"#
        );
        assert_eq!(serde_json::to_string(&None).unwrap(), r#"{"type":"None"}"#);
        assert!(
            schema_for!(Struct).to_value()["properties"]["kind"]["x-kubernetes-unions"].is_object()
        );
    }
}
