//! String values.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::Str;
use crate::escape::{self, Escape};
use crate::string::string_traits;

/// The maximum length of an inline string. A value has sixteen bytes: one for the kind and one for the length.
pub(crate) const SHORT: usize = 14;

/// A string value: immutable, and cloned without allocation.
///
/// Most strings of an object other than field names are short and occur once: addresses, versions, quantities, port
/// names. A string of up to 14 bytes is stored inline; a longer one is a [`Str`]. The representation affects only time
/// and memory.
///
/// ```
/// use fieldmanager_value::{Str, Text, Value};
/// let text = Text::from("10.0.0.1");
/// assert_eq!((text.as_str(), text.len()), ("10.0.0.1", 8));
/// assert_eq!(Str::from(&text), "10.0.0.1");
/// assert_eq!(Value::String(text), Value::from("10.0.0.1"));
/// ```
#[derive(Clone)]
pub struct Text(TextForm);

/// Strings that fit are always `Short`, so two different representations are never equal.
#[derive(Clone)]
enum TextForm {
    Short(heapless::String<SHORT, u8>),
    Shared(Str),
}

impl Text {
    /// Wraps a string that is too long to be stored inline.
    pub(crate) fn long(text: Str) -> Text {
        debug_assert!(text.len() > SHORT);
        Text(TextForm::Shared(text))
    }

    /// Stores the string inline if it fits, otherwise the result of `long`.
    #[inline(always)]
    pub(crate) fn short_or(text: &str, long: impl FnOnce() -> Str) -> Text {
        heapless::String::try_from(text)
            .map_or_else(|_| Text::long(long()), |short| Text(TextForm::Short(short)))
    }

    /// Returns the string slice.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            TextForm::Short(text) => text.as_str(),
            TextForm::Shared(text) => text.as_str(),
        }
    }

    /// Whether both strings are the same allocation, or inline and equal.
    pub(crate) fn ptr_eq(&self, other: &Text) -> bool {
        match (&self.0, &other.0) {
            (TextForm::Short(a), TextForm::Short(b)) => a == b,
            (TextForm::Shared(a), TextForm::Shared(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    /// Whether the string is an interned Kubernetes name, which needs no escape.
    #[inline]
    pub(crate) fn is_static(&self) -> bool {
        matches!(&self.0, TextForm::Shared(text) if text.is_static())
    }
}

/// The shared allocation, or `None` if the string is stored inline.
///
/// ```
/// use fieldmanager_value::internal::shared_text;
/// use fieldmanager_value::{Str, Text};
/// let shared = Str::from("a text of some length");
/// assert!(shared_text(&Text::from(&shared)).is_some_and(|text| text.ptr_eq(&shared)));
/// assert_eq!(shared_text(&Text::from("short")), None);
/// ```
pub fn shared_text(text: &Text) -> Option<&Str> {
    match &text.0 {
        TextForm::Short(_) => None,
        TextForm::Shared(text) => Some(text),
    }
}

/// Whether JSON writes the string without escapes, as [`is_plain_name`](crate::internal::is_plain_name) for names.
///
/// ```
/// use fieldmanager_value::internal::is_plain_text;
/// use fieldmanager_value::Text;
/// assert!(is_plain_text(&Text::from("10.0.0.1")) && !is_plain_text(&Text::from("<br>")));
/// ```
#[inline]
pub fn is_plain_text(text: &Text) -> bool {
    text.is_static() || escape::needs_no_escape(text, Escape::Html)
}

string_traits! { Text }

/// A long string is not looked up in the interner: unlike names, values rarely repeat.
impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text::short_or(text, || Str::unshared(text))
    }
}

impl From<&Str> for Text {
    fn from(text: &Str) -> Self {
        Text::short_or(text, || text.clone())
    }
}

impl From<Str> for Text {
    fn from(text: Str) -> Self {
        Text::from(&text)
    }
}

impl From<&Text> for Str {
    fn from(text: &Text) -> Self {
        match &text.0 {
            TextForm::Short(text) => Str::from(text.as_str()),
            TextForm::Shared(text) => text.clone(),
        }
    }
}

impl From<Text> for Str {
    fn from(text: Text) -> Self {
        Str::from(&text)
    }
}

impl Default for Text {
    fn default() -> Self {
        Text(TextForm::Short(heapless::String::new()))
    }
}

impl<'de> serde::Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Str::deserialize(deserializer).map(Text::from)
    }
}

impl PartialEq for Text {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (TextForm::Short(a), TextForm::Short(b)) => a == b,
            (TextForm::Shared(a), TextForm::Shared(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Text {}

impl Ord for Text {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (TextForm::Shared(a), TextForm::Shared(b)) => a.cmp(b),
            _ => self.as_str().cmp(other.as_str()),
        }
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;
    use crate::Value;

    /// Strings of lengths around the inline limit, with characters of one and more bytes.
    fn texts() -> Vec<String> {
        let mut texts = Vec::new();
        for n in 0..20 {
            texts.extend(["x", "é", "\0", "😀", "\n"].map(|c| c.repeat(n)));
            texts.extend(["\0", "y", "é"].map(|end| format!("{}{end}", "x".repeat(n))));
        }
        texts
    }

    #[test]
    fn texts_keep_their_content() {
        for text in texts() {
            let made = Text::from(text.as_str());
            assert_eq!(made, *text);
            assert_eq!(shared_text(&made).is_some(), text.len() > SHORT);
            for other in [
                Text::from(text.clone()),
                Text::from(Str::from(&text)),
                made.clone(),
            ] {
                assert_eq!((&other, other.as_str()), (&made, text.as_str()));
            }
            assert_eq!(
                (Str::from(&made), Str::from(made.clone())),
                (Str::from(&text), Str::from(&text))
            );
            assert_eq!(
                (format!("{made}"), format!("{made:?}")),
                (text.clone(), format!("{text:?}"))
            );
            assert_eq!(
                is_plain_text(&made),
                crate::string::is_plain_name(&Str::from(&text))
            );
            assert_eq!(
                serde_json::from_str::<Text>(&serde_json::to_string(&made).unwrap()).unwrap(),
                made
            );
            let json = Value::from(made).to_json();
            assert_eq!(
                Value::from_json(&json).unwrap().as_str(),
                Some(text.as_str()),
                "{json}"
            );
        }
    }

    #[test]
    fn texts_order_and_hash_like_strings() {
        let hash = |text: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            text(&mut hasher);
            hasher.finish()
        };
        let texts = texts();
        for a in &texts {
            assert_eq!(
                hash(&|h| Text::from(a.as_str()).hash(h)),
                hash(&|h| a.hash(h))
            );
            for b in &texts {
                let (x, y) = (Text::from(a.as_str()), Text::from(b.as_str()));
                assert_eq!((x.cmp(&y), x == y), (a.cmp(b), a == b), "{a:?} {b:?}");
                assert!(!x.ptr_eq(&y) || a == b);
            }
        }
    }
}
