use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema)]
struct Common {
    name: String,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
#[schemars(transform = Source::kube_union)]
struct Source {
    #[serde(flatten)]
    common: Common,
    #[kube_union(member)]
    git: Option<String>,
}

fn main() {}
