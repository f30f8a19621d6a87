//! The syntax of names, labels and annotations, with its error messages.

const LABEL_1123: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// Error messages about a name.
type Faults = Vec<String>;

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

fn is_lower(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// Whether the first and the last byte satisfy `outer`, and all others satisfy `outer` or `inner`. False for an empty
/// string.
fn is_word(text: &str, outer: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(first), Some(last)) if outer(*first) && outer(*last))
        && bytes.iter().all(|b| outer(*b) || inner(*b))
}

/// Whether a string is a label of RFC 1123, of any length.
pub(crate) fn is_label(text: &str) -> bool {
    is_word(text, is_lower, |b| b == b'-')
}

/// Whether a string is a subdomain of RFC 1123, of any length.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_key(text: &str) -> bool {
    is_word(
        text,
        |b| b.is_ascii_alphanumeric(),
        |b| matches!(b, b'-' | b'_' | b'.'),
    )
}

/// The faults of a label of RFC 1123, the syntax of a namespace.
pub(crate) fn label_1123(name: &str) -> Faults {
    let mut faults = Vec::new();
    if name.len() > 63 {
        faults.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) {
        faults.push(if is_subdomain(name) {
            "must not contain dots".to_owned()
        } else {
            let text = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                        must start and end with an alphanumeric character";
            regex_text(text, LABEL_1123, &["my-name", "123-abc"])
        });
    }

    faults
}

/// The faults of a label of RFC 1035, the syntax of a kind in lower case.
pub fn label_1035(name: &str) -> Faults {
    let mut faults = Vec::new();
    if name.len() > 63 {
        faults.push("must be no more than 63 characters".to_owned());
    }
    if !(is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase())) {
        let text = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                    alphabetic character, and end with an alphanumeric character";
        faults.push(regex_text(text, LABEL_1035, &["my-name", "abc-123"]));
    }
    faults
}

/// The faults of a subdomain of RFC 1123, the syntax of a group.
pub fn subdomain_1123(name: &str) -> Faults {
    let mut faults = Vec::new();
    if name.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }
    if !is_subdomain(name) {
        let text = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                    and must start and end with an alphanumeric character";
        faults.push(regex_text(text, SUBDOMAIN, &["example.com"]));
    }
    faults
}

/// The faults of a qualified name: the key of a label or annotation, or a finalizer.
pub fn qualified_name(key: &str) -> Vec<String> {
    const TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                        alphanumeric character";
    // The name and the whole key share this text, which is built once.
    let key_text = regex_text(TEXT, KEY, &["MyName", "my.name", "123-abc"]);
    let mut faults = Vec::new();
    // Only one slash separates a prefix from the name. With several, the parts are unknown, so they are not checked.
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            return vec![format!(
                "a valid label key {key_text} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > 253 {
                    faults.push("prefix part must be no more than 253 bytes".to_owned());
                }
                if !is_subdomain(prefix) {
                    let text = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                                characters, '-' or '.', and must start and end with an alphanumeric character";
                    faults.push(regex_text(text, SUBDOMAIN, &["example.com"]));
                }
            }

            name
        }
    };

    // An empty name fails the syntax too, so it has two faults.
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }

    if !is_key(name) {
        faults.push(format!("name part {key_text}"));
    }
    faults
}

/// The faults of the value of a label.
pub fn label_value(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_key(value) {
        let text = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                    must start and end with an alphanumeric character";
        faults.push(regex_text(
            text,
            &format!("({KEY})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }

    faults
}

/// The faults of a segment of a URL path, the syntax of every name. A prefix of a segment may be `.` or `..`.
pub fn path_segment(name: &str, is_prefix: bool) -> Faults {
    if !is_prefix && matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|bad| name.contains(**bad))
        .map(|bad| format!("may not contain '{bad}'"))
        .collect()
}

/// The words of CEL that cannot be names.
pub const CEL_RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];
