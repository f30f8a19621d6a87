//! The paths of fields in validation rules and in selectable fields.

use fieldmanager_value::{Map, Value};

use crate::Structural;

/// A schema through which a path leads.
pub trait Fields: Copy {
    /// The schema of a declared field.
    fn property(self, name: &str) -> Option<Self>;

    /// Whether fields are declared.
    fn has_properties(self) -> bool;

    /// The schema of other fields; the inner value is `None` if they have none.
    fn additional(self) -> Option<Option<Self>>;
}

impl Fields for &Structural {
    fn property(self, name: &str) -> Option<Self> {
        self.properties.get(name)
    }

    fn has_properties(self) -> bool {
        !self.properties.is_empty()
    }

    fn additional(self) -> Option<Option<Self>> {
        self.additional_properties
            .as_ref()
            .map(|additional| additional.schema())
    }
}

impl Fields for &Map {
    fn property(self, name: &str) -> Option<Self> {
        self.get("properties")?.get(name)?.as_map()
    }

    fn has_properties(self) -> bool {
        self.get("properties")
            .and_then(Value::as_map)
            .is_some_and(|properties| !properties.is_empty())
    }

    fn additional(self) -> Option<Option<Self>> {
        let additional = self
            .get("additionalProperties")
            .filter(|value| !value.is_null());
        additional.map(Value::as_map)
    }
}

/// A path that was followed.
#[derive(Clone, Debug)]
pub struct Resolved<S> {
    /// The path in the notation of errors: `spec.labels[app]`.
    pub path: String,
    /// The first name.
    pub first: String,
    /// The schema of the field.
    pub schema: S,
}

/// Follows a path. `brackets` is whether names may be in brackets, as in `['a b']`.
///
/// Behaviour: `ValidFieldPath` of `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel`.
///
/// # Errors
///
/// The reason why the path is malformed, or why the schema does not declare it.
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_structural::internal::resolve_field;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: object, properties: {a: {type: string}}}")?)?;
/// assert_eq!(resolve_field(".a", &schema, true)?.path, "a");
/// assert_eq!(resolve_field("a", &schema, true).unwrap_err(), "expected [ or . but got: a");
/// assert_eq!(resolve_field("['a']", &schema, false).unwrap_err(), "array notation is not allowed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resolve<S: Fields>(path: &str, schema: S, brackets: bool) -> Result<Resolved<S>, String> {
    const NO_FIELD: &str = "does not refer to a valid field";
    const END: &str = "unexpected end of JSON path";
    let mut out = Resolved {
        path: String::new(),
        first: String::new(),
        schema,
    };
    let mut tokens = Tokens(path);

    while let Some(token) = tokens.next() {
        // A name is behind a dot, or quoted in brackets, where it may have any character.
        let name = match token {
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let token = tokens.next().ok_or(END)?;
                let inner = token
                    .strip_prefix('\'')
                    .and_then(|inner| inner.strip_suffix('\''));
                let inner = inner
                    .ok_or_else(|| format!("expected single quoted string but got {token}"))?;
                unescaped(inner).ok_or("invalid string literal: invalid escape sequence")?
            }
            "." => tokens.next().ok_or(END)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };

        // Declared properties exclude additional ones, so the schema says whether the name is a field or a key.
        let here = out.schema;
        if here.has_properties() {
            out.schema = here.property(&name).ok_or(NO_FIELD)?;
            if !out.path.is_empty() {
                out.path.push('.');
            }
            out.path.push_str(&name);
        } else {
            out.schema = here.additional().flatten().ok_or(NO_FIELD)?;
            out.path.push_str(&format!("[{name}]"));
        }

        if out.first.is_empty() {
            out.first = name;
        }
        // The bracket is closed after the lookup, so an undeclared name is reported before an open bracket.
        if token == "[" {
            match tokens.next().ok_or(END)? {
                "]" => {}
                other => return Err(format!("expected ] but got {other}")),
            }
        }
    }

    Ok(out)
}

/// The delimiters of a path, the names between them, and quoted strings.
struct Tokens<'p>(&'p str);

impl<'p> Iterator for Tokens<'p> {
    type Item = &'p str;

    fn next(&mut self) -> Option<&'p str> {
        const DELIMITERS: [char; 3] = ['.', '[', ']'];
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        let end = if text.starts_with('\'') {
            let mut last = '\'';
            let closing = text.char_indices().skip(1).find(|(_, c)| {
                let closes = *c == '\'' && last != '\\';
                last = *c;
                closes
            });
            closing.map_or(text.len(), |(at, _)| at + 1)
        } else if text.starts_with(DELIMITERS) {
            1
        } else {
            text.find(DELIMITERS).unwrap_or(text.len())
        };
        let (token, rest) = text.split_at_checked(end)?;
        self.0 = rest;

        Some(token)
    }
}

/// A string without the escapes of single-quoted strings; `None` if it has an unknown one.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(match chars.next()? {
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

    Some(out)
}
