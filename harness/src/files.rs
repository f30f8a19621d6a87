//! Files: where scenarios are found, and how their texts fall into documents.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fieldmanager_value::{Error as ValueError, TextPosition, Value};
use flate2::read::MultiGzDecoder;
use walkdir::WalkDir;

use crate::Error;
use crate::scenario::Origin;

const EXTENSIONS: [&str; 4] = ["json", "jsonl", "yaml", "yml"];

/// The scenario files and schemas of a folder, sorted. What is hidden stays so.
pub(crate) fn in_folder(folder: &Path) -> impl Iterator<Item = Result<PathBuf, Error>> {
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    let visible = walk
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.'));
    visible.filter_map(|entry| match entry {
        Ok(entry) if entry.file_type().is_file() && extension(entry.path()).is_some() => {
            Some(Ok(entry.into_path()))
        }
        Ok(_) => None,
        Err(error) => Some(Err(Error::Io {
            file: error.path().unwrap_or(Path::new("")).into(),
            source: Arc::new(error.into()),
        })),
    })
}

/// The extension that says how a file is written, `.gz` aside.
fn extension(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let (_, found) = name.rsplit_once('.')?;
    EXTENSIONS.into_iter().find(|known| *known == found)
}

/// The text of a file, decompressed.
pub(crate) fn text(path: &Path) -> Result<String, Error> {
    let failed = |source: io::Error| Error::Io { file: path.into(), source: Arc::new(source) };
    let mut bytes = fs::read(path).map_err(failed)?;
    // Gzip is told by its first bytes, so that the name does not matter.
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let mut decoder = MultiGzDecoder::new(bytes.as_slice());
        decoder.read_to_end(&mut plain).map_err(failed)?;
        bytes = plain;
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.remove(0);
            }
            Ok(text)
        }
        Err(error) => {
            let end = error.utf8_error().valid_up_to();
            let valid = String::from_utf8_lossy(error.as_bytes().get(..end).unwrap_or_default());
            let line = valid.rsplit('\n').next().unwrap_or_default();
            Err(Error::Text {
                origin: Origin {
                    file: Some(path.into()),
                    position: Some(TextPosition {
                        line: valid.matches('\n').count() + 1,
                        column: line.chars().count() + 1,
                    }),
                },
                message: "expected UTF-8, found other bytes".into(),
            })
        }
    }
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Json,
    JsonLines,
    Yaml,
}

impl Language {
    fn of(path: &Path, text: &str) -> Self {
        match extension(path) {
            Some("jsonl") => Language::JsonLines,
            _ if is_json_lines(text) => Language::JsonLines,
            Some("json") => Language::Json,
            _ => Language::Yaml,
        }
    }
}

/// Whether there are several lines and each is a JSON object. Only the first is parsed: JSON over several
/// lines does not have a whole object in its first.
fn is_json_lines(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let Some(first) = lines.next().filter(|line| line.starts_with('{')) else {
        return false;
    };
    let mut rest = lines.peekable();
    rest.peek().is_some() && rest.all(|line| line.starts_with('{')) && Value::from_json(first).is_ok()
}

/// One document of a file.
#[derive(Clone, Debug)]
pub(crate) struct Document<'t> {
    pub(crate) value: Value,
    /// Its text, from the start of a line on.
    text: &'t str,
    /// How many lines of the file are before the text.
    lines_before: usize,
}

impl Document<'_> {
    /// The line on which the document begins.
    pub(crate) fn start(&self) -> TextPosition {
        let mut lines = self.text.lines().enumerate();
        let first = lines.find(|(_, line)| !is_empty(line) && line.trim_end() != "---");
        let (before, line) = first.unwrap_or((0, self.text));
        TextPosition {
            line: self.lines_before + before + 1,
            column: line.chars().take_while(|c| *c == ' ').count() + 1,
        }
    }

    /// A place in the document as a place in the file.
    pub(crate) fn in_file(&self, position: TextPosition) -> TextPosition {
        shifted(position, self.lines_before)
    }

    /// Where in the file a fault is.
    pub(crate) fn position(&self, fault: &crate::place::Fault) -> TextPosition {
        fault.position(self.text).map_or_else(|| self.start(), |position| self.in_file(position))
    }
}

fn shifted(position: TextPosition, lines_before: usize) -> TextPosition {
    TextPosition { line: position.line + lines_before, ..position }
}

/// The documents of a file, at least one.
pub(crate) fn values(path: &Path) -> Result<Vec<Value>, Error> {
    let text = text(path)?;
    let found = documents(&text, path)?;
    if found.is_empty() {
        return Err(Error::Empty { file: path.into() });
    }
    Ok(found.into_iter().map(|document| document.value).collect())
}

/// The documents of a text; empty ones are left out. The path is the name of the file.
pub(crate) fn documents<'t>(text: &'t str, path: &Path) -> Result<Vec<Document<'t>>, Error> {
    let language = Language::of(path, text);
    let parts = match language {
        Language::Json => vec![(0, text)],
        Language::JsonLines => text.split_inclusive('\n').enumerate().collect(),
        Language::Yaml => split_yaml(text),
    };
    let mut out = Vec::with_capacity(parts.len());
    for (lines_before, text) in parts {
        if text.trim().is_empty() {
            continue;
        }
        let value = match language {
            Language::Yaml => Value::from_yaml(text),
            Language::Json | Language::JsonLines => Value::from_json(text),
        };
        match value {
            Ok(Value::Null) => {}
            Ok(value) => out.push(Document { value, text, lines_before }),
            Err(error) => return Err(unreadable(error, Some(path), lines_before)),
        }
    }
    Ok(out)
}

/// What is wrong with a text, as an error of the file that has it.
pub(crate) fn unreadable(error: ValueError, file: Option<&Path>, lines_before: usize) -> Error {
    let (position, message) = match error {
        ValueError::Json { position, message } => (Some(position), format!("expected JSON: {message}")),
        ValueError::Yaml { position, message } => (position, format!("expected YAML: {message}")),
        other => (None, other.to_string()),
    };
    let start = TextPosition { line: 1, column: 1 };
    Error::Text {
        origin: Origin {
            file: file.map(Into::into),
            position: Some(shifted(position.unwrap_or(start), lines_before)),
        },
        message,
    }
}

/// Whether a line of YAML holds nothing: blank, a comment or a directive.
fn is_empty(line: &str) -> bool {
    line.trim_start().is_empty() || line.trim_start().starts_with('#') || line.starts_with('%')
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

/// The documents of a YAML stream as texts with the number of lines before each. A marker at the start of
/// a line is one everywhere, in block and quoted scalars too.
fn split_yaml(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut lines_before) = (0, 0);
    // Whether the part has anything that a start marker would end.
    let mut begun = false;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let starts = is_marker(line, "---");
        if starts && begun {
            parts.push((lines_before, text.get(start..at).unwrap_or_default()));
            (start, lines_before) = (at, number);
        }
        begun |= starts || !is_empty(line);
        at += line.len();
        if is_marker(line, "...") {
            parts.push((lines_before, text.get(start..at).unwrap_or_default()));
            (start, lines_before, begun) = (at, number + 1, false);
        }
    }
    parts.push((lines_before, text.get(start..).unwrap_or_default()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, expected: &[(&str, &str)]) {
        let found = documents(text, Path::new(name)).unwrap();
        let found: Vec<_> = found.iter().map(|d| (d.value.to_json(), d.start().to_string())).collect();
        let found: Vec<_> = found.iter().map(|(v, p)| (v.as_str(), p.as_str())).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn texts_fall_into_documents() {
        let (one, two) = (r#"{"a":1}"#, r#"{"b":2}"#);
        check("a: 1\n", "x.yaml", &[(one, "line 1 column 1")]);
        check(
            "# first\n---\na: 1\n---\n# second\n\n  b: 2\n",
            "x.yaml",
            &[(one, "line 3 column 1"), (two, "line 7 column 3")],
        );
        check(
            "%YAML 1.2\n---\na: 1\n...\n# more\n--- {b: 2}\n---\n",
            "x.yml",
            &[(one, "line 3 column 1"), (two, "line 6 column 1")],
        );
        check("a: |\n  x\n  ---\n", "x.yaml", &[(r#"{"a":"x\n---\n"}"#, "line 1 column 1")]);
        check("{\"a\": 1}\n\n{\"b\": 2}\n", "x.jsonl", &[(one, "line 1 column 1"), (two, "line 3 column 1")]);
        check("{\"a\": 1}\n{\"b\": 2}\n", "x", &[(one, "line 1 column 1"), (two, "line 2 column 1")]);
        check("{\"a\": 1}\n{\"b\": 2}\n", "x.json", &[(one, "line 1 column 1"), (two, "line 2 column 1")]);
        check("{\n\"a\": 1}\n", "x.json", &[(one, "line 1 column 1")]);
        check("\n", "x.json", &[]);
    }

    #[test]
    fn names_say_how_a_file_is_written() {
        for (name, expected) in [
            ("a.json", Some("json")),
            ("a.b.jsonl.gz", Some("jsonl")),
            ("a.yml.gz", Some("yml")),
            ("a.gz", None),
            ("a.txt", None),
            ("yaml", None),
        ] {
            assert_eq!(extension(Path::new(name)), expected, "{name}");
        }
    }
}
