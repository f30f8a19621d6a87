//! Field paths.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use fieldmanager_value::{Map, Value};
use smallvec::SmallVec;

use crate::{Error, PathElement};

/// The location of a field in an object. The empty path is the object itself.
///
/// A path is a vector of elements that dereferences to a slice; functions take `&[PathElement]`. A path of up to six
/// elements, which covers nearly all paths of Kubernetes objects, is stored inline.
///
/// ```
/// use fieldmanager_fieldpath::{Path, PathElement};
/// let path: Path = r#".spec.containers[name="app"].ports[0]"#.parse()?;
/// assert_eq!(path.len(), 5);
/// assert_eq!(path[2], PathElement::key([("name", "app")]));
/// assert_eq!(path.to_string(), r#".spec.containers[name="app"].ports[0]"#);
/// # Ok::<(), fieldmanager_fieldpath::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(SmallVec<[PathElement; 6]>);

impl Path {
    /// Creates an empty path.
    pub const fn new() -> Self {
        Path(SmallVec::new_const())
    }

    /// Appends an element.
    ///
    /// ```
    /// use fieldmanager_fieldpath::{Path, PathElement};
    /// let mut path = Path::new();
    /// path.push(PathElement::field("spec"));
    /// path.push(PathElement::Index(0));
    /// assert_eq!(path.pop(), Some(PathElement::Index(0)));
    /// assert_eq!(path.to_string(), ".spec");
    /// ```
    pub fn push(&mut self, element: PathElement) {
        self.0.push(element);
    }

    /// Removes and returns the last element.
    #[doc(hidden)]
    pub fn pop(&mut self) -> Option<PathElement> {
        self.0.pop()
    }
}

impl Deref for Path {
    type Target = [PathElement];

    fn deref(&self) -> &[PathElement] {
        &self.0
    }
}

impl From<&[PathElement]> for Path {
    fn from(elements: &[PathElement]) -> Self {
        Path(elements.into())
    }
}

impl FromIterator<PathElement> for Path {
    fn from_iter<I: IntoIterator<Item = PathElement>>(elements: I) -> Self {
        Path(elements.into_iter().collect())
    }
}

/// Field-path notation, as used by Kubernetes in conflicts. Names are not quoted, so a name that contains a dot or
/// bracket does not parse back to the same path.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Parses field-path notation. The leading dot is optional; values in brackets are JSON.
impl FromStr for Path {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut path = Path::new();
        let mut reader = PathParser { text, at: 0 };
        // The dot before the first field may be omitted.
        if !text.is_empty() && !text.starts_with(['.', '[']) {
            path.push(reader.name()?);
        }

        while let Some(c) = reader.rest().chars().next() {
            reader.at += c.len_utf8();
            path.push(match c {
                '.' => reader.name()?,
                _ => reader.brackets()?,
            });
        }

        Ok(path)
    }
}

struct PathParser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> PathParser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::Path {
            text: self.text.into(),
            at: self.at,
            message: message.into(),
        }
    }

    /// Parses a name, which ends at the next dot or bracket.
    fn name(&mut self) -> Result<PathElement, Error> {
        let rest = self.rest();
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default();
        if name.is_empty() {
            return Err(self.error("expected a field name"));
        }
        self.at += end;
        Ok(PathElement::field(name))
    }

    /// Parses the rest of an element after its opening bracket: `=value]`, `name=value,name=value]` or `index]`.
    fn brackets(&mut self) -> Result<PathElement, Error> {
        let rest = self.rest();
        // The value itself is JSON, so it may contain brackets.
        if let Some(value) = rest.strip_prefix('=') {
            self.at += 1;
            let value = self.value(value)?;
            self.expect(']')?;
            return Ok(PathElement::Value(value));
        }

        // Without `=` before the closing bracket, the content is an index.
        let name_end = rest.find(['=', ']']).unwrap_or(rest.len());
        if rest.get(name_end..).is_some_and(|r| r.starts_with(']')) {
            let digits = rest.get(..name_end).unwrap_or_default();
            let index = digits.parse();
            let index =
                index.map_err(|_| self.error("expected [index], [=value] or [key=value]"))?;
            self.at += name_end + 1;
            return Ok(PathElement::Index(index));
        }

        // Values are JSON and may contain commas, so each one ends where its JSON ends.
        let mut fields = Map::new();
        loop {
            let rest = self.rest();
            let Some((name, value)) = rest.split_once('=') else {
                return Err(self.error("expected [index], [=value] or [key=value]"));
            };
            self.at += name.len() + 1;
            fields.insert(name, self.value(value)?);

            if self.rest().starts_with(',') {
                self.at += 1;
            } else {
                self.expect(']')?;
                return Ok(PathElement::Key(fields));
            }
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), Error> {
        if self.rest().starts_with(wanted) {
            self.at += wanted.len_utf8();
            Ok(())
        } else {
            Err(self.error(format!("expected `{wanted}`")))
        }
    }

    /// Parses a JSON value at the start of `text`, which is the rest of the input.
    fn value(&mut self, text: &'t str) -> Result<Value, Error> {
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                self.at += stream.byte_offset();
                Ok(value)
            }
            _ => Err(self.error("expected a JSON value")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip() {
        for text in [
            "",
            ".a",
            ".a.b-c/d",
            r#".a[=1][="x"][=true][=null]"#,
            r#"[0][-3].x"#,
            r#".list[a=1,b="]\"[",c=1.5].x"#,
        ] {
            let path: Path = text.parse().unwrap();
            assert_eq!(path.to_string(), text);
        }
        assert_eq!("a.b".parse::<Path>().unwrap().to_string(), ".a.b");
    }

    #[test]
    fn errors_report_their_offset() {
        for (text, message) in [
            (
                ".",
                "`.` is not a field path: expected a field name at byte 1",
            ),
            (
                "a..b",
                "`a..b` is not a field path: expected a field name at byte 2",
            ),
            (
                "a[x]",
                "`a[x]` is not a field path: expected [index], [=value] or [key=value] at byte 2",
            ),
            (
                "a[",
                "`a[` is not a field path: expected [index], [=value] or [key=value] at byte 2",
            ),
            (
                "a[k=]",
                "`a[k=]` is not a field path: expected a JSON value at byte 4",
            ),
            (
                "a[k=1",
                "`a[k=1` is not a field path: expected `]` at byte 5",
            ),
            (
                "a[=1}",
                "`a[=1}` is not a field path: expected `]` at byte 4",
            ),
        ] {
            assert_eq!(text.parse::<Path>().unwrap_err().to_string(), message);
        }
    }
}
