use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema, KubeUnion)]
#[serde(rename_all = "camelCase")]
enum SourceType {
    Git,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type", optional)]
#[schemars(transform = Source::kube_union)]
struct Source {
    r#type: Option<SourceType>,
    #[kube_union(member = "git")]
    git: Option<String>,
    #[kube_union(member)]
    image: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type", deducing)]
#[schemars(transform = Deducing::kube_union)]
struct Deducing {
    r#type: Option<SourceType>,
    #[kube_union(member = "Git")]
    git: Option<String>,
}

fn main() {}
