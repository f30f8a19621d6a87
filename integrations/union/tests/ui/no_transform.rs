use fieldmanager::KubeUnion;
use schemars::JsonSchema;

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
struct Source {
    #[kube_union(member)]
    git: Option<String>,
}

#[derive(JsonSchema, KubeUnion)]
#[kube_union(deducing)]
#[schemars(extend("x-a" = "kube_union"))]
struct Generic<T> {
    #[kube_union(member)]
    git: Option<T>,
}

fn main() {}
