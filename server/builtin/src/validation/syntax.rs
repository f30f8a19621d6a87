//! The syntax of strings in pods, with the messages of Kubernetes.

fn regex_text(text: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples
        .iter()
        .map(|example| format!("'{example}', "))
        .collect();
    format!(
        "{text} (e.g. {}regex used for validation is '{regex}')",
        examples.join(" or ")
    )
}

/// The faults of the name of a port.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let is_known = |letter: u8| {
        letter == b'-' || letter.is_ascii_alphanumeric() && !letter.is_ascii_uppercase()
    };
    if name.len() > 15 {
        faults.push("must be no more than 15 characters");
    }
    if name.is_empty() || !name.bytes().all(is_known) {
        faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.bytes().any(|letter| letter.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)");
    }

    if name.contains("--") {
        faults.push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("must not begin or end with a hyphen");
    }
    faults.into_iter().map(str::to_owned).collect()
}

/// The fault of a finalizer of a built-in kind that has no prefix, and is none of Kubernetes.
pub(super) fn finalizer(name: &str) -> Vec<String> {
    if name.contains('/') || matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
        Vec::new()
    } else {
        vec!["name is neither a standard finalizer name nor is it fully qualified".to_owned()]
    }
}

/// The fault of the name of an environment variable.
pub(super) fn variable_name(name: &str) -> Vec<String> {
    if name
        .bytes()
        .all(|letter| (b' '..=b'~').contains(&letter) && letter != b'=')
    {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .to_owned(),
    ]
}

/// The faults of a key of a `ConfigMap` or a `Secret`.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if key.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }
    if key.is_empty()
        || !key
            .bytes()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'.' | b'_'))
    {
        let text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        faults.push(regex_text(
            text,
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }

    // Keys become file names in volumes, where the kubelet uses names with two leading dots itself.
    match key {
        "." | ".." => faults.push(format!("must not be '{key}'")),
        _ if key.starts_with("..") => faults.push("must not start with '..'".to_owned()),
        _ => {}
    }
    faults
}

/// The fault of the name of an HTTP header.
pub(super) fn header_name(name: &str) -> Vec<String> {
    if !name.is_empty()
        && name
            .bytes()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
    {
        return Vec::new();
    }
    let text = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![regex_text(text, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// The fault of the reason of a condition.
pub(super) fn condition_reason(reason: &str) -> Vec<String> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    if reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.chars().all(is_known)
        && !reason.ends_with([',', ':'])
    {
        return Vec::new();
    }
    let text = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric \
                characters or '_,:', and must end with an alphanumeric character or '_'";
    let examples = [
        "my_name",
        "MY_NAME",
        "MyName",
        "ReasonA,ReasonB",
        "ReasonA:ReasonB",
    ];
    vec![regex_text(
        text,
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
        &examples,
    )]
}

/// The fault of a name in the language C.
pub(super) fn c_identifier(name: &str) -> Vec<String> {
    if name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    {
        return Vec::new();
    }
    let text = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
                characters or '_'";
    let examples = ["my_name", "MY_NAME", "MyName"];
    vec![regex_text(text, "[A-Za-z_][A-Za-z0-9_]*", &examples)]
}

/// Whether a text is a semantic version, as in `1.2.3-rc.1+build.5`.
pub(super) fn is_semantic_version(text: &str) -> bool {
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b == b'-' || b.is_ascii_alphanumeric())
    };
    let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let is_number =
        |part: &str| is_word(part) && is_digits(part) && (part == "0" || !part.starts_with('0'));

    let (text, build) = text
        .split_once('+')
        .map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, early) = text
        .split_once('-')
        .map_or((text, None), |(core, early)| (core, Some(early)));
    let is_early = |part: &str| is_word(part) && (!is_digits(part) || is_number(part));
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && early.is_none_or(|early| early.split('.').all(is_early))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

/// The number of a percentage.
pub(super) fn percent(text: &str) -> Result<i64, String> {
    let digits = text
        .strip_suffix('%')
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    // More digits than fit are a large number, not a fault of the syntax.
    let number = digits.map(|digits| digits.parse().unwrap_or(i64::MAX));
    number.ok_or_else(|| {
        let text = "a valid percent string must be a numeric string followed by an ending '%'";
        regex_text(text, "[0-9]+%", &["1%", "93%"])
    })
}

/// The fault of a path that must stay below its folder.
pub(super) fn descending_path(path: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if path.starts_with('/') {
        faults.push("must be a relative path".to_owned());
    }
    faults.extend(no_backsteps(path));
    faults
}

/// The fault of a path with a step up.
pub(super) fn no_backsteps(path: &str) -> Vec<String> {
    if path.split('/').any(|part| part == "..") {
        vec!["must not contain '..'".to_owned()]
    } else {
        Vec::new()
    }
}

/// The faults of the path of a file in a volume.
pub(super) fn file_path(path: &str) -> Vec<String> {
    let mut faults = descending_path(path);
    // The kubelet uses names with two leading dots itself when it replaces files.
    if path.starts_with("..") && path != ".." && !path.starts_with("../") {
        faults.push("must not start with '..'".to_owned());
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_have_the_faults_that_kubernetes_finds() {
        type Faults = fn(&str) -> Vec<String>;
        let rows: &[(Faults, &str, usize)] = &[
            (port_name, "http-1", 0),
            (port_name, "", 2),
            (port_name, "-1--", 3),
            (port_name, "HTTP", 2),
            (variable_name, "a b", 0),
            (variable_name, "a=b", 1),
            (config_key, "a.b", 0),
            (config_key, "..", 1),
            (config_key, "..a b", 2),
            (header_name, "X-A", 0),
            (header_name, "X A", 1),
            (file_path, "a/b", 0),
            (file_path, "/a/../b", 2),
            (file_path, "..a", 1),
        ];
        for (faults, text, count) in rows {
            assert_eq!(faults(text).len(), *count, "{text}: {:?}", faults(text));
        }
        for version in ["1.2.3", "0.0.0-0.a.01b+01", "1.0.0-x-y+-"] {
            assert!(is_semantic_version(version), "{version}");
        }
        for version in [
            "", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3.4",
        ] {
            assert!(!is_semantic_version(version), "{version}");
        }
        assert_eq!(percent("10%"), Ok(10));
        assert!(percent("10").is_err());
        assert!(percent("%").is_err());
    }
}
