//! Writes YAML line by line and records the owners of each line. The output equals that of `Value::to_yaml`.

use fieldmanager_fieldpath::{Path, PathElement, Set};
use fieldmanager_schema::Type;
use fieldmanager_value::{List, Map, Value};

use crate::line::Line;
use crate::owned::OwnedPlace;

pub(crate) fn lines(object: &Value, ty: Option<&Type>, sets: &[Set]) -> Vec<Line> {
    let mut writer = LineWriter {
        lines: Vec::new(),
        path: Path::default(),
    };
    let root = OwnedPlace::root(ty, sets);
    let start = Start {
        lead: String::new(),
        indent: 0,
        parent: None,
        begins: Vec::new(),
    };
    match object {
        Value::Map(map) if !map.is_empty() => writer.map(map, &root, start),
        other => writer.text(&other.to_yaml(), "", &root, &start),
    };

    writer.lines
}

struct LineWriter {
    lines: Vec<Line>,
    path: Path,
}

/// The position at which a value begins.
struct Start {
    /// The output that precedes the value on its first line.
    lead: String,
    /// The column of its continuation lines.
    indent: usize,
    /// The line that contains the value.
    parent: Option<usize>,
    /// The owners of items that begin on its first line.
    begins: Vec<usize>,
}

impl Start {
    /// Prepares for continuation lines of the same value, which require the first line.
    fn next(&mut self, first: usize) {
        if !self.lead.trim_start().is_empty() {
            self.parent = Some(first);
        }
        self.lead = " ".repeat(self.indent);
        self.begins.clear();
    }
}

impl LineWriter {
    /// Writes a non-empty map. Returns whether any part of it has an owner.
    fn map(&mut self, map: &Map, place: &OwnedPlace<'_>, mut start: Start) -> bool {
        let mut any = false;
        for (name, value) in map {
            self.path.push(PathElement::field(name.clone()));
            let field = place.field(name, value);
            let first = self.lines.len();
            let header = header(name);
            any |= match value {
                Value::Map(_) | Value::List(_) if !is_empty(value) => {
                    let mut line = self.line(&start, &field);
                    // An item begins on the line of its first field, which shows the owners of the item if the field
                    // has none.
                    if line.owners.is_empty() {
                        line.owners.clone_from(&start.begins);
                    }
                    line.key = header;
                    self.lines.push(line);
                    // `Value::to_yaml` indents the fields of a map, but not the items of a list.
                    let indent = start.indent + if matches!(value, Value::Map(_)) { 2 } else { 0 };
                    let inner = Start {
                        lead: " ".repeat(indent),
                        indent,
                        parent: Some(first),
                        begins: Vec::new(),
                    };

                    // Whether any part is owned is known only after all parts are written.
                    let parts = self.container(value, &field, inner);
                    if let Some(line) = self.lines.get_mut(first) {
                        line.has_owned_parts = parts;
                    }
                    parts || !field.owners().is_empty()
                }
                scalar => self.text(
                    &Value::Map(Map::single(name.clone(), scalar.clone())).to_yaml(),
                    &header,
                    &field,
                    &start,
                ),
            };
            start.next(first);
            self.path.pop();
        }

        any
    }

    fn list(&mut self, list: &List, place: &OwnedPlace<'_>, mut start: Start) -> bool {
        let items = place.items();
        let mut any = false;
        for (at, value) in list.iter().enumerate() {
            let (item, element) = place.item(&items, at, value);
            self.path.push(element);
            let first = self.lines.len();
            let owners = item.owners();
            any |= !owners.is_empty();
            any |= if is_empty(value) || value.is_scalar() || value.is_null() {
                let text = Value::from(vec![value.clone()]).to_yaml();
                self.text(&text, "", &item, &start)
            } else {
                // An item has no line of its own: it begins on the line of its first part, which shows its owners.
                let inner = Start {
                    lead: format!("{}- ", start.lead),
                    indent: start.indent + 2,
                    parent: start.parent,
                    begins: owners,
                };
                self.container(value, &item, inner)
            };
            start.next(first);
            self.path.pop();
        }

        any
    }

    fn container(&mut self, value: &Value, place: &OwnedPlace<'_>, start: Start) -> bool {
        match value {
            Value::Map(map) => self.map(map, place, start),
            Value::List(list) => self.list(list, place, start),
            _ => false,
        }
    }

    /// Writes a YAML string with a single set of owners.
    fn text(&mut self, text: &str, header: &str, place: &OwnedPlace<'_>, start: &Start) -> bool {
        let first = self.lines.len();
        for (i, part) in text.lines().enumerate() {
            let mut line = self.line(start, place);
            let (key, rest) = match part.strip_prefix(header) {
                Some(rest) if i == 0 => (header, rest),
                _ => ("", part),
            };
            line.key = key.to_owned();
            line.rest = rest.to_owned();

            // A string may take several lines. Those after the first have no key, and depend on it.
            if i > 0 {
                line.lead = if part.is_empty() {
                    String::new()
                } else {
                    " ".repeat(start.indent)
                };
                line.parent = Some(first);
            }
            self.lines.push(line);
        }

        !place.owners().is_empty()
    }

    fn line(&self, start: &Start, place: &OwnedPlace<'_>) -> Line {
        Line {
            lead: start.lead.clone(),
            owners: place.owners(),
            path: self.path.to_string(),
            parent: start.parent,
            ..Line::default()
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
        _ => false,
    }
}

/// The name of a field in YAML syntax, with its colon.
fn header(name: &str) -> String {
    let text = Value::Map(Map::single(name, 0)).to_yaml();
    match text.strip_suffix(" 0\n") {
        Some(header) if !header.contains('\n') => header.to_owned(),
        // JSON is valid YAML.
        _ => format!("{}:", Value::from(name).to_json()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_join_to_the_yaml_of_the_value() {
        for text in [
            "{a: 1, b: {c: [1, {d: x, e: [y, z]}, [], {}, [[1, 2], [3]], null]}, f: [], g: {}, h: null}",
            "{'yes': 'no', '1': '1', 'a b': 'c: d', '': '', '#x': '# y', 'quote\"': \"it's\"}",
            "{text: \"one\\ntwo\\n\\nthree\\n\", list: [\"a\\nb\\n\", {t: \"a\\n  b\", u: \"\\tx\\n\"}], end: \"a\\nb\"}",
            "{l: [[{a: [{b: 1, c: 2}], d: 1}]], long: 'aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccccccccccc ddddddddd'}",
            "{m: {'a.b/c-d': {e: {f: [{g: {h: i}}]}}}}",
        ] {
            let value = Value::from_yaml(text).unwrap();
            let lines: String = lines(&value, None, &[])
                .iter()
                .map(|line| line.text() + "\n")
                .collect();
            assert_eq!(lines, value.to_yaml(), "{text}");
        }
    }
}
