//! Decodes `ObjectMeta` as the Go type does, and encodes it again.

use fieldmanager_value::internal::write_number;
use fieldmanager_value::{List, Map, Str, Value};

use super::walk::{Edit, edit_map};
use crate::go_types::json_kind;
use crate::time::{Timestamp, TimestampError};

/// The type of a field in the Go struct.
enum Shape {
    /// A string of this type, omitted if empty.
    Text(&'static str),
    /// A string that is written even if it is empty.
    Always(&'static str),
    /// An integer, omitted if zero.
    Integer,
    /// An integer that is written even if it is zero.
    OptionalInteger,
    OptionalBool,
    /// A time, omitted if zero.
    Time,
    /// A time that is null if zero.
    OptionalTime,
    Texts,
    TextMap,
    Structs(&'static Struct),
    /// Any JSON.
    Raw,
}

/// A Go struct: its name and its fields, sorted.
struct Struct {
    name: &'static str,
    fields: &'static [(&'static str, Shape)],
}

static OBJECT_META: Struct = Struct {
    name: "ObjectMeta",
    fields: &[
        ("annotations", Shape::TextMap),
        ("creationTimestamp", Shape::Time),
        ("deletionGracePeriodSeconds", Shape::OptionalInteger),
        ("deletionTimestamp", Shape::OptionalTime),
        ("finalizers", Shape::Texts),
        ("generateName", Shape::Text("string")),
        ("generation", Shape::Integer),
        ("labels", Shape::TextMap),
        ("managedFields", Shape::Structs(&MANAGED_FIELDS_ENTRY)),
        ("name", Shape::Text("string")),
        ("namespace", Shape::Text("string")),
        ("ownerReferences", Shape::Structs(&OWNER_REFERENCE)),
        ("resourceVersion", Shape::Text("string")),
        ("selfLink", Shape::Text("string")),
        ("uid", Shape::Text("types.UID")),
    ],
};

static OWNER_REFERENCE: Struct = Struct {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", Shape::Always("string")),
        ("blockOwnerDeletion", Shape::OptionalBool),
        ("controller", Shape::OptionalBool),
        ("kind", Shape::Always("string")),
        ("name", Shape::Always("string")),
        ("uid", Shape::Always("types.UID")),
    ],
};

static MANAGED_FIELDS_ENTRY: Struct = Struct {
    name: "ManagedFieldsEntry",
    fields: &[
        ("apiVersion", Shape::Text("string")),
        ("fieldsType", Shape::Text("string")),
        ("fieldsV1", Shape::Raw),
        ("manager", Shape::Text("string")),
        ("operation", Shape::Text("v1.ManagedFieldsOperationType")),
        ("subresource", Shape::Text("string")),
        ("time", Shape::OptionalTime),
    ],
};

/// Decoded `metadata`: the new value, or `None` if it is unchanged, and the unknown fields.
pub(super) struct Decoded {
    pub(super) edit: Edit,
    pub(super) unknown: Vec<String>,
}

/// Decodes `metadata`. The error message is that of Go.
pub(super) fn decode(metadata: &Value) -> Result<Decoded, String> {
    let map = match metadata {
        Value::Map(map) => map,
        Value::Null => {
            return Ok(Decoded {
                edit: Some(Map::new().into()),
                unknown: Vec::new(),
            });
        }
        other => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                json_kind(other)
            ));
        }
    };

    let mut decoder = Decoder::default();
    let edit = decoder.fields(map, &OBJECT_META, &Place::default())?;
    match decoder.fault {
        Some(fault) => Err(fault),
        None => Ok(Decoded {
            edit,
            unknown: decoder.unknown,
        }),
    }
}

/// Decodes `metadata` and drops each of its fields that has a fault.
pub(super) fn decode_dropping(metadata: &Map) -> Decoded {
    let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
    let mut unknown = Vec::new();
    // Each field is decoded alone, so that a fault in one of them does not drop the others.
    for (name, value) in metadata {
        match decode(&Map::single(name, value.clone()).into()) {
            Ok(decoded) => {
                unknown.extend(decoded.unknown);
                if let Some(edited) = decoded.edit {
                    edits.push((name.clone(), edited.get(name).cloned()));
                }
            }
            Err(_) => edits.push((name.clone(), None)),
        }
    }

    Decoded {
        edit: edit_map(metadata, edits),
        unknown,
    }
}

/// The location of a struct, for messages.
#[derive(Default)]
struct Place<'a> {
    /// The struct field with a dot, such as `ownerReferences.`.
    field: &'a str,
    /// The index of the item.
    index: Option<usize>,
}

#[derive(Default)]
struct Decoder {
    unknown: Vec<String>,
    /// The first value of a wrong type. Decoding continues, because a malformed time takes precedence.
    fault: Option<String>,
}

/// The result of decoding a field.
enum Outcome {
    Keep,
    Remove,
    Replace(Value),
}

impl Decoder {
    fn fields(
        &mut self,
        map: &Map,
        of: &'static Struct,
        place: &Place<'_>,
    ) -> Result<Edit, String> {
        let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
        for (name, value) in map {
            let known = of
                .fields
                .binary_search_by(|(known, _)| (*known).cmp(name))
                .ok();
            let Some((_, shape)) = known.and_then(|at| of.fields.get(at)) else {
                self.unknown.push(match place.index {
                    Some(at) => format!("{}[{at}].{name}", place.field),
                    None => name.to_string(),
                });
                edits.push((name.clone(), None));
                continue;
            };

            match self.field(name, value, shape, of, place)? {
                Outcome::Keep => {}
                Outcome::Remove => edits.push((name.clone(), None)),
                Outcome::Replace(value) => edits.push((name.clone(), Some(value))),
            }
        }

        // Go writes these fields even if they are absent from the text.
        for (name, shape) in of.fields {
            if matches!(shape, Shape::Always(_)) && !map.contains(name) {
                edits.push(((*name).into(), Some("".into())));
            }
        }
        // The edits of absent fields come last, but the edits of a map are sorted by name.
        edits.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(edit_map(map, edits))
    }

    fn field(
        &mut self,
        name: &str,
        value: &Value,
        shape: &Shape,
        of: &'static Struct,
        place: &Place<'_>,
    ) -> Result<Outcome, String> {
        let mut wrong = |value: &Value, type_name: &str| {
            let fault = mismatch(json_kind(value), name, type_name, of, place);
            self.fault.get_or_insert(fault);
            Ok(Outcome::Keep)
        };

        match (shape, value) {
            (Shape::Always(_), Value::Null) => Ok(Outcome::Replace("".into())),
            (_, Value::Null) => Ok(Outcome::Remove),
            (Shape::Raw, _)
            | (Shape::OptionalBool, Value::Bool(_))
            | (Shape::Always(_), Value::String(_)) => Ok(Outcome::Keep),
            (Shape::Text(_), Value::String(text)) if text.is_empty() => Ok(Outcome::Remove),
            (Shape::Text(_), Value::String(_)) => Ok(Outcome::Keep),
            (Shape::Text(type_name) | Shape::Always(type_name), other) => wrong(other, type_name),
            (Shape::Integer, Value::Int(0)) => Ok(Outcome::Remove),
            (Shape::Integer | Shape::OptionalInteger, Value::Int(_)) => Ok(Outcome::Keep),
            (Shape::Integer | Shape::OptionalInteger, Value::Float(number)) => {
                let mut text = String::new();
                write_number(&mut text, *number);
                // In Go, metadata passes through JSON, in which a whole float is an integer.
                Ok(match text.parse() {
                    Ok(0) if matches!(shape, Shape::Integer) => Outcome::Remove,
                    Ok(whole) => Outcome::Replace(Value::Int(whole)),
                    Err(_) => {
                        let fault = mismatch(&format!("number {text}"), name, "int64", of, place);
                        self.fault.get_or_insert(fault);
                        Outcome::Keep
                    }
                })
            }
            (Shape::Integer | Shape::OptionalInteger, other) => wrong(other, "int64"),
            (Shape::OptionalBool, other) => wrong(other, "bool"),
            (Shape::Time | Shape::OptionalTime, Value::String(text)) => {
                let time: Timestamp = text
                    .parse()
                    .map_err(|error: TimestampError| error.to_string())?;
                let canonical = time.to_string();
                Ok(match shape {
                    Shape::Time if time.is_zero() => Outcome::Remove,
                    _ if time.is_zero() => Outcome::Replace(Value::Null),
                    _ if *text == canonical.as_str() => Outcome::Keep,
                    _ => Outcome::Replace(canonical.into()),
                })
            }
            // A time decodes itself, and its error ends the decoding.
            (Shape::Time | Shape::OptionalTime, other) => {
                Err(mismatch(json_kind(other), name, "string", of, place))
            }
            (Shape::Texts, Value::List(list)) if list.is_empty() => Ok(Outcome::Remove),
            (Shape::Texts, Value::List(list)) => {
                let mut edits = Vec::new();
                for (at, item) in list.iter().enumerate() {
                    match item {
                        Value::String(_) => {}
                        Value::Null => edits.push((at, "".into())),
                        other => return wrong(other, "string"),
                    }
                }
                Ok(edited_list(list, edits))
            }
            (Shape::Texts, other) => wrong(other, "[]string"),
            (Shape::TextMap, Value::Map(map)) if map.is_empty() => Ok(Outcome::Remove),
            (Shape::TextMap, Value::Map(map)) => {
                let mut edits = Vec::new();
                for (key, value) in map {
                    match value {
                        Value::String(_) => {}
                        Value::Null => edits.push((key.clone(), Some("".into()))),
                        other => return wrong(other, "string"),
                    }
                }
                Ok(edit_map(map, edits).map_or(Outcome::Keep, Outcome::Replace))
            }
            (Shape::TextMap, other) => wrong(other, "map[string]string"),
            (Shape::Structs(_), Value::List(list)) if list.is_empty() => Ok(Outcome::Remove),
            (Shape::Structs(inner), Value::List(list)) => {
                let mut edits = Vec::new();
                let empty = Map::new();
                for (at, item) in list.iter().enumerate() {
                    let below = Place {
                        field: name,
                        index: Some(at),
                    };
                    match item {
                        Value::Map(map) => edits
                            .extend(self.fields(map, inner, &below)?.map(|edited| (at, edited))),
                        Value::Null => {
                            let edited = self.fields(&empty, inner, &below)?;
                            edits.push((at, edited.unwrap_or_else(|| empty.clone().into())));
                        }
                        other => {
                            let type_name = format!("v1.{}", inner.name);
                            let fault = mismatch(json_kind(other), name, &type_name, of, place);
                            self.fault.get_or_insert(fault);
                        }
                    }
                }

                Ok(edited_list(list, edits))
            }
            (Shape::Structs(inner), other) => wrong(other, &format!("[]v1.{}", inner.name)),
        }
    }
}

fn edited_list(list: &List, edits: Vec<(usize, Value)>) -> Outcome {
    if edits.is_empty() {
        Outcome::Keep
    } else {
        Outcome::Replace(list.with_edits(edits, Vec::new()).into())
    }
}

fn mismatch(found: &str, name: &str, type_name: &str, of: &Struct, place: &Place<'_>) -> String {
    let dot = if place.field.is_empty() { "" } else { "." };
    format!(
        "json: cannot unmarshal {found} into Go struct field {}.{}{dot}{name} of type {type_name}",
        of.name, place.field
    )
}
