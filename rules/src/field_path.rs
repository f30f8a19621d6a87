//! The paths of fields in rules.

use fieldmanager_structural::Structural;

/// The path in the notation of errors; `None` if it is malformed or not declared by the schema.
///
/// Behaviour: `ValidFieldPath` of `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel`.
pub(crate) fn normalized(path: &str, schema: &Structural) -> Option<String> {
    let mut out = String::new();
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix("['") {
            let (quoted, after) = quoted(after)?;
            name = quoted;
            rest = after.strip_prefix(']')?;
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            let (plain, after) = after.split_at_checked(end)?;
            if plain.is_empty() {
                return None;
            }
            name = plain.to_owned();
            rest = after;
        }
        if schema.properties.is_empty() {
            schema = schema.additional_properties.as_ref()?.schema()?;
            out.push_str(&format!("[{name}]"));
        } else {
            schema = schema.properties.get(name.as_str())?;
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        }
    }
    Some(out)
}

/// The string up to the closing quote, and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return Some((out, text.get(at + 1..)?)),
            '\\' => out.push(match chars.next()?.1 {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                c @ ('\'' | '\\') => c,
                _ => return None,
            }),
            c => out.push(c),
        }
    }
    None
}
