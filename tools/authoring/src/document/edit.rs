//! Edits a document.

use std::collections::HashMap;
use std::ops::Range;

use fieldmanager_value::{Map, Str, Value};

use super::entries::{DocumentEdits, NodeStep, RefusedEdit, display};
use super::tree::{self, DocumentNode, NodeContent};

/// Replaces a range of the document.
struct Splice {
    range: Range<usize>,
    /// The depth of the map. If two entries follow the same line, that of the inner map precedes the other.
    depth: usize,
    with: String,
}

/// Adds entries with one name to maps of the document, and changes nothing else.
///
/// # Errors
///
/// The path at which the form of the document does not allow a new entry, and the reason.
pub(crate) fn apply(text: &str, key: &str, edits: &DocumentEdits) -> Result<String, RefusedEdit> {
    if edits.is_empty() {
        return Ok(text.to_owned());
    }
    let unreadable = |message: &str| RefusedEdit {
        path: Vec::new(),
        message: message.to_owned(),
    };
    let documents = tree::read(text)
        .ok_or_else(|| unreadable("a key is not a scalar: edit the document by hand"))?;
    // New lines end as the others of the document do.
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut editor = Editor {
        text,
        key,
        newline,
        path: Vec::new(),
        splices: Vec::new(),
    };

    for (step, below) in &edits.below {
        let node = if let NodeStep::Item(i) = step {
            documents.get(*i)
        } else {
            None
        };
        editor.inside(step, node, below)?;
    }

    // Entries at one position belong to nested maps that end there, and the inner one comes first.
    let mut splices = editor.splices;
    splices.sort_by(|a, b| {
        a.range
            .start
            .cmp(&b.range.start)
            .then(b.depth.cmp(&a.depth))
    });
    let mut out = String::with_capacity(
        text.len()
            + splices
                .iter()
                .map(|splice| splice.with.len())
                .sum::<usize>(),
    );

    // Ranges that overlap would lose text of the document.
    let mut at = 0;
    for splice in &splices {
        out.push_str(
            text.get(at..splice.range.start)
                .ok_or_else(|| unreadable("two entries overlap"))?,
        );
        out.push_str(&splice.with);
        at = splice.range.end;
    }

    out.push_str(text.get(at..).unwrap_or_default());
    verify(text, &out, key, edits)?;
    Ok(out)
}

/// Checks that the result represents the original value with the new entries. YAML has many forms, and an unexpected
/// form must not corrupt a document.
fn verify(before: &str, after: &str, key: &str, edits: &DocumentEdits) -> Result<(), RefusedEdit> {
    let expected = documents(before).map(|documents| {
        let edited = |(i, document): (usize, Value)| match edits.below.get(&NodeStep::Item(i)) {
            Some(below) => with(&document, key, below),
            None => document,
        };
        documents
            .into_iter()
            .enumerate()
            .map(edited)
            .collect::<Vec<Value>>()
    });

    match (expected, documents(after)) {
        (Ok(expected), Ok(found))
            if expected.len() == found.len()
                && expected.iter().zip(&found).all(|(a, b)| a.strict_eq(b)) =>
        {
            Ok(())
        }
        _ => {
            let path = first_path(edits);
            let message = format!(
                "{}: an entry cannot be added to a document in this form: expected YAML in block style, or JSON",
                display(&path)
            );
            Err(RefusedEdit { path, message })
        }
    }
}

/// The path to the first entry.
fn first_path(mut edits: &DocumentEdits) -> Vec<NodeStep> {
    let mut path = Vec::new();
    while edits.entry.is_none()
        && let Some((step, below)) = edits.below.first_key_value()
    {
        path.push(step.clone());
        edits = below;
    }
    path
}

/// The documents that are not null.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, fieldmanager_value::Error> {
    // Parsing JSON is much faster than parsing YAML.
    match Value::from_json_strict(text) {
        Ok(Value::Null) => Ok(Vec::new()),
        Ok(document) if text.trim_start().starts_with(['{', '[']) => Ok(vec![document]),
        _ => Value::all_from_yaml(text),
    }
}

/// The value with the new entries.
fn with(value: &Value, key: &str, edits: &DocumentEdits) -> Value {
    match value {
        Value::Map(map) => {
            let mut entries: Vec<(Str, Option<Value>)> = Vec::new();
            for (step, below) in &edits.below {
                if let NodeStep::Field(name) = step
                    && let Some((name, child)) = map.get_entry(name)
                {
                    entries.push((name.clone(), Some(with(child, key, below))));
                }
            }

            let mut map: Map = map.with_edits(entries);
            if let Some(value) = &edits.entry {
                map.insert(key, value.clone());
            }
            Value::Map(map)
        }
        Value::List(items) => {
            let edited = |(i, item): (usize, &Value)| match edits.below.get(&NodeStep::Item(i)) {
                Some(below) => with(item, key, below),
                None => item.clone(),
            };
            Value::List(items.iter().enumerate().map(edited).collect())
        }
        other => other.clone(),
    }
}

/// Walks the nodes of a document to the maps that get entries.
struct Editor<'t> {
    text: &'t str,
    /// The name of the entries.
    key: &'t str,
    newline: &'static str,
    path: Vec<NodeStep>,
    splices: Vec<Splice>,
}

impl Editor<'_> {
    fn inside(
        &mut self,
        step: &NodeStep,
        node: Option<&DocumentNode>,
        edits: &DocumentEdits,
    ) -> Result<(), RefusedEdit> {
        self.path.push(step.clone());
        // A node that is in the value but not in the text comes from an alias or a merge key, which other places share.
        let done = match node {
            Some(node) => self.node(node, edits),
            None => Err(self.refused(first_path(edits))),
        };
        self.path.pop();
        done
    }

    /// The error about an entry below the current node that the document does not allow.
    fn refused(&self, below: Vec<NodeStep>) -> RefusedEdit {
        let path: Vec<NodeStep> = self.path.iter().cloned().chain(below).collect();
        let message = format!(
            "{}: `{}` cannot be added, since aliases or merge keys are used there",
            display(&path),
            self.key
        );
        RefusedEdit { path, message }
    }

    fn node(&mut self, node: &DocumentNode, edits: &DocumentEdits) -> Result<(), RefusedEdit> {
        if let Some(value) = &edits.entry {
            let splice = self
                .splice(node, value)
                .ok_or_else(|| self.refused(Vec::new()))?;
            self.splices.push(splice);
        }

        if edits.below.is_empty() {
            return Ok(());
        }

        // One pass over the node finds all children.
        let children: HashMap<NodeStep, &DocumentNode> = match &node.content {
            NodeContent::List(items) => items
                .iter()
                .enumerate()
                .map(|(i, item)| (NodeStep::Item(i), item))
                .collect(),
            NodeContent::Map { entries, .. } => entries
                .iter()
                .map(|(key, value)| (NodeStep::Field(key.name.clone()), value))
                .collect(),
            _ => HashMap::new(),
        };

        for (step, below) in &edits.below {
            self.inside(step, children.get(step).copied(), below)?;
        }
        Ok(())
    }

    fn splice(&self, node: &DocumentNode, value: &Value) -> Option<Splice> {
        let Editor {
            text, key, newline, ..
        } = self;
        let NodeContent::Map { entries, flow } = &node.content else {
            return None;
        };

        let depth = self.path.len();
        let existing = entries.iter().find(|(own, _)| own.name == *key);
        let (first, last) = (entries.first(), entries.last());
        // In flow style, a new entry has the layout of those beside it, so that the diff shows only the entry.
        if *flow {
            let Some(((first, _), (last_key, last))) = first.zip(last) else {
                let with = format!("{key:?}: {}", value.to_json());
                return Some(Splice {
                    range: node.range.start + 1..node.range.start + 1,
                    depth,
                    with,
                });
            };

            let before = text.get(node.range.start..first.range.start)?;
            // The entries are one per line, or all on one line.
            let lines = before
                .contains('\n')
                .then(|| indent_of(text, first.range.start))
                .flatten();
            let spaced = text
                .get(last_key.range.end..last.range.start)
                .is_some_and(|between| between.contains(' '));
            let (separator, value) = match lines {
                Some(indent) => {
                    let break_line = format!("{newline}{indent}");
                    (
                        format!(",{break_line}"),
                        value.to_json_pretty().trim_end().replace('\n', &break_line),
                    )
                }
                None if spaced => (", ".to_owned(), value.to_json()),
                None => (",".to_owned(), value.to_json()),
            };

            let blank = if spaced { " " } else { "" };
            return Some(match existing {
                Some((_, old)) => Splice {
                    range: old.range.clone(),
                    depth,
                    with: value,
                },
                None => {
                    let end = last.range.end;
                    let with = format!("{separator}{key:?}:{blank}{value}");
                    Splice {
                        range: end..end,
                        depth,
                        with,
                    }
                }
            });
        }

        // In block style, an entry begins at the column of the first key.
        let (first, _) = first?;
        let (_, last) = last?;
        let indent = " ".repeat(column(text, first.range.start));
        let entry = Value::Map(Map::single(*key, value.clone())).to_yaml();
        let lines = entry
            .trim_end()
            .replace('\n', &format!("{newline}{indent}"));

        // An existing entry is replaced in its place, so that the order of entries remains.
        if let Some((key, old)) = existing {
            let mut range = key.range.start..old.range.end.max(key.range.end);
            if ends_with_block(old) {
                // The last line continues after the range.
                range.end = range.start + text.get(range.clone())?.trim_end().len();
            }
            return Some(Splice {
                range,
                depth,
                with: lines,
            });
        }

        let end = last.range.end;
        if ends_with_block(last) {
            // Trailing blank lines that are not part of the block stay after the new lines.
            let content = text.get(..end)?;
            let fresh = content.ends_with('\n');
            let with = if fresh {
                format!("{indent}{lines}{newline}")
            } else {
                format!("{newline}{indent}{lines}")
            };
            return Some(Splice {
                range: end..end,
                depth,
                with,
            });
        }

        // A comment after the last value stays on its line.
        let rest = text.get(end..)?;
        let mut end = end + rest.find('\n').unwrap_or(rest.len());
        if text.get(..end)?.ends_with('\r') {
            end -= 1;
        }
        Some(Splice {
            range: end..end,
            depth,
            with: format!("{newline}{indent}{lines}"),
        })
    }
}

/// Whether a node ends with a block scalar.
fn ends_with_block(mut node: &DocumentNode) -> bool {
    loop {
        node = match &node.content {
            NodeContent::Scalar { block } => return *block,
            NodeContent::List(items) => match items.last() {
                Some(last) => last,
                None => return false,
            },
            NodeContent::Map {
                entries,
                flow: false,
            } => match entries.last() {
                Some((_, last)) => last,
                None => return false,
            },
            _ => return false,
        };
    }
}

/// The distance of a position from the start of its line, in characters.
fn column(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
}

/// The whitespace between the start of the line and a position; `None` if there is anything else.
fn indent_of(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?.rsplit('\n').next()?;
    before
        .chars()
        .all(|c| c == ' ' || c == '\t')
        .then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "x-u";

    /// Entries at paths of the first document.
    fn edits(entries: &[(&[&str], &str)]) -> DocumentEdits {
        let mut edits = DocumentEdits::default();
        for (path, value) in entries {
            let mut at = DocumentEdits {
                entry: Some(Value::from_yaml(value).unwrap()),
                ..DocumentEdits::default()
            };
            for step in path.iter().rev() {
                let step = step
                    .parse()
                    .map_or_else(|_| NodeStep::Field((*step).to_owned()), NodeStep::Item);
                let mut above = DocumentEdits::default();
                above.add(step, at);
                at = above;
            }
            edits.add(NodeStep::Item(0), at);
        }
        edits
    }

    fn edited(text: &str, path: &[&str], value: &str) -> String {
        let edits = edits(&[(path, value)]);
        let out = apply(text, KEY, &edits).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        assert_eq!(
            apply(&out, KEY, &edits).unwrap(),
            out,
            "the operation is idempotent"
        );
        out
    }

    #[test]
    fn entry_is_added_after_the_last_one() {
        for (text, path, expected) in [
            ("a: 1\n", &[][..], "a: 1\nx-u:\n- b: c\n"),
            ("a: 1", &[], "a: 1\nx-u:\n- b: c"),
            (
                "a:\n  b: 1 # why\n  # more\nc: 2\n",
                &["a"],
                "a:\n  b: 1 # why\n  x-u:\n  - b: c\n  # more\nc: 2\n",
            ),
            (
                "a:\n- b: 1\n  c: 'x'\n\n- d\n",
                &["a", "0"],
                "a:\n- b: 1\n  c: 'x'\n  x-u:\n  - b: c\n\n- d\n",
            ),
            (
                "a:\n  b: \"x\n    y\"\nc: 2\n",
                &["a"],
                "a:\n  b: \"x\n    y\"\n  x-u:\n  - b: c\nc: 2\n",
            ),
            (
                "a:\n  b: |\n    x\n\nc: 2\n",
                &["a"],
                "a:\n  b: |\n    x\n\n  x-u:\n  - b: c\nc: 2\n",
            ),
            (
                "a:\n  b: x\n    y\n    z\nc: 2\n",
                &["a"],
                "a:\n  b: x\n    y\n    z\n  x-u:\n  - b: c\nc: 2\n",
            ),
            (
                "a:\n  b:\n    c: |-\n      x\n  d: 1\n",
                &["a", "b"],
                "a:\n  b:\n    c: |-\n      x\n    x-u:\n    - b: c\n  d: 1\n",
            ),
            (
                "a:\n  b:\n    c: >+\n      x\n\n\n  d: 1\n",
                &["a", "b"],
                "a:\n  b:\n    c: >+\n      x\n\n\n    x-u:\n    - b: c\n  d: 1\n",
            ),
            (
                "a:\n  b: |-\n    x",
                &["a"],
                "a:\n  b: |-\n    x\n  x-u:\n  - b: c",
            ),
            (
                "a:\n- b: |\n    x\n  # c\n- d\n",
                &["a", "0"],
                "a:\n- b: |\n    x\n  x-u:\n  - b: c\n  # c\n- d\n",
            ),
            (
                "a:\n  b:\n# c\nc: 2\n",
                &["a"],
                "a:\n  b:\n  x-u:\n  - b: c\n# c\nc: 2\n",
            ),
            (
                "a:\n  b: {}\nc: 2\n",
                &["a"],
                "a:\n  b: {}\n  x-u:\n  - b: c\nc: 2\n",
            ),
            (
                "a: {b: 1, c: {}}\n",
                &["a"],
                "a: {b: 1, c: {}, \"x-u\": [{\"b\":\"c\"}]}\n",
            ),
            ("a: {}\n", &["a"], "a: {\"x-u\": [{\"b\":\"c\"}]}\n"),
            (
                "a: é\r\nb:\r\n  c: 1\r\n",
                &["b"],
                "a: é\r\nb:\r\n  c: 1\r\n  x-u:\r\n  - b: c\r\n",
            ),
            (
                "# first\n---\na: 1\n---\nb: 1\n",
                &[],
                "# first\n---\na: 1\nx-u:\n- b: c\n---\nb: 1\n",
            ),
            ("{\"a\":1}", &[], "{\"a\":1,\"x-u\":[{\"b\":\"c\"}]}"),
            (
                "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n",
                &["a"],
                "{\n  \"a\": {\n    \"b\": 1,\n    \"x-u\": [\n      {\n        \"b\": \"c\"\n      }\n    ]\n  }\n}\n",
            ),
            (
                "{\n\t\"a\": 1\n}\n",
                &[],
                "{\n\t\"a\": 1,\n\t\"x-u\": [\n\t  {\n\t    \"b\": \"c\"\n\t  }\n\t]\n}\n",
            ),
            (
                "{\"a\": \"\\ud83d\\ude00\"}",
                &[],
                "{\"a\": \"\\ud83d\\ude00\", \"x-u\": [{\"b\":\"c\"}]}",
            ),
        ] {
            assert_eq!(edited(text, path, "[{b: c}]"), expected, "{text}");
        }
    }

    #[test]
    fn different_entry_is_replaced_in_place() {
        for (text, path, expected) in [
            (
                "a: 1\nx-u: old # why\nb: 1\n",
                &[][..],
                "a: 1\nx-u:\n- b: c # why\nb: 1\n",
            ),
            (
                "- x-u:\n    old: 1\n  # c\n  y: 1\n",
                &["0"],
                "- x-u:\n  - b: c\n  # c\n  y: 1\n",
            ),
            (
                "{\"x-u\": 1, \"b\": 2}",
                &[],
                "{\"x-u\": [{\"b\":\"c\"}], \"b\": 2}",
            ),
            (
                "a:\n  x-u: |\n    b\n\n  b: 1\n",
                &["a"],
                "a:\n  x-u:\n  - b: c\n\n  b: 1\n",
            ),
            ("a:\n  x-u:\nb: 1\n", &["a"], "a:\n  x-u:\n  - b: c\nb: 1\n"),
        ] {
            let edits = edits(&[(path, "[{b: c}]")]);
            assert_eq!(apply(text, KEY, &edits), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn entries_of_nested_maps_are_in_order() {
        let edits = edits(&[(&[], "[1]"), (&["p", "t"], "{m: 1}")]);
        assert_eq!(edits.count(), 2);
        let out = apply("a: 1\np:\n  t:\n    type: string\n", KEY, &edits).unwrap();
        assert_eq!(
            out,
            "a: 1\np:\n  t:\n    type: string\n    x-u:\n      m: 1\nx-u:\n- 1\n"
        );
    }

    #[test]
    fn aliases_and_merge_keys_are_refused() {
        for text in ["a: &a {b: 1}\nc: *a\n", "a: &a {c: {b: 1}}\n<<: *a\n"] {
            let error = apply(text, KEY, &edits(&[(&["c"], "1")])).unwrap_err();
            assert_eq!(
                error.message,
                ".c: `x-u` cannot be added, since aliases or merge keys are used there"
            );
        }
    }
}
