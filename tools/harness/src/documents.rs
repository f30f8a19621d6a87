//! Splits input into JSON or YAML documents.

use fieldmanager_value::{Error, TextPosition, Value};
use memchr::{memchr, memchr_iter};
use serde::de::IgnoredAny;

use crate::place::{Fault, Step};

/// The language of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// JSON documents, one after another.
    Json,
    /// JSON if the input starts like JSON and is valid, otherwise YAML.
    Any,
}

/// One document of the input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document<'t> {
    pub(crate) value: Value,
    /// The source of the document, with the preceding blank lines and marker.
    text: &'t str,
    start: Offset,
}

/// The position of a part in the input: the number of preceding lines, and of preceding characters on its first line.
#[derive(Clone, Copy, Debug, Default)]
struct Offset {
    lines: usize,
    columns: usize,
}

impl Offset {
    fn after(self, text: &str) -> Self {
        let last = text.rsplit('\n').next().unwrap_or_default().chars().count();
        match text.matches('\n').count() {
            0 => Offset {
                lines: self.lines,
                columns: self.columns + last,
            },
            lines => Offset {
                lines: self.lines + lines,
                columns: last,
            },
        }
    }

    fn shift(self, position: TextPosition) -> TextPosition {
        let columns = if position.line == 1 { self.columns } else { 0 };
        TextPosition {
            line: position.line + self.lines,
            column: position.column + columns,
        }
    }

    fn shift_error(self, error: Error) -> Error {
        match error {
            Error::Json { position, message } => Error::Json {
                position: self.shift(position),
                message,
            },
            Error::Yaml { position, message } => Error::Yaml {
                position: position.map(|position| self.shift(position)),
                message,
            },
            other => other,
        }
    }
}

impl Document<'_> {
    /// The position of the start of the document.
    pub(crate) fn start(&self) -> TextPosition {
        let mut lines = self.text.lines().enumerate();
        let first = lines.find(|(_, line)| !is_blank(line) && line.trim_end() != "---");
        let (before, line) = first.unwrap_or((0, self.text));
        let column = line.chars().take_while(|c| *c == ' ').count() + 1;
        self.start.shift(TextPosition {
            line: before + 1,
            column,
        })
    }

    /// The position of a fault in the input that contains the document.
    pub(crate) fn position(&self, fault: &crate::place::Fault) -> TextPosition {
        fault
            .position(self.text)
            .map_or_else(|| self.start(), |position| self.start.shift(position))
    }
}

/// Parses all documents of a string, as kubectl does: consecutive JSON documents, or a YAML stream whose documents may
/// be JSON too. Empty and null documents are skipped.
///
/// A string or document that starts with `{` or `[` is parsed as JSON. If it is not valid JSON, it is parsed as YAML,
/// whose flow style starts with the same characters. Duplicate keys are refused in both languages.
///
/// # Errors
///
/// Those of [`Value::from_json_strict`] and [`Value::from_yaml`], with positions in the whole string. If a document is
/// neither valid JSON nor valid YAML, the error is the one at the later position.
///
/// ```
/// use fieldmanager_harness::internal::parse_documents;
/// let found = parse_documents("{\"a\": 1} {\"a\": 2}\n")?;
/// assert_eq!(found.len(), 2);
/// assert_eq!(parse_documents("{a: 1}\n---\n{\"a\": 1}\n")?, [found[0].clone(), found[0].clone()]);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn parse_documents(text: &str) -> Result<Vec<Value>, Error> {
    Ok(parse(text, Language::Any)?
        .into_iter()
        .map(|document| document.value)
        .collect())
}

/// A document of a text, or of a list in it, that knows where its fields are.
#[derive(Clone, Debug)]
pub struct PlacedDocument {
    value: Value,
    text: String,
    start: Offset,
}

impl From<Document<'_>> for PlacedDocument {
    fn from(document: Document<'_>) -> Self {
        PlacedDocument {
            value: document.value,
            text: document.text.to_owned(),
            start: document.start,
        }
    }
}

impl PlacedDocument {
    /// The content.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line of a field, from 1, or of the nearest field around it that the document has. The path is as in messages of
    /// API servers, such as `spec.containers[0].image`; the empty path is the document.
    pub fn line(&self, path: &str) -> usize {
        // A copy of a value costs no more than a pointer.
        let document = Document {
            value: self.value.clone(),
            text: &self.text,
            start: self.start,
        };
        if path.is_empty() {
            return document.start().line;
        }
        let mut path = steps(path);
        // The value of a field may begin on a later line than its name.
        let key = path.pop_if(|step| matches!(step, Step::Field(_)));
        let fault = Fault {
            path,
            message: String::new(),
            key: key.and_then(Step::into_field),
        };
        document.position(&fault).line
    }
}

/// The steps of a path of an API server. A part that is neither a field nor an index ends the path.
fn steps(path: &str) -> Vec<Step> {
    let parts = path.split(['.', '[']).filter(|part| !part.is_empty());
    let steps = parts.map(|part| match part.strip_suffix(']') {
        None => Some(Step::from(part)),
        Some(index) => index.parse().ok().map(Step::Index),
    });
    steps.map_while(|step| step).collect()
}

/// Like [`parse_documents`], one by one, with their numbers: each document of a YAML stream is parsed when it is asked for, if
/// its text is `wanted`, and a faulty one is an error in its place. JSON is parsed at once.
///
/// ```
/// use fieldmanager_harness::internal::each_document;
/// let mut documents = each_document("a: 1\n---\na: [\n---\nb:\n- c: 2\n", |_| true);
/// assert_eq!(documents.next().unwrap().1?.line("a"), 1);
/// assert!(documents.next().unwrap().1.is_err());
/// let (number, document) = documents.next().unwrap();
/// assert_eq!((number, document?.line("b[0].c.d")), (3, 6));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn each_document<'t>(
    text: &'t str,
    wanted: impl Fn(&str) -> bool + 't,
) -> Box<dyn Iterator<Item = (usize, Result<PlacedDocument, Error>)> + 't> {
    if begins_like_json(text) {
        if !wanted(text) {
            return Box::new(std::iter::empty());
        }
        return match parse(text, Language::Any) {
            Ok(documents) => {
                let documents = documents.into_iter().map(|found| Ok(found.into()));
                Box::new((1..).zip(documents))
            }
            Err(error) => Box::new(std::iter::once((1, Err(error)))),
        };
    }

    // Only what is wanted is parsed, which takes most of the time.
    let parts = (1..).zip(split_yaml(text));
    let wanted = parts.filter(move |(_, (_, text))| wanted(text));
    let documents = wanted.map(|(number, (lines, text))| {
        let start = Offset { lines, columns: 0 };
        let value = yaml_document(text).map_err(|error| start.shift_error(error));
        let document = value.map(|value| Document { value, text, start }.into());
        (number, document)
    });
    let is_empty = |found: &Result<PlacedDocument, Error>| {
        found.as_ref().is_ok_and(|found| found.value().is_null())
    };
    Box::new(documents.filter(move |(_, found)| !is_empty(found)))
}

/// Like [`parse_documents`], with the source of each document.
pub(crate) fn parse(text: &str, language: Language) -> Result<Vec<Document<'_>>, Error> {
    let mut documents = match language {
        Language::Json => json_stream(text)?,
        Language::Any if begins_like_json(text) => match json_stream(text) {
            Ok(documents) => documents,
            Err(json) => yaml_stream(text).map_err(|yaml| later(json, yaml))?,
        },
        Language::Any => yaml_stream(text)?,
    };
    documents.retain(|document| !document.value.is_null());
    Ok(documents)
}

fn begins_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The error at the later position, since the parser that got further most likely expected the right language.
fn later(json: Error, yaml: Error) -> Error {
    let place = |error: &Error| match error {
        Error::Json { position, .. } => Some((position.line, position.column)),
        Error::Yaml { position, .. } => position.map(|position| (position.line, position.column)),
        // Both parsers report excessive nesting, without a position.
        _ => None,
    };
    match (place(&json), place(&yaml)) {
        (Some(json_place), Some(yaml_place)) if json_place < yaml_place => yaml,
        _ => json,
    }
}

/// Consecutive JSON documents, with or without whitespace between them.
fn json_stream(text: &str) -> Result<Vec<Document<'_>>, Error> {
    // Most inputs are a single document.
    if let Ok(value) = Value::from_json_strict(text) {
        return Ok(vec![Document {
            value,
            text,
            start: Offset::default(),
        }]);
    }

    let mut documents = Vec::new();
    let (mut begin, mut start) = (0, Offset::default());
    // This only finds the end of each document, without recursion at any nesting.
    let mut ends = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    while let Some(found) = ends.next() {
        let end = if found.is_ok() {
            ends.byte_offset()
        } else {
            text.len()
        };
        let part = text.get(begin..end).unwrap_or_default();
        let value = Value::from_json_strict(part).map_err(|error| start.shift_error(error))?;
        documents.push(Document {
            value,
            text: part,
            start,
        });
        start = start.after(part);
        begin = end;
    }

    Ok(documents)
}

fn yaml_stream(text: &str) -> Result<Vec<Document<'_>>, Error> {
    let mut documents = Vec::new();
    for (lines, text) in split_yaml(text) {
        let start = Offset { lines, columns: 0 };
        let value = yaml_document(text).map_err(|error| start.shift_error(error))?;
        documents.push(Document { value, text, start });
    }
    Ok(documents)
}

/// One document of a YAML stream, which may be JSON.
fn yaml_document(text: &str) -> Result<Value, Error> {
    let content = text.trim_start();
    let content = content.strip_prefix("---").unwrap_or(content);
    if !begins_like_json(content) {
        return Value::from_yaml(text);
    }
    let before = text.strip_suffix(content).unwrap_or_default();
    Value::from_json_strict(content).or_else(|json| {
        let json = Offset::default().after(before).shift_error(json);
        Value::from_yaml(text).map_err(|yaml| later(json, yaml))
    })
}

/// Whether a line of YAML has no content: it is blank, a comment or a directive.
fn is_blank(line: &str) -> bool {
    let content = line.trim_start();
    content.is_empty() || content.starts_with('#') || line.starts_with('%')
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

/// Splits a YAML stream into documents, each with the number of preceding lines. A marker at the start of a line splits
/// everywhere, even inside block and quoted scalars.
fn split_yaml(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut lines_before) = (0, 0);
    // Whether the part has a start marker, so that the next one ends it.
    let mut is_marked = false;

    let line_ends = memchr_iter(b'\n', text.as_bytes());
    let line_starts = std::iter::once(0).chain(line_ends.map(|end| end + 1));
    for (number, at) in line_starts.enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        if is_marker(rest, "---") {
            let before = text.get(start..at).unwrap_or_default();
            if is_marked || !before.lines().all(is_blank) {
                parts.push((lines_before, before));
                (start, lines_before) = (at, number);
            }
            is_marked = true;
        } else if is_marker(rest, "...") {
            let end = memchr(b'\n', rest.as_bytes()).map_or(text.len(), |end| at + end + 1);
            parts.push((lines_before, text.get(start..end).unwrap_or_default()));
            (start, lines_before, is_marked) = (end, number + 1, false);
        }
    }
    parts.push((lines_before, text.get(start..).unwrap_or_default()));

    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = parse(text, Language::Any).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|d| (d.value.to_json(), d.start().to_string()))
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|(v, p)| (v.as_str(), p.as_str()))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    const ONE: &str = r#"{"a":1}"#;
    const TWO: &str = r#"{"b":2}"#;

    #[test]
    fn yaml_streams_are_split_at_markers() {
        check("a: 1\n", &[(ONE, "line 1 column 1")]);
        check(
            "# first\n---\na: 1\n---\n# second\n\n  b: 2\n",
            &[(ONE, "line 3 column 1"), (TWO, "line 7 column 3")],
        );
        check(
            "%YAML 1.1\n---\na: 1\n...\n# more\n--- {b: 2}\n---\n",
            &[(ONE, "line 3 column 1"), (TWO, "line 6 column 1")],
        );
        check(
            "a: |\n  x\n  ---\n",
            &[(r#"{"a":"x\n---\n"}"#, "line 1 column 1")],
        );
        check(
            "{\"a\": 1}\n---\n{\"b\": 2}\n",
            &[(ONE, "line 1 column 1"), (TWO, "line 3 column 1")],
        );
    }

    #[test]
    fn json_documents_follow_each_other() {
        check(
            "{\"a\": 1}\n\n{\"b\": 2}\n",
            &[(ONE, "line 1 column 1"), (TWO, "line 3 column 1")],
        );
        check(
            "{\"a\": 1}{\"b\": 2}",
            &[(ONE, "line 1 column 1"), (TWO, "line 1 column 9")],
        );
        check(
            "{\n\"a\": 1} \n  {\"b\": 2}\n",
            &[(ONE, "line 1 column 1"), (TWO, "line 3 column 3")],
        );
        check("\n", &[]);
    }

    #[test]
    fn flow_style_that_is_not_json_is_read_as_yaml() {
        check("{a: 1}", &[(ONE, "line 1 column 1")]);
        check("[a, b]\n", &[(r#"["a","b"]"#, "line 1 column 1")]);
        check("{\"a\": 1} # a comment\n", &[(ONE, "line 1 column 1")]);
    }

    #[test]
    fn json_keys_may_be_longer_than_yaml_allows() {
        let key = "k".repeat(5_000);
        let text = format!("{{\"{key}\": 1}}");
        assert_eq!(
            parse_documents(&text).unwrap()[0].get(&key),
            Some(&Value::from(1))
        );
        assert_eq!(
            parse_documents(&format!("a: 1\n---\n{text}\n"))
                .unwrap()
                .len(),
            2
        );
    }

    #[test]
    fn duplicate_keys_are_refused_in_json_and_yaml() {
        let long = "k".repeat(2_000);
        for (text, expected) in [
            (
                "{\"a\": 1,\n \"a\": 2}",
                "not valid JSON at line 2 column 4: duplicate key `a`",
            ),
            (
                "{\"a\": 1} {\"b\": {\"a\": 1, \"a\": 2}}",
                "not valid JSON at line 1 column 27: duplicate key `a`",
            ),
            (
                "x: 1\n---\n{\"a\": 1, \"a\": 2}\n",
                "not valid JSON at line 3 column 12: duplicate key `a`",
            ),
            (
                "{a: 1, a: 2}",
                "not valid YAML at line 1 column 8: duplicate key `a`",
            ),
            (
                "a: 1\na: 2\n",
                "not valid YAML at line 2 column 1: duplicate key `a`",
            ),
            (
                &format!("{{\"{long}\": 1, \"a\": 1, \"a\": 2}}"),
                "not valid JSON at line 1 column 2019: duplicate key `a`",
            ),
        ] {
            assert_eq!(
                parse_documents(text).unwrap_err().to_string(),
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn error_at_the_later_position_is_reported() {
        for (text, expected) in [
            (
                "{\"a\": 1,\n \"b\" 2}",
                "not valid JSON at line 2 column 6: expected `:`",
            ),
            ("{a: 1,\n b: [}", "not valid YAML at line 2 column 6: "),
            (
                "{\"a\": 1}\n{\"b\": ]}\n",
                "not valid JSON at line 2 column 7: expected value",
            ),
            (
                "{\"a\": 1} {\"b\": ]}\n",
                "not valid JSON at line 1 column 16: expected value",
            ),
            (
                "a: 1\n---\nb: [\n",
                "not valid YAML at line 4 column 1: did not find expected node content while parsing a flow node",
            ),
        ] {
            let error = parse_documents(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
        assert_eq!(parse_documents(&"[".repeat(100_000)), Err(Error::TooDeep));
    }
}
