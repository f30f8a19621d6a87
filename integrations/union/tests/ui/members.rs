use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
#[schemars(transform = Source::kube_union)]
struct Source {
    #[kube_union(member)]
    git: String,
    #[kube_union(member = "Image")]
    image: Option<String>,
    #[kube_union(member = "Image")]
    other: Option<String>,
    #[kube_union(optional)]
    optional: Option<String>,
    #[kube_union(member, name = "x")]
    unknown: Option<String>,
    #[kube_union(member)]
    #[serde(rename(serialize = "a", deserialize = "b"))]
    names: Option<String>,
    #[kube_union(member)]
    #[schemars(rename = "c")]
    schema: Option<String>,
    #[kube_union(member)]
    #[serde(skip)]
    skipped: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
#[schemars(transform = Empty::kube_union)]
struct Empty {
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
#[schemars(transform = Empty::kube_union)]
struct Tuple(Option<String>);

fn main() {}
