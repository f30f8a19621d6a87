//! Shows a type as a tree of its fields.

use fieldmanager_schema::internal::{Atom, ListType, MapType, Scalar, TypeId, Union};
use fieldmanager_schema::{Schema, Type, UNTYPED_ATOMIC, UNTYPED_DEDUCED};
use fieldmanager_value::Value;

use crate::output::Style;

/// A field and its description as phrases.
pub(crate) struct Row {
    pub(crate) level: usize,
    pub(crate) name: String,
    pub(crate) phrases: Vec<(Option<Style>, String)>,
}

/// Marks omitted fields.
const CUT: &str = "…";

/// Marks a type whose fields are shown further up.
const AGAIN: &str = "↑";

/// The fields of a type down to the given depth. The fields of a recursive type are shown once.
pub(crate) fn rows(ty: &Type, depth: usize) -> Vec<Row> {
    let mut tree = Tree {
        schema: ty.schema(),
        depth,
        above: Vec::new(),
        rows: Vec::new(),
    };
    let atom = ty.atom();

    // Fields cannot tell all of a type without fields, or of one that is atomic, so it has a row of its own.
    if atom.map.as_ref().is_none_or(|map| map.fields().is_empty())
        || atom.map.as_ref().is_some_and(|m| m.atomic)
    {
        let phrases = tree.phrases(ty.id());
        tree.rows.push(Row {
            level: 0,
            name: "(the type itself)".into(),
            phrases,
        });
    }
    tree.fields(ty.id(), 0);

    tree.rows
}

struct Tree<'s> {
    schema: &'s Schema,
    depth: usize,
    /// The names of the enclosing types.
    above: Vec<&'s str>,
    rows: Vec<Row>,
}

/// The struct at the end of nested lists and maps, or the type itself.
fn inner(schema: &Schema, mut id: TypeId) -> TypeId {
    // A list type may contain itself.
    for _ in 0..fieldmanager_value::MAX_DEPTH {
        let atom = schema.atom(id);
        id = match (&atom.map, &atom.list) {
            (Some(map), _) if !map.fields().is_empty() => return id,
            (
                Some(MapType {
                    element: Some(element),
                    ..
                }),
                _,
            ) => *element,
            (None, Some(list)) => list.element,
            _ => return id,
        };
    }

    id
}

impl<'s> Tree<'s> {
    /// Adds the rows of the fields of a type, or of the items of a list or map.
    fn fields(&mut self, id: TypeId, level: usize) {
        let atom = self.schema.atom(inner(self.schema, id));
        let Some(map) = atom.map.as_ref().filter(|map| !map.fields().is_empty()) else {
            return;
        };
        // A recursive type would have no end, and its fields are shown further up.
        if self.is_above(atom) {
            return self.mark(AGAIN);
        }
        if level >= self.depth {
            return self.mark(CUT);
        }

        self.above.push(if atom.inlined { "" } else { &atom.name });
        for field in map.fields() {
            let mut phrases = self.phrases(field.ty);
            phrases.extend(union_phrases(map, &field.name));
            self.rows.push(Row {
                level,
                name: field.name.to_string(),
                phrases,
            });
            self.fields(field.ty, level + 1);
        }
        self.above.pop();
    }

    fn is_above(&self, atom: &Atom) -> bool {
        !atom.inlined && self.above.contains(&atom.name.as_str())
    }

    fn mark(&mut self, mark: &str) {
        if let Some(row) = self.rows.last_mut() {
            row.phrases.push((Some(Style::Faint), mark.to_owned()));
        }
    }

    /// Describes the type of a value and its granularity of ownership.
    fn phrases(&self, id: TypeId) -> Vec<(Option<Style>, String)> {
        let atom = self.schema.atom(id);
        let mut phrases = vec![(None, self.describe(id, 2))];
        // A type that is both a map and a list is described as a map.
        let plain_list = atom.map.is_none();
        let atomic = atom.map.as_ref().is_some_and(|map| map.atomic)
            || (plain_list && atom.list.as_ref().is_some_and(|list| list.atomic));

        if atomic {
            phrases.push((Some(Style::Owned), "atomic".to_owned()));
        } else if let Some(list) = atom
            .list
            .as_ref()
            .filter(|list| plain_list && !list.keys.is_empty())
        {
            phrases.push((Some(Style::Owned), keys(list)));
        }

        phrases
    }

    /// Describes a type in a few words. Descends at most `nested` levels into nested lists and maps.
    fn describe(&self, id: TypeId, nested: usize) -> String {
        let atom = self.schema.atom(id);
        let name = (!atom.inlined).then(|| atom.name.rsplit('.').next().unwrap_or(&atom.name));
        let of = |element: TypeId| match nested {
            0 => CUT.to_owned(),
            _ => self.describe(element, nested - 1),
        };

        match (&atom.scalar, &atom.list, &atom.map) {
            _ if !atom.inlined
                && [UNTYPED_ATOMIC, UNTYPED_DEDUCED].contains(&atom.name.as_str()) =>
            {
                "anything".to_owned()
            }
            (Some(scalar), None, None) => match name {
                Some(name) => format!("{name} ({})", scalar_name(*scalar)),
                None => scalar_name(*scalar).to_owned(),
            },
            (None, Some(list), None) => {
                let set = !list.atomic && list.keys.is_empty();
                format!(
                    "{} of {}",
                    if set { "set" } else { "list" },
                    of(list.element)
                )
            }
            (
                None,
                None,
                Some(MapType {
                    element: Some(element),
                    ..
                }),
            ) if atom.map.as_ref().is_some_and(|map| map.fields().is_empty()) => {
                match name {
                    // A type that accepts any value is better described by its name.
                    Some(name) if self.schema.atom(*element).name == UNTYPED_DEDUCED => {
                        name.to_owned()
                    }
                    _ => format!("map of {}", of(*element)),
                }
            }
            (None, None, Some(_)) => name.unwrap_or("object").to_owned(),
            (None, None, None) => "nothing".to_owned(),
            _ => name.unwrap_or("anything").to_owned(),
        }
    }
}

fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Numeric => "number",
        Scalar::String => "string",
        Scalar::Boolean => "boolean",
        Scalar::Untyped => "scalar",
    }
}

/// The keys of a list. An empty or zero default is omitted.
fn keys(list: &ListType) -> String {
    let keys: Vec<String> = list
        .keys
        .iter()
        .map(|key| match &key.default {
            None => key.name.to_string(),
            Some(default) if *default == Value::from("") || *default == Value::from(0) => {
                key.name.to_string()
            }
            Some(default) => format!("{} (default {})", key.name, text(default)),
        })
        .collect();

    format!("by {}", keys.join(" and "))
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_json(), str::to_owned)
}

/// Describes the role of a field in the unions of its struct.
fn union_phrases(map: &MapType, field: &str) -> Vec<(Option<Style>, String)> {
    let mut out = Vec::new();
    for union in &map.unions {
        if union.discriminator.as_deref() == Some(field) {
            out.push((Some(Style::Modified), discriminator(union)));
        }
        for member in union.fields.iter().filter(|member| member.field == field) {
            let text = match &union.discriminator {
                Some(name) if member.optional => format!("only if {name} is {}", member.value),
                Some(name) => format!("if and only if {name} is {}", member.value),
                None => {
                    let names: Vec<&str> = union
                        .fields
                        .iter()
                        .map(|member| member.field.as_str())
                        .collect();
                    let count = if union.required { "exactly" } else { "at most" };

                    match names.as_slice() {
                        [_] if union.required => "required".to_owned(),
                        [_] => continue,
                        names => format!("{count} one of {}", names.join(", ")),
                    }
                }
            };
            out.push((Some(Style::Modified), text));
        }
    }

    out
}

fn discriminator(union: &Union) -> String {
    let selects = union
        .fields
        .iter()
        .map(|member| format!("{} selects {}", member.value, member.field));
    let mut parts: Vec<String> = selects.collect();

    if !union.empty_members.is_empty() {
        let values: Vec<&str> = union
            .empty_members
            .iter()
            .map(|value| value.as_str())
            .collect();
        let verb = if values.len() == 1 {
            "selects"
        } else {
            "select"
        };
        parts.push(format!("{} {verb} nothing", values.join(" and ")));
    }

    if union.closed {
        parts.push("no other value is accepted".to_owned());
    }
    parts.join(", ")
}
