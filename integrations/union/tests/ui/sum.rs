use fieldmanager::KubeUnion;

#[derive(KubeUnion)]
enum Source {
    Git { url: String },
    Image(Option<String>),
    #[kube_union(optional)]
    Bucket(String),
    #[kube_union(member = "Empty")]
    None,
    #[kube_union(value = "x")]
    Chart(String),
    #[kube_union(other)]
    Other,
    Type(String),
    #[serde(skip)]
    Skipped(String),
    Inner(#[serde(with = "x")] String),
}

#[derive(KubeUnion)]
#[serde(tag = "type")]
enum Tagged {
    Git(String),
}

#[derive(KubeUnion)]
enum Borrowed<'a> {
    Git(&'a str),
}

#[derive(KubeUnion)]
#[kube_union(optional)]
enum Optional {
    Git(String),
}

#[derive(KubeUnion)]
enum Others {
    Git(String),
    #[kube_union(other)]
    First(String),
    #[kube_union(other)]
    Second(String),
    #[kube_union(member = "Git")]
    Value(String),
    #[serde(rename = "git")]
    Field(String),
}

fn main() {}
