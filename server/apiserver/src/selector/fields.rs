//! Field selectors.
//!
//! Behaviour: `k8s.io/apimachinery/pkg/fields`.

use std::borrow::Cow;

use super::SelectorError;

/// A condition on fields of an object: all of its terms.
///
/// The syntax is that of the parameter `fieldSelector`: `a=b`, `a==b`, `a!=b`, separated by commas. In a value, `\`, `,` and
/// `=` are written with a backslash. Which fields a resource has is not known here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(pub(super) Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) label: String,
    pub(super) value: String,
    pub(super) is_equal: bool,
}

impl FieldSelector {
    /// Reads a selector. The empty string selects everything.
    ///
    /// # Errors
    /// The message of kube-apiserver, which it answers with code 400, if a term has no operator or a value has a wrong
    /// escape.
    pub(crate) fn parse(selector: &str) -> Result<Self, SelectorError> {
        let mut parts = split_terms(selector);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let term = part.char_indices().find_map(|(at, _)| {
                let (label, rest) = part.split_at(at);
                let unequal = rest.strip_prefix("!=");
                let value = unequal
                    .or_else(|| rest.strip_prefix("=="))
                    .or_else(|| rest.strip_prefix('='))?;
                Some((label, unequal.is_none(), value))
            });
            let Some((label, is_equal, value)) = term else {
                return Err(SelectorError(format!(
                    "invalid selector: '{selector}'; can't understand '{part}'"
                )));
            };

            let value = unescape(value)?;
            if !(label.is_empty() && value.is_empty()) {
                terms.push(Term {
                    label: label.to_owned(),
                    value,
                    is_equal,
                });
            }
        }

        Ok(Self(terms))
    }

    /// Adds the condition that a field equals a value.
    #[must_use]
    pub(crate) fn and_equals(mut self, label: &str, value: &str) -> Self {
        self.0.push(Term {
            label: label.to_owned(),
            value: value.to_owned(),
            is_equal: true,
        });
        self
    }

    /// Returns the value that a field must have.
    pub(crate) fn exact(&self, label: &str) -> Option<&str> {
        let mut terms = self.0.iter();
        let term = terms.find(|term| term.is_equal && term.label == label)?;
        Some(&term.value)
    }

    /// Reports whether the selector selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the fields.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|term| term.label.as_str())
    }

    /// Reports whether an object is selected, given a function from the name of a field to its value. An absent field has
    /// an empty value.
    pub(crate) fn matches<'v>(&self, field: impl Fn(&str) -> Cow<'v, str>) -> bool {
        self.0
            .iter()
            .all(|term| (field(&term.label) == term.value) == term.is_equal)
    }
}

/// Splits a selector at the commas that no backslash precedes.
fn split_terms(selector: &str) -> Vec<&str> {
    let mut is_escaped = false;
    let terms = selector.split(move |c| {
        let ends = c == ',' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    terms.collect()
}

fn unescape(value: &str) -> Result<String, SelectorError> {
    let sequence = |escaped: &str| {
        Err(SelectorError(format!(
            "invalid field selector: invalid escape sequence: \\{escaped}"
        )))
    };
    let mut literal = String::with_capacity(value.len());
    let mut characters = value.chars();

    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => literal.push(escaped),
                Some(other) => return sequence(other.encode_utf8(&mut [0; 4])),
                None => return sequence(""),
            },
            ',' | '=' => {
                let message = format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                );
                return Err(SelectorError(message));
            }
            other => literal.push(other),
        }
    }

    Ok(literal)
}
