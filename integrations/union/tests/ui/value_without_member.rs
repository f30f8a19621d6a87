use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema, KubeUnion)]
enum SourceType {
    Git,
    None,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type")]
#[schemars(transform = Source::kube_union)]
struct Source {
    r#type: SourceType,
    #[kube_union(member)]
    git: Option<String>,
}

fn main() {}
