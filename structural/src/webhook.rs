//! The address of a webhook.

use fieldmanager_value::internal::go_format::quote;
use fieldmanager_value::{Map, Value};

use crate::dns::subdomain_1123;
use crate::url::parse;
use crate::{FieldError, FieldPath};

fn text<'v>(map: &'v Map, name: &str) -> &'v str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Adds the faults of the URL of a webhook.
///
/// Behaviour: `ValidateWebhookURL` of `k8s.io/apiserver/pkg/util/webhook`.
pub fn url(url: &str, path: &FieldPath, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    // Without a scheme or a slash in front, it is a relative URL, which has no host.
    let is_relative = !rest.starts_with('/')
        && !rest
            .split('/')
            .next()
            .is_some_and(|first| first.contains(':'));
    let parsed = if is_relative {
        parse(&format!("/{rest}"))
    } else {
        parse(rest)
    };

    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let detail = format!(
                "url must be a valid URL: parse {}: {error}{FORM}",
                quote(url)
            );
            errors.push(FieldError::required(path.clone(), detail));
            return;
        }
    };
    let mut invalid =
        |value: &str, detail: String| errors.push(FieldError::invalid(path.clone(), value, detail));

    if parsed.scheme != "https" {
        invalid(
            &parsed.scheme,
            format!("'https' is the only allowed URL scheme{FORM}"),
        );
    }

    if parsed.host.is_empty() {
        invalid("", format!("host must be specified{FORM}"));
    }
    let authority = rest
        .split_once("//")
        .map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());

    if let Some((user, _)) = authority.rsplit_once('@') {
        invalid(
            user,
            "user information is not permitted in the URL".to_owned(),
        );
    }

    if !fragment.is_empty() {
        invalid(
            fragment,
            "fragments are not permitted in the URL".to_owned(),
        );
    }

    if !parsed.query.is_empty() {
        invalid(
            &parsed.query,
            "query parameters are not permitted in the URL".to_owned(),
        );
    }
}

/// Adds the faults of the service of a webhook.
///
/// Behaviour: `ValidateWebhookService` of `k8s.io/apiserver/pkg/util/webhook`. The API server passes it the name as the
/// namespace and the other way around.
pub fn service(service: &Map, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (checked, shown) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, checked).is_empty() {
            errors.push(FieldError::required(path.child(shown), ""));
        }
    }

    let port = service
        .get("port")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(path.child("port"), port, detail));
    }

    // The root needs no check, and neither does a missing path.
    let found = text(service, "path");
    if found.is_empty() || found == "/" {
        return;
    }
    let mut invalid =
        |detail: String| errors.push(FieldError::invalid(path.child("path"), found, detail));
    if found == "//" {
        invalid("segment[0] may not be empty".to_owned());
        return;
    }
    if !found.starts_with('/') {
        invalid("must start with a '/'".to_owned());
    }

    // A slash at the end is allowed and makes no empty segment.
    let mut chars = found.chars();
    chars.next();
    let rest = chars.as_str();
    for (at, step) in rest
        .strip_suffix('/')
        .unwrap_or(rest)
        .split('/')
        .enumerate()
    {
        if step.is_empty() {
            invalid(format!("segment[{at}] may not be empty"));
            continue;
        }
        for fault in subdomain_1123(step) {
            invalid(format!("segment[{at}]: {fault}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_host_has_the_faults_of_its_path_and_query() {
        let faults = |text: &str| {
            let mut errors = Vec::new();
            url(text, &FieldPath::root("url"), &mut errors);
            let errors = errors.iter().map(ToString::to_string);
            errors.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            faults("50%"),
            r#"url: Required value: url must be a valid URL: parse "50%": invalid URL escape "%"; desired format: https://host[/path]"#
        );
        let query = r#"url: Invalid value: "b": query parameters are not permitted in the URL"#;
        assert!(faults("a?b").ends_with(query), "{}", faults("a?b"));
        assert_eq!(faults("https://a.b/c"), "");
    }
}
