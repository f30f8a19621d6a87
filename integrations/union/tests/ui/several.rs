use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "type")]
#[kube_union(name = "expose", deducing)]
#[schemars(transform = Unnamed::kube_union)]
struct Unnamed {
    r#type: String,
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(name = "source", discriminator = "type")]
#[kube_union(name = "source", deducing)]
#[schemars(transform = OneName::kube_union)]
struct OneName {
    r#type: String,
    #[kube_union(member, union = "source")]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(name = "source", discriminator = "type")]
#[kube_union(name = "expose", deducing)]
#[schemars(transform = Members::kube_union)]
struct Members {
    r#type: String,
    #[kube_union(member)]
    git: Option<String>,
    #[kube_union(member, union = "sources")]
    image: Option<String>,
    #[kube_union(union = "source")]
    other: Option<String>,
    #[kube_union(member = "A", union = "source")]
    a: Option<String>,
    #[kube_union(member = "A", union = "source")]
    b: Option<String>,
    #[kube_union(member = "A", union = "expose", union = "source")]
    c: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(name = "source", discriminator = "type")]
#[kube_union(name = "expose", deducing)]
#[schemars(transform = Empty::kube_union)]
struct Empty {
    r#type: String,
    #[kube_union(member, union = "source")]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(name = "source", discriminator = "type")]
#[kube_union(name = "expose", discriminator = "type")]
#[schemars(transform = Shared::kube_union)]
struct Shared {
    r#type: String,
    #[kube_union(member, union = "source")]
    git: Option<String>,
    #[kube_union(member, union = "expose")]
    port: Option<i32>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
#[schemars(transform = One::kube_union)]
struct One {
    #[kube_union(member, union = "source")]
    git: Option<String>,
}

#[derive(KubeUnion)]
#[kube_union(optional)]
#[kube_union(discriminator = "kind")]
enum Sum {
    Git(String),
    None,
}

#[derive(KubeUnion)]
#[kube_union(name = "source")]
enum Named {
    Git(String),
}

fn main() {}
