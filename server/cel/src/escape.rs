//! Escapes the names of fields, so that they are identifiers of CEL.
//!
//! Behaviour: `Escape` and `Unescape` of `k8s.io/apiserver/pkg/cel`.

use std::borrow::Cow;

use fieldmanager_structural::internal::CEL_RESERVED as RESERVED;

const ESCAPES: [(&str, &str); 4] = [
    ("__underscores__", "__"),
    ("__dot__", "."),
    ("__dash__", "-"),
    ("__slash__", "/"),
];

/// Whether a name is a word of the language.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// The identifier for the name of a field; `None` if it has none.
pub(crate) fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // A reserved word is no identifier, although its characters are allowed.
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__").into());
    }

    // There are no escapes for other characters, so rules cannot name a field that has them.
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if !name.chars().all(known) {
        return None;
    }
    // One underscore is kept. Two would be read as the beginning of an escape, so they are escaped themselves.
    if !name.contains("__") && !name.contains(['.', '-', '/']) {
        return Some(name.into());
    }

    let mut out = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let found = ESCAPES
            .iter()
            .find_map(|(escaped, text)| Some((escaped, rest.strip_prefix(text)?)));
        match found {
            Some((escaped, after)) => {
                out.push_str(escaped);
                rest = after;
            }
            None => {
                out.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }

    Some(out.into())
}

/// The name of a field for an identifier; `None` if it is no escaped name.
pub(crate) fn unescape(name: &str) -> Option<Cow<'_, str>> {
    if !name.contains("__") {
        return Some(name.into());
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;

    while let Some((before, after)) = rest.split_once("__") {
        out.push_str(before);
        // An escape is two underscores, other characters and two underscores.
        let end = after
            .find('_')
            .filter(|at| *at > 0 && after.get(*at..).is_some_and(|s| s.starts_with("__")));
        let Some(end) = end else {
            out.push('_');
            rest = rest.get(before.len() + 1..).unwrap_or_default();
            continue;
        };

        let contents = after.get(..end).unwrap_or_default();
        let whole = format!("__{contents}__");
        match ESCAPES.iter().find(|(escaped, _)| *escaped == whole) {
            Some((_, text)) => out.push_str(text),
            None if RESERVED.contains(&contents) && whole == name => out.push_str(contents),
            None => return None,
        }
        rest = after.get(end + 2..).unwrap_or_default();
    }
    out.push_str(rest);

    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_unescaped() {
        for (name, escaped) in [
            ("a", Some("a")),
            ("a_b", Some("a_b")),
            ("a__b", Some("a__underscores__b")),
            ("a___b", Some("a__underscores___b")),
            ("a.b-c/d", Some("a__dot__b__dash__c__slash__d")),
            ("namespace", Some("__namespace__")),
            ("int", Some("int")),
            ("1a", None),
            ("", None),
            ("a b", None),
            ("ä", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
            if let Some(escaped) = escaped {
                assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
            }
        }
        assert_eq!(unescape("__other__"), None);
        assert_eq!(unescape("a__if__").as_deref(), None);
        assert_eq!(unescape("__a").as_deref(), Some("__a"));
    }
}
