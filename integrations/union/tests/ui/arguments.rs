use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing, closed)]
#[schemars(transform = Source::kube_union)]
struct Source {
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = "a", discriminator = "b")]
#[schemars(transform = Twice::kube_union)]
struct Twice {
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(discriminator = type)]
#[schemars(transform = Literal::kube_union)]
struct Literal {
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(KubeUnion)]
#[kube_union(optional)]
enum Values {
    Git,
    Image,
}

#[derive(KubeUnion)]
enum Value {
    #[kube_union(value = "git")]
    Git,
}

#[derive(KubeUnion)]
union Raw {
    a: u8,
}

fn main() {}
