//! The fast reader of FieldsV1, for documents in the format that API servers write.
//!
//! An API server writes sorted keys, no whitespace and few escapes. This reader reads such a document in one pass and
//! takes repeated levels from a [cache](super::level_cache). It returns `None` for any other document; the serde reader
//! then decides whether to accept the document and reports any error.

use fieldmanager_value::Str;

use super::bytes::plain_end;
use super::level_cache::{CachedLevel, LevelCache};
use super::path_element;
use crate::set_builder::SetBuilder;
use crate::{MAX_PATH_LENGTH, PathElement, Set};

/// Reads the set, if the document has the usual format.
pub(super) fn read(document: &[u8]) -> Option<Set> {
    let document = std::str::from_utf8(document).ok()?;
    if document == "{}" {
        return Some(Set::new());
    }
    let mut reader = FastReader {
        // Keys of 24 bytes or more are rare.
        builder: SetBuilder::with_capacity((document.len() / 24).clamp(4, 31)),
        cache: LevelCache::new(document),
    };
    let (level, rest) = reader.level(document, 0)?;

    rest.is_empty().then_some(level.set)
}

/// Reads levels. Its functions take the part of the document that is not read yet, and return the part after what they
/// have read.
struct FastReader<'t> {
    builder: SetBuilder,
    cache: LevelCache<'t>,
}

impl<'t> FastReader<'t> {
    /// Reads one non-empty level, including its braces. `depth` is the number of path elements above it.
    fn level(&mut self, document: &'t str, depth: usize) -> Option<(CachedLevel, &'t str)> {
        let mut rest = document.strip_prefix('{')?;
        // The paths of this level are longer by one element.
        (depth < MAX_PATH_LENGTH).then_some(())?;
        let start = self.builder.start();
        let (mut itself, mut height) = (false, 1);

        // The prefix of the previous name, or `None` once the order is not known to be ascending.
        let mut last = Some(0);
        loop {
            if let Some(field) = rest.strip_prefix("\"f:") {
                let (name, after) = field.split_at_checked(plain_end(field.as_bytes())?)?;
                let prefix = prefix(field.as_bytes(), name.len());
                last = last.filter(|last| *last < prefix).and(Some(prefix));
                self.builder
                    .push_leaf(|| PathElement::Field(Str::from(name)));
                rest = after;
            } else if let Some(after) = rest.strip_prefix("\".\":{}") {
                itself = true;
                let (after, more) = next_key(after)?;
                rest = after;
                if more {
                    continue;
                }
                break;
            } else {
                rest = self.item(rest)?;
                last = None;
            }

            // A leaf is pushed first and gets its level afterwards.
            rest = match rest.strip_prefix("\":{}") {
                Some(after) => after,
                None => {
                    let (below, after) = self.below(rest.strip_prefix("\":")?, depth + 1)?;
                    height = height.max(below.height + 1);
                    self.builder.set_below_last(
                        below.itself || below.set.is_empty(),
                        below.height,
                        below.set,
                    );
                    after
                }
            };

            let (after, more) = next_key(rest)?;
            rest = after;
            if !more {
                break;
            }
        }

        let set = if last.is_some() {
            self.builder.close_sorted(start)
        } else {
            self.builder.close(start)
        };
        Some((
            CachedLevel {
                set,
                itself,
                height,
            },
            rest,
        ))
    }

    /// Reads the key of a list item up to its closing quote.
    #[inline(never)]
    fn item(&mut self, document: &'t str) -> Option<&'t str> {
        let (element, rest) = path_element::read_in_document(document.strip_prefix('"')?)?;
        self.builder.push_leaf(|| element);
        Some(rest)
    }

    /// Reads one level, or takes it from the cache.
    fn below(&mut self, document: &'t str, depth: usize) -> Option<(CachedLevel, &'t str)> {
        let Some(bucket) = self.cache.bucket(document) else {
            return self.level(document, depth);
        };
        if let Some((level, rest)) = self.cache.find(bucket, document) {
            let fits = depth + usize::from(level.height) <= MAX_PATH_LENGTH;
            return fits.then(|| (level.clone(), rest));
        }

        // The cache knows the text of the level, so a repeated level is not read again.
        let (level, rest) = self.level(document, depth)?;
        let text = document.get(..document.len() - rest.len())?;
        self.cache.insert(bucket, text, rest, &level);

        Some((level, rest))
    }
}

/// Skips the comma before another key, or the brace after the last one. Returns whether there is another key.
#[inline(always)]
fn next_key(rest: &str) -> Option<(&str, bool)> {
    match rest.strip_prefix(',') {
        Some(after) => Some((after, true)),
        None => rest.strip_prefix('}').map(|after| (after, false)),
    }
}

/// The first eight bytes of a name as a number, padded with zeros. Names are ordered by their prefixes, unless the
/// prefixes are equal. `rest` starts with the name.
#[inline(always)]
fn prefix(rest: &[u8], length: usize) -> u64 {
    let bits = u32::try_from(8 * length).unwrap_or(u32::MAX);
    rest.first_chunk().map_or(0, |eight| {
        u64::from_be_bytes(*eight) & !u64::MAX.checked_shr(bits).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_documents_are_read() {
        for text in [
            "{}",
            r#"{"f:a":{},"f:b":{".":{},"f:c":{}}}"#,
            r#"{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}"#,
            r#"{"v:\"x\"":{},"v:12":{},"v:true":{},"v:false":{}}"#,
            r#"{"f:b":{},"f:a":{}}"#,
        ] {
            let set = read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(set, Set::from_json(text.as_bytes()).unwrap(), "{text}");
        }
    }

    #[test]
    fn unusual_documents_are_left_to_the_serde_reader() {
        for text in [
            "",
            "null",
            " {}",
            "{} ",
            r#"{"f:a": {}}"#,
            r#"{"f:\u0061":{}}"#,
            r#"{"f:a":null}"#,
            r#"{"i:1":{}}"#,
            r#"{"x:a":{}}"#,
            r#"{"fa":{}}"#,
            r#"{"f:a":{}"#,
            r#"{"f:a":{},}"#,
            r#"{"v:1.5":{}}"#,
            r#"{"v:1e2":{}}"#,
            r#"{"v:0":{}}"#,
            r#"{"v:-1":{}}"#,
            r#"{"v:1234567890123456":{}}"#,
            r#"{"v:null":{}}"#,
            r#"{"k:{}":{}}"#,
            r#"{"k:{\"a\":1,\"a\":2}":{}}"#,
            r#"{"k:{\"a\":\"\\n\"}":{}}"#,
            r#"{".":null}"#,
            "[]",
        ] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
