use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "kind")]
#[schemars(transform = Missing::kube_union)]
struct Missing {
    r#type: String,
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "source_type")]
#[schemars(transform = InRust::kube_union)]
#[serde(rename_all = "camelCase")]
struct InRust {
    source_type: String,
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type")]
#[schemars(transform = Itself::kube_union)]
struct Itself {
    #[kube_union(member)]
    r#type: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type")]
#[schemars(transform = Self::kube_union)]
struct Generic<T> {
    r#type: Option<T>,
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[schemars(transform = Nothing::kube_union)]
struct Nothing {
    #[kube_union(member)]
    git: Option<String>,
}

fn main() {}
