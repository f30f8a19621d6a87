//! References of container images.
//!
//! Behaviour: `ParseNormalizedNamed` of `github.com/distribution/reference`, and `ParseImageName` of Kubernetes.

/// The longest path of a repository.
const MAX_PATH: usize = 255;

/// Whether a reference is valid and has the tag `latest`, or neither tag nor digest.
pub(crate) fn is_latest(reference: &str) -> bool {
    tag(reference) == Some("latest")
}

/// The tag of a reference: `latest` if it has neither tag nor digest, empty if it has only a digest; `None` if the
/// reference is invalid.
fn tag(reference: &str) -> Option<&str> {
    // A reference of 64 hexadecimal digits could be the identifier of an image, so it is not valid as a name.
    if reference.len() == 64
        && reference
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'f' | b'0'..=b'9'))
    {
        return None;
    }

    // The first part is the domain only if it cannot be a folder of the default registry.
    let (domain, remainder) = match reference.split_once('/') {
        Some((domain, remainder)) if is_domain(domain) => (Some(domain), remainder),
        _ => (None, reference),
    };
    if domain.is_some_and(|domain| !is_host_and_port(domain)) {
        return None;
    }

    let (name, digest) = match remainder.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (remainder, None),
    };
    let (path, tag) = match name.split_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (name, None),
    };
    // Names of one part in the default registry are below `library`, which counts for the length.
    let is_official =
        domain.is_none_or(|domain| domain == "index.docker.io" || domain == "docker.io");
    let prefix = if is_official && !remainder.contains('/') {
        "library/".len()
    } else {
        0
    };

    // A tag counts only if the whole reference is valid.
    let is_valid = path.split('/').all(is_path_component)
        && path.len() + prefix <= MAX_PATH
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest);
    if !is_valid {
        return None;
    }

    Some(tag.unwrap_or(if digest.is_some() { "" } else { "latest" }))
}

/// Whether the part before the first slash is a host.
fn is_domain(part: &str) -> bool {
    part == "localhost" || part.contains(['.', ':']) || part.to_lowercase() != part
}

fn is_host_and_port(domain: &str) -> bool {
    let (host, port) = match domain.rsplit_once(':') {
        Some((host, port)) if !domain.ends_with(']') => (host, Some(port)),
        _ => (domain, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_host = match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(address) => {
            !address.is_empty()
                && address
                    .bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || byte == b':')
        }
        None => host.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        }),
    };

    is_host && port.is_none_or(is_port)
}

/// Lower case letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_path_component(part: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_separator = |text: &str| {
        matches!(text, "." | "_" | "__")
            || (!text.is_empty() && text.bytes().all(|byte| byte == b'-'))
    };
    let bytes = part.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };

    // Separators may stand only between letters or digits.
    is_alphanumeric(*first)
        && is_alphanumeric(*last)
        && part
            .split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit())
            .all(|between| between.is_empty() || is_separator(between))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= 128
        && tag.bytes().next().is_some_and(is_word)
        && tag
            .bytes()
            .all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else {
        return false;
    };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };

    hex.len() == length
        && hex
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'f' | b'0'..=b'9'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_tags_as_in_go() {
        let digest = format!("nginx@sha256:{}", "a".repeat(64));
        for (reference, expected) in [
            ("nginx", Some("latest")),
            ("nginx:latest", Some("latest")),
            ("nginx:1.25", Some("1.25")),
            ("library/nginx", Some("latest")),
            ("localhost/nginx", Some("latest")),
            ("registry.example.com:5000/a/b:v1", Some("v1")),
            ("[::1]:5000/a", Some("latest")),
            ("a__b-c---d.e", Some("latest")),
            (digest.as_str(), Some("")),
            ("", None),
            ("Nginx", None),
            ("nginx:", None),
            ("a/Nginx", None),
            ("nginx:-x", None),
            ("a..b", None),
            ("a//b", None),
            ("nginx@sha256:abc", None),
            (&"a".repeat(64), None),
            ("host:port/x", None),
        ] {
            assert_eq!(tag(reference), expected, "{reference}");
        }
    }
}
