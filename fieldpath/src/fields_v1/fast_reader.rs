//! The fast reader of FieldsV1, for documents in the format that API servers write.
//!
//! An API server writes sorted keys, no whitespace and few escapes. This reader reads such a document in one pass and
//! takes repeated levels from a [cache](super::level_cache). It returns `None` for any other document; the serde reader
//! then decides whether to accept the document and reports any error.

use fieldmanager_value::Str;

use super::bytes::plain_end;
use super::level_cache::{Level, LevelCache};
use super::path_element;
use crate::set_builder::SetBuilder;
use crate::{MAX_PATH_LENGTH, PathElement, Set};

/// Reads the set, if the document has the usual format.
pub(super) fn read(document: &[u8]) -> Option<Set> {
    let document = std::str::from_utf8(document).ok()?;
    if document == "{}" {
        return Some(Set::new());
    }
    let mut reader = Reader {
        document,
        at: 0,
        // Keys of 24 bytes or more are rare.
        builder: SetBuilder::with_capacity((document.len() / 24).clamp(4, 31)),
        cache: LevelCache::new(document.as_bytes()),
    };
    let level = reader.level(0)?;
    (reader.at == document.len()).then_some(level.set)
}

struct Reader<'t> {
    document: &'t str,
    at: usize,
    builder: SetBuilder,
    cache: LevelCache<'t>,
}

impl<'t> Reader<'t> {
    #[inline(always)]
    fn rest(&self) -> &'t [u8] {
        self.document.as_bytes().get(self.at..).unwrap_or_default()
    }

    #[inline(always)]
    fn skip(&mut self, expected: &[u8]) -> bool {
        let found = self.rest().starts_with(expected);
        self.at += if found { expected.len() } else { 0 };
        found
    }

    /// Reads one non-empty level, including its braces. `depth` is the number of path elements above it.
    fn level(&mut self, depth: usize) -> Option<Level> {
        self.skip(b"{").then_some(())?;
        // The paths of this level are longer by one element.
        (depth < MAX_PATH_LENGTH).then_some(())?;
        let start = self.builder.start();
        let (mut itself, mut height) = (false, 1);
        // The prefix of the previous name, or `None` once the order is not known to be ascending.
        let mut last = Some(0);
        loop {
            if self.skip(b"\"f:") {
                let end = plain_end(self.document.as_bytes(), self.at)?;
                let name = self.document.get(self.at..end)?;
                let prefix = prefix(self.rest(), name.len());
                last = last.filter(|last| *last < prefix).and(Some(prefix));
                self.at = end;
                self.builder.push_leaf(|| PathElement::Field(Str::from(name)));
            } else if self.skip(b"\".\":{}") {
                itself = true;
                match self.next()? {
                    b',' => continue,
                    b'}' => break,
                    _ => return None,
                }
            } else {
                self.item()?;
                last = None;
            }
            if !self.skip(b"\":{}") {
                self.skip(b"\":").then_some(())?;
                let below = self.below(depth + 1)?;
                height = height.max(below.height + 1);
                self.builder.set_below_last(below.itself || below.set.is_empty(), below.height, below.set);
            }
            match self.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        let set = if last.is_some() { self.builder.close_sorted(start) } else { self.builder.close(start) };
        Some(Level { set, itself, height })
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        let byte = self.document.as_bytes().get(self.at)?;
        self.at += 1;
        Some(*byte)
    }

    /// Reads the key of a list item up to its closing quote.
    #[inline(never)]
    fn item(&mut self) -> Option<()> {
        self.skip(b"\"").then_some(())?;
        let (element, end) = path_element::read_in_document(self.document, self.at)?;
        self.builder.push_leaf(|| element);
        self.at = end;
        Some(())
    }

    /// Reads one level, or takes it from the cache.
    fn below(&mut self, depth: usize) -> Option<Level> {
        let start = self.at;
        let Some(bucket) = self.cache.bucket(start) else { return self.level(depth) };
        if let Some((level, end)) = self.cache.find(bucket, start) {
            self.at = end;
            return (depth + usize::from(level.height) <= MAX_PATH_LENGTH).then(|| level.clone());
        }
        let level = self.level(depth)?;
        self.cache.insert(bucket, start, self.at, &level);
        Some(level)
    }
}

/// The first eight bytes of a name as a number, padded with zeros. Names are ordered by their prefixes, unless the
/// prefixes are equal. `rest` starts with the name.
#[inline(always)]
fn prefix(rest: &[u8], length: usize) -> u64 {
    let bits = u32::try_from(8 * length).unwrap_or(u32::MAX);
    rest.first_chunk()
        .map_or(0, |eight| u64::from_be_bytes(*eight) & !u64::MAX.checked_shr(bits).unwrap_or(0))
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
