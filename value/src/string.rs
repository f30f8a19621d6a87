//! Shared immutable strings.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;

use arcstr::ArcStr;

use crate::escape::{self, Escape};
use crate::intern::intern_static;

/// An immutable string that is shared by its clones.
///
/// A `Str` is one pointer wide, which keeps a [`Value`](crate::Value) at 16 bytes. It orders and hashes like a `str`:
/// bytewise, which is how the Go package orders field names.
///
/// ```
/// use fieldmanager_value::Str;
/// let name = Str::from("replicas");
/// assert_eq!(name.len(), 8);
/// assert!(name < Str::from("selector"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Str(ArcStr);

impl Str {
    /// Returns the string slice.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether both strings are the same allocation. Two empty strings always are.
    ///
    /// ```
    /// use fieldmanager_value::Str;
    /// let name = Str::from("my-own-name");
    /// assert!(name.ptr_eq(&name.clone()));
    /// assert!(name == Str::from("my-own-name") && !name.ptr_eq(&Str::from("my-own-name")));
    /// ```
    #[doc(hidden)]
    pub fn ptr_eq(&self, other: &Str) -> bool {
        ArcStr::ptr_eq(&self.0, &other.0)
    }
}

impl Str {
    /// Whether the string is an interned Kubernetes name, which needs no escape, or empty.
    #[inline]
    pub(crate) fn is_static(&self) -> bool {
        ArcStr::is_static(&self.0)
    }

    /// A string with an allocation of its own.
    pub(crate) fn unshared(text: &str) -> Str {
        Str(ArcStr::from(text))
    }

    /// Wraps a string returned by the interner.
    pub(crate) fn interned(string: ArcStr) -> Str {
        Str(string)
    }
}

/// Whether JSON and Go's HTML-safe JSON write the string without escapes: it contains no quotes, backslashes,
/// control characters, `<`, `>`, `&`, U+2028 or U+2029. May also return false for a string with other characters
/// from U+2000 to U+2FFF.
///
/// ```
/// use fieldmanager_value::internal::is_plain_name;
/// use fieldmanager_value::Str;
/// assert!(is_plain_name(&Str::from("replicas")) && is_plain_name(&Str::from("my name")));
/// assert!(!is_plain_name(&Str::from("a \"name\"")) && !is_plain_name(&Str::from("<br>")));
/// ```
#[inline]
pub fn is_plain_name(name: &Str) -> bool {
    name.is_static() || escape::needs_no_escape(name, Escape::Html)
}

impl Ord for Str {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self.ptr_eq(other) {
            return Ordering::Equal;
        }
        // Adjacent names usually differ in the first byte. Comparing it first avoids a call.
        let (a, b) = (self.as_bytes(), other.as_bytes());
        a.first().cmp(&b.first()).then_with(|| a.cmp(b))
    }
}

/// The traits of a string type that follow from its `as_str`, `Ord` and `From<&str>`.
macro_rules! string_traits {
    ($string:ty) => {
        impl std::ops::Deref for $string {
            type Target = str;

            fn deref(&self) -> &str {
                self.as_str()
            }
        }

        impl AsRef<str> for $string {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl From<String> for $string {
            fn from(text: String) -> Self {
                Self::from(text.as_str())
            }
        }

        impl PartialEq<str> for $string {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $string {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }

        impl PartialOrd for $string {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Debug for $string {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl fmt::Display for $string {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self.as_str(), f)
            }
        }

        impl serde::Serialize for $string {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self)
            }
        }
    };
}
pub(crate) use string_traits;

string_traits! { Str }

impl Borrow<str> for Str {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// Does not allocate for a field name of the Kubernetes API.
impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Str(intern_static(text))
    }
}

impl From<&String> for Str {
    fn from(text: &String) -> Self {
        Str::from(text.as_str())
    }
}

impl From<&Str> for Str {
    fn from(text: &Str) -> Self {
        text.clone()
    }
}

impl<'de> serde::Deserialize<'de> for Str {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrVisitor;
        impl serde::de::Visitor<'_> for StrVisitor {
            type Value = Str;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<Str, E> {
                Ok(Str::from(text))
            }
            fn visit_string<E>(self, text: String) -> Result<Str, E> {
                Ok(Str::from(text))
            }
        }

        deserializer.deserialize_str(StrVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_ordered_bytewise_at_every_length() {
        let mut strings = vec![String::new()];
        // Lengths around 8 and 16, strings that differ only in the last bytes, and prefixes of each other.
        for n in 0..20 {
            let start = "abcdefghijklmnopqrst".get(..n).unwrap_or_default();
            let ends = [
                "",
                "\0",
                "\0\0",
                "a",
                "\u{7f}",
                "\u{80}",
                "é",
                "zz",
                "\u{ffff}",
                "\u{10000}",
            ];
            strings.extend(ends.map(|end| format!("{start}{end}")));
            strings.push(format!("A{start}"));
        }
        for a in &strings {
            for b in &strings {
                let expected = a.as_bytes().cmp(b.as_bytes());
                assert_eq!(Str::from(a).cmp(&Str::from(b)), expected, "{a:?} {b:?}");
                assert_eq!(
                    Str::from(a) == Str::from(b),
                    expected.is_eq(),
                    "{a:?} {b:?}"
                );
            }
        }
    }
}
