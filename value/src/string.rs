//! Shared immutable strings.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use arcstr::ArcStr;

use crate::word::Word;

/// An immutable string that is shared when it is cloned.
///
/// It is one pointer wide, so that a [`Value`](crate::Value) stays 16 bytes. It orders and hashes as its
/// text does, bytewise, which is how the Go package orders field names.
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
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether both are the same allocation. Two empty strings always are.
    ///
    /// ```
    /// use fieldmanager_value::Str;
    /// let name = Str::from("my-own-name");
    /// assert!(name.ptr_eq(&name.clone()));
    /// assert!(name == Str::from("my-own-name") && !name.ptr_eq(&Str::from("my-own-name")));
    /// ```
    pub fn ptr_eq(&self, other: &Str) -> bool {
        ArcStr::ptr_eq(&self.0, &other.0)
    }
}

impl Str {
    /// Whether it stands as it is in a JSON string, even inside HTML as Go's encoder writes it: without quotes,
    /// backslashes, control characters, `<`, `>`, `&` and the two line separators of Unicode. Of some texts that do, as
    /// those with other punctuation of Unicode, this is not said. Of common texts it is known.
    ///
    /// ```
    /// use fieldmanager_value::Str;
    /// assert!(Str::from("replicas").is_plain() && Str::from("my name").is_plain());
    /// assert!(!Str::from("a \"name\"").is_plain() && !Str::from("<br>").is_plain());
    /// ```
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.is_common() || crate::scan::is_plain_in_html(self.as_bytes())
    }

    /// Whether it is one of the texts that are kept for good, or empty.
    #[inline]
    pub(crate) fn is_common(&self) -> bool {
        ArcStr::is_static(&self.0)
    }

    /// A text that is known not to be common.
    pub(crate) fn uncommon(text: &str) -> Str {
        Str(ArcStr::from(text))
    }

    /// A text that is never freed, and whose clones are counted by nobody. It must be [plain](Self::is_plain).
    pub(crate) fn forever(text: &str) -> Str {
        let text = ArcStr::from(text);
        text.leak();
        Str(text)
    }
}

impl Ord for Str {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self.ptr_eq(other) { Ordering::Equal } else { bytewise(self.as_bytes(), other.as_bytes()) }
    }
}

/// How two texts are ordered. Most that are compared are names which differ in their first eight bytes, or in the next:
/// to see that takes no call.
#[inline]
pub(crate) fn bytewise(a: &[u8], b: &[u8]) -> Ordering {
    let head = |text: &[u8]| text.first_chunk().map(|eight| u64::from_be_bytes(*eight));
    let (Some(x), Some(y)) = (head(a), head(b)) else { return a.cmp(b) };
    if x != y {
        return x.cmp(&y);
    }
    if a.len() > 16 || b.len() > 16 {
        return a.cmp(b);
    }
    // What is behind the first eight bytes, and zeros: a shorter text that the other one begins with is less.
    let tail = |text: &[u8]| match text.last_chunk() {
        Some(eight) => u128::from(u64::from_be_bytes(*eight)) << (8 * (16 - text.len())),
        None => 0,
    };
    (tail(a) as u64).cmp(&(tail(b) as u64)).then_with(|| a.len().cmp(&b.len()))
}

impl PartialOrd for Str {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Deref for Str {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Str {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Str {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// A text that nearly every Kubernetes object has is made without allocation.
impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Word::whole(text).to_str()
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Str::from(text.as_str())
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

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl serde::Serialize for Str {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Str {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
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
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_ordered_as_their_bytes_are() {
        let mut texts = vec![String::new()];
        for n in 0..20 {
            let text = "abcdefghijklmnopqrst".get(..n).unwrap_or_default();
            texts.extend(["", "\0", "\0\0", "a", "\u{7f}", "é", "zz"].map(|end| format!("{text}{end}")));
        }
        for a in &texts {
            for b in &texts {
                assert_eq!(Str::from(a).cmp(&Str::from(b)), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }
}
