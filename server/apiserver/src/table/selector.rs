//! Labels and label selectors as strings.

use fieldmanager_value::{Map, Value};

use super::object::Object;

/// Labels as `a=b,c=d`, or `<none>`.
pub(super) fn labels(labels: Option<&Map>) -> String {
    let pairs = labels.into_iter().flatten();
    let mut pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect();
    // Kubernetes sorts them with their values: `a.b=` precedes `a=`.
    pairs.sort_unstable();
    if pairs.is_empty() {
        "<none>".to_owned()
    } else {
        pairs.join(",")
    }
}

/// A label selector at a path, or `<none>` if it selects everything or nothing.
pub(super) fn selector(object: &Object<'_>, path: &str) -> String {
    match requirements(object, path) {
        None => "<error>".to_owned(),
        Some(text) if text.is_empty() => "<none>".to_owned(),
        Some(text) => text,
    }
}

/// The requirements of a label selector in the order of their keys; `None` if an operator is unknown.
pub(super) fn requirements(object: &Object<'_>, path: &str) -> Option<String> {
    let labels = object
        .map(&format!("{path}.matchLabels"))
        .into_iter()
        .flatten();
    let mut all: Vec<(&str, String)> = labels
        .map(|(name, value)| {
            (
                name.as_str(),
                format!("{name}={}", value.as_str().unwrap_or_default()),
            )
        })
        .collect();

    // Values are a set in Kubernetes, which prints them in order.
    for expression in object.items(&format!("{path}.matchExpressions")) {
        let key = expression.text("key");
        let mut values = expression.texts("values");
        values.sort_unstable();
        let values = values.join(",");
        all.push((
            key,
            match expression.text("operator") {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "Exists" => key.to_owned(),
                "DoesNotExist" => format!("!{key}"),
                _ => return None,
            },
        ));
    }

    // The sort is stable: labels precede the expressions of the same key.
    all.sort_by_key(|(key, _)| *key);
    let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    Some(texts.join(","))
}

/// The names and the images of containers at a path, each joined by commas.
pub(super) fn containers(object: &Object<'_>, path: &str) -> [Value; 2] {
    ["name", "image"].map(|field| {
        let all: Vec<&str> = object
            .items(path)
            .map(|container| container.text(field))
            .collect();
        all.join(",").into()
    })
}
