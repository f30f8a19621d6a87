use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema, KubeUnion)]
enum SourceType {
    Git,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type", optional)]
#[schemars(transform = Source::kube_union)]
struct Source {
    r#type: SourceType,
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing, optional)]
#[schemars(transform = Deducing::kube_union)]
struct Deducing {
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
#[schemars(transform = Member::kube_union)]
struct Member {
    #[kube_union(member, optional)]
    git: Option<String>,
}

fn main() {}
