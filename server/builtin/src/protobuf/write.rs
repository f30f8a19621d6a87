//! Objects as protobuf messages.
//!
//! Behaviour: the methods `Marshal` of `k8s.io/api`, which gogo/protobuf generates: fields in the order of their numbers, and
//! scalars and structs also if they are zero, unless they are behind pointers.

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::{ObjectExt, Timestamp};
use fieldmanager_value::internal::level;
use fieldmanager_value::{Str, Value};

use super::{PREFIX, kind_of};
use crate::base64;
use crate::types::{Form, Part, Struct, TypeId, Types, types};

/// The wire types.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

/// Writes an object of a built-in kind, a list of such objects, a `Status`, or `PartialObjectMetadata` in protobuf, as API servers
/// answer to the typed clients of client-go. The object names its kind, and the items of a list are of the kind of the list.
///
/// `None` if the kind is not built in: objects of custom resources have no messages. A part that does not fit the type of its field
/// is written as its zero value; objects that were [decoded](crate::Kind::decode) fit.
///
/// ```
/// use fieldmanager_builtin::{from_protobuf, to_protobuf};
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let object = Value::from_json(r#"{"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{"name":"web"}}"#)?;
/// let bytes = to_protobuf(&object).unwrap();
/// assert!(bytes.starts_with(b"k8s\0"));
/// assert_eq!(from_protobuf(&bytes, &GroupVersionKind::default())?, object);
/// assert_eq!(to_protobuf(&Value::from_json(r#"{"apiVersion":"example.com/v1","kind":"Shop"}"#)?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_protobuf(object: &Value) -> Option<Vec<u8>> {
    let gvk = object.declared_kind();
    let mut writer = MessageWriter::new(types());

    // The envelope: the type, the message, and how it is encoded.
    writer.encoding();
    let message = writer.begin();
    match (kind_of(&gvk, &gvk.kind), gvk.kind.strip_suffix("List")) {
        (Some(kind), _) => writer.message_of(kind.ty(), object),
        (None, Some(item)) => writer.list(kind_of(&gvk, item)?.ty(), object),
        (None, None) => return None,
    }
    writer.end(2, message);
    writer.type_meta(object);
    Some(writer.finish(PREFIX))
}

/// Writes an item of a list in protobuf: its message, behind the key and the length that it has in the list. `None` if the kind
/// is not built in.
pub fn item_to_protobuf(kind: &GroupVersionKind, item: &Value) -> Option<Vec<u8>> {
    let mut writer = MessageWriter::new(types());
    let from = writer.begin();
    writer.message_of(kind_of(kind, &kind.kind)?.ty(), item);
    writer.end(2, from);
    Some(writer.finish(&[]))
}

/// Writes what stands before and behind the items of a list in protobuf, which have a size in bytes together. The list has its
/// kind and its metadata.
///
/// ```
/// use fieldmanager_builtin::{item_to_protobuf, list_to_protobuf, to_protobuf};
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let text = r#"{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"7"}"#;
/// let list = Value::from_json(&format!(r#"{text},"items":[{{"data":{{"a":"b"}}}}]}}"#))?;
/// let item = list.get("items").and_then(Value::as_list).and_then(|items| items.get(0)).unwrap();
/// let item = item_to_protobuf(&GroupVersionKind::new("", "v1", "ConfigMap"), item).unwrap();
/// let [start, end] = list_to_protobuf(&Value::from_json(&format!("{text}}}"))?, item.len());
/// assert_eq!([start, item, end].concat(), to_protobuf(&list).unwrap());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn list_to_protobuf(list: &Value, size: usize) -> [Vec<u8>; 2] {
    let mut writer = MessageWriter::new(types());
    let message = writer.begin();
    writer.list_metadata(list);
    writer.end_with(2, message, size);
    writer.type_meta(list);
    let mut end = MessageWriter::new(types());
    end.encoding();
    [writer.finish(PREFIX), end.finish(&[])]
}

/// Writes an event of a watch in protobuf: its type, and an object as [`to_protobuf`] writes it.
///
/// Behaviour: `WatchEvent` of `k8s.io/apimachinery/pkg/apis/meta/v1`.
pub fn watch_event_to_protobuf(event: &str, object: &[u8]) -> Vec<u8> {
    let mut writer = MessageWriter::new(types());
    let raw = writer.begin();
    writer.bytes(1, object);
    writer.end(2, raw);
    writer.text(1, event);
    writer.finish(&[])
}

/// Writes messages from their ends to their starts, so that the length of a part is known when it is written before it. Cost is
/// linear in what is written.
struct MessageWriter<'t> {
    types: &'t Types,
    /// In reverse.
    out: Vec<u8>,
}

impl MessageWriter<'_> {
    fn new(types: &Types) -> MessageWriter<'_> {
        let out = Vec::new();
        MessageWriter { types, out }
    }

    fn finish(mut self, prefix: &[u8]) -> Vec<u8> {
        self.out.extend(prefix.iter().rev());
        self.out.reverse();
        self.out
    }

    /// The place of the end of a part that is written next.
    fn begin(&self) -> usize {
        self.out.len()
    }

    /// Makes what was written since a place the payload of a field.
    fn end(&mut self, number: u32, from: usize) {
        self.end_with(number, from, 0);
    }

    /// Makes what was written since a place the payload of a field, to which others add bytes behind it.
    fn end_with(&mut self, number: u32, from: usize, more: usize) {
        let length = self.out.len() - from + more;
        self.raw_varint(length as u64);
        self.key(number, BYTES);
    }

    fn key(&mut self, number: u32, wire_type: u64) {
        self.raw_varint(u64::from(number) << 3 | wire_type);
    }

    fn raw_varint(&mut self, mut rest: u64) {
        let start = self.out.len();
        while rest >= 0x80 {
            self.out.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        self.out.push(rest as u8);
        if let Some(written) = self.out.get_mut(start..) {
            written.reverse();
        }
    }

    fn varint(&mut self, number: u32, value: i64) {
        self.raw_varint(value as u64);
        self.key(number, VARINT);
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        let from = self.begin();
        self.out.extend(bytes.iter().rev());
        self.end(number, from);
    }

    fn text(&mut self, number: u32, text: &str) {
        self.bytes(number, text.as_bytes());
    }

    /// How the message in an envelope is encoded, and of which type it is, which is empty.
    fn encoding(&mut self) {
        self.text(4, "");
        self.text(3, "");
    }

    /// The kind that an envelope names.
    fn type_meta(&mut self, object: &Value) {
        let from = self.begin();
        self.text(2, object.string("kind"));
        self.text(1, object.api_version());
        self.end(1, from);
    }

    /// The message of a list, whose types have no place in the table: all have metadata and items.
    fn list(&mut self, of: TypeId, list: &Value) {
        for item in items(list.get("items")).into_iter().rev() {
            let from = self.begin();
            self.message_of(of, item);
            self.end(2, from);
        }
        self.list_metadata(list);
    }

    fn list_metadata(&mut self, list: &Value) {
        let metadata = list.get("metadata");
        let text = |name: &str| metadata.map_or("", |metadata| metadata.string(name));
        let from = self.begin();
        let remaining = metadata.and_then(|metadata| metadata.get("remainingItemCount"));
        if let Some(Value::Int(remaining)) = remaining {
            self.varint(4, *remaining);
        }
        self.text(3, text("continue"));
        self.text(2, text("resourceVersion"));
        self.text(1, text("selfLink"));
        self.end(1, from);
    }

    /// The message of a struct.
    fn message_of(&mut self, id: TypeId, value: &Value) {
        if let Some(Form::Struct(shape)) = self.types.get(id).map(|ty| &ty.form) {
            level(|| self.message(shape, shape, 0, &shape.values_of(Some(value))));
        }
    }

    /// The message of a struct, or of a struct that another one embeds, whose first field has a place in the whole. The values
    /// are those of the fields of the whole.
    fn message(&mut self, whole: &Struct, shape: &Struct, first: usize, values: &[Option<&Value>]) {
        for (number, part) in shape.parts().rev() {
            match part {
                Part::Field(position) => {
                    let at = whole.order.get(first + position).copied();
                    let field = at.and_then(|at| Some((whole.fields.get(at)?, *values.get(at)?)));
                    if let Some((field, value)) = field {
                        self.field(number, field.ty, value);
                    }
                }
                Part::Embedded(id, position) => {
                    let Some(Form::Struct(embedded)) = self.types.get(id).map(|ty| &ty.form) else {
                        continue;
                    };
                    let from = self.begin();
                    self.message(whole, embedded, first + position, values);
                    self.end(number, from);
                }
            }
        }
    }

    /// A field with its value; without one, as Go writes the zero value of its type.
    fn field(&mut self, number: u32, id: TypeId, value: Option<&Value>) {
        let Some(ty) = self.types.get(id) else { return };
        let value = value.filter(|value| !value.is_null());
        let text = value.and_then(Value::as_str);

        match &ty.form {
            Form::Pointer(to) => {
                if value.is_some() {
                    self.field(number, *to, value);
                }
            }
            Form::Slice(of) => {
                for item in items(value).into_iter().rev() {
                    self.field(number, *of, Some(item));
                }
            }
            Form::Map(_, of) => self.map(number, *of, value),

            // Scalars have payloads of their own, and the zero value of bytes has none.
            Form::Bool => self.varint(number, is_true(value).into()),
            Form::Int32 | Form::Int64 => self.varint(number, integer(value)),
            Form::Float => self.float(number, value),
            Form::String => self.text(number, text.unwrap_or_default()),
            Form::Bytes => {
                if let Some(text) = text {
                    self.bytes(number, &base64::decode(text));
                }
            }

            // All other types are messages.
            form => {
                let from = self.begin();
                level(|| self.parts(form, value));
                self.end(number, from);
            }
        }
    }

    /// The fields of the message of a type.
    fn parts(&mut self, form: &Form, value: Option<&Value>) {
        let text = value.and_then(Value::as_str);
        let schema = value.filter(|value| value.as_map().is_some());
        match form {
            Form::Struct(shape) => self.message(shape, shape, 0, &shape.values_of(value)),
            Form::Time => self.time(text.and_then(|text| text.parse().ok()), 0),
            Form::MicroTime => {
                let time = text.and_then(|text| Timestamp::parse_micro(text).ok());
                self.time(time, text.map_or(0, nanoseconds));
            }
            Form::Quantity => self.text(1, text.unwrap_or("0")),
            Form::IntOrString => {
                self.text(3, text.unwrap_or_default());
                self.varint(2, integer(value));
                self.varint(1, text.is_some().into());
            }
            Form::Any => {
                if let Some(value) = value {
                    self.text(1, &value.to_json());
                }
            }

            // One of two forms. A schema is the pointer of the first or of the second field.
            Form::SchemaOrBool(of) => {
                if schema.is_some() {
                    self.field(2, *of, schema);
                }
                self.varint(1, (schema.is_some() || is_true(value)).into());
            }
            Form::SchemaOrSchemas(of) | Form::SchemaOrStrings(of) => {
                for item in items(value).into_iter().rev() {
                    match item.as_str() {
                        Some(text) => self.text(2, text),
                        None => self.field(2, *of, Some(item)),
                    }
                }
                if schema.is_some() {
                    self.field(1, *of, schema);
                }
            }
            _ => {}
        }
    }

    /// The entries of a map, which Go sorts by their keys.
    fn map(&mut self, number: u32, of: TypeId, value: Option<&Value>) {
        let entries = value.and_then(Value::as_map).into_iter().flatten();
        let entries: Vec<(&Str, &Value)> = entries.collect();
        for (key, value) in entries.into_iter().rev() {
            let from = self.begin();
            match self.types.get(of).map(|ty| &ty.form) {
                // Protobuf has no maps of lists, so a list is a message with the items.
                Some(Form::Slice(_)) => {
                    let list = self.begin();
                    self.field(1, of, Some(value));
                    self.end(2, list);
                }
                _ => self.field(2, of, Some(value)),
            }
            self.text(1, key);
            self.end(number, from);
        }
    }

    /// A time; the message of the zero value is empty.
    fn time(&mut self, time: Option<Timestamp>, nanoseconds: i64) {
        if let Some(time) = time.filter(|time| !time.is_zero()) {
            self.varint(2, nanoseconds);
            self.varint(1, time.unix_seconds());
        }
    }

    fn float(&mut self, number: u32, value: Option<&Value>) {
        let float = match value {
            Some(Value::Float(float)) => *float,
            other => integer(other) as f64,
        };
        self.out.extend(float.to_be_bytes());
        self.key(number, FIXED64);
    }
}

fn items(list: Option<&Value>) -> Vec<&Value> {
    let list = list.and_then(Value::as_list);
    list.into_iter().flatten().collect()
}

fn is_true(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(true))
}

fn integer(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}

/// The fraction of a time with microseconds.
fn nanoseconds(time: &str) -> i64 {
    let fraction = time.split_once('.').and_then(|(_, rest)| rest.get(..6));
    fraction.and_then(|digits| digits.parse().ok()).unwrap_or(0) * 1000
}
