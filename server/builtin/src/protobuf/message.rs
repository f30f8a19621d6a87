//! The messages of Go types.
//!
//! Behaviour: the methods `Unmarshal` of `k8s.io/api`, which gogo/protobuf generates, then `encoding/json`.

use std::fmt;

use fieldmanager_fieldpath::PathElement;
use fieldmanager_structural::internal::Timestamp;
use fieldmanager_value::internal::level;
use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

use super::wire::{Fields, Payload, WireError};
use crate::types::{Form, Part, Struct, TypeId, Types};
use crate::{base64, quantity};

/// A malformed part of a message, and its path.
#[derive(Debug)]
pub(super) struct Fault {
    /// The path from the innermost element outwards.
    path: Vec<PathElement>,
    reason: String,
}

impl Fault {
    fn new(reason: impl Into<String>) -> Self {
        Fault {
            path: Vec::new(),
            reason: reason.into(),
        }
    }

    fn within(mut self, element: PathElement) -> Self {
        self.path.push(element);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path
            .iter()
            .rev()
            .try_for_each(|element| write!(f, "{element}"))?;
        let separator = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{separator}{}", self.reason)
    }
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Self {
        Fault::new(error.to_string())
    }
}

/// The payloads of the fields of a message, with the positions of the fields.
type Payloads<'b> = Vec<(usize, Payload<'b>)>;

/// Reads messages. Cost is linear in their size.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    types: &'t Types,
    /// How many more levels may be entered.
    left: usize,
}

impl Reader<'_> {
    pub(super) fn new(types: &Types) -> Reader<'_> {
        Reader {
            types,
            left: MAX_DEPTH,
        }
    }

    /// Reads the message of a type.
    pub(super) fn object(self, id: TypeId, bytes: &[u8]) -> Result<Value, Fault> {
        self.value(id, &[(0, Payload::Bytes(bytes))])
    }

    fn enter<R>(self, walk: impl FnOnce(Self) -> Result<R, Fault>) -> Result<R, Fault> {
        // Depth is counted here, since messages of a few bytes could nest without a bound.
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Fault::new(format!(
                "the object nests deeper than {MAX_DEPTH} levels"
            )));
        };
        level(|| walk(Self { left, ..self }))
    }

    /// The value of a field that has these payloads, of which there is at least one.
    ///
    /// A later payload replaces an earlier one, or is merged with it if it is a message, as the messages of both
    /// together would be read.
    fn value(self, id: TypeId, payloads: &[(usize, Payload<'_>)]) -> Result<Value, Fault> {
        let Some(ty) = self.types.get(id) else {
            return Ok(Value::Null);
        };

        // A scalar has its last payload, a message is read from all of them together.
        match &ty.form {
            Form::Pointer(to) => self.value(*to, payloads),
            Form::Slice(of) => self.enter(|reader| reader.list(*of, payloads)),
            Form::Map(_, of) => self.enter(|reader| reader.map(*of, payloads)),
            Form::Struct(shape) => self.enter(|reader| reader.structure(shape, payloads)),
            Form::Bool | Form::Int32 | Form::Int64 | Form::Float | Form::String | Form::Bytes => {
                let mut last = Value::Null;
                for (_, payload) in payloads {
                    last = scalar(&ty.form, *payload)?;
                }
                Ok(last)
            }

            Form::Time => time(last_message(payloads)?, false),
            Form::MicroTime => time(last_message(payloads)?, true),
            Form::Quantity => {
                let message = Message::read(&[last_message(payloads)?])?;
                let text = message
                    .string(1)?
                    .map_or_else(|| Value::from("0"), |text| Value::from(&text));
                let written =
                    quantity::canonical(&text).map_err(|error| Fault::new(error.to_string()))?;
                Ok(written.map_or(text, Value::from))
            }
            Form::IntOrString => {
                let message = Message::read(&messages(payloads)?)?;
                match message.varint(1)?.unwrap_or_default() {
                    0 => Ok(Value::Int(i64::from(
                        message.varint(2)?.unwrap_or_default() as i32,
                    ))),
                    1 => Ok(Value::from(&message.string(3)?.unwrap_or_default())),
                    other => Err(Fault::new(format!(
                        "the type of an integer or a string is {}, and must be 0 or 1",
                        other as i64
                    ))),
                }
            }
            Form::Any => {
                let message = Message::read(&messages(payloads)?)?;
                self.json(message.bytes(1)?.unwrap_or_default())
            }

            // One of two forms; that of the second field wins.
            Form::SchemaOrBool(schema) => {
                let message = Message::read(&messages(payloads)?)?;
                match message.of(2).as_slice() {
                    [] => Ok(Value::Bool(message.varint(1)?.unwrap_or_default() != 0)),
                    schemas => self.value(*schema, schemas),
                }
            }
            Form::SchemaOrSchemas(schema) => {
                let message = Message::read(&messages(payloads)?)?;
                match (message.of(2).as_slice(), message.of(1).as_slice()) {
                    ([], []) => Ok(Value::Null),
                    ([], schemas) => self.value(*schema, schemas),
                    (schemas, _) => self.enter(|reader| reader.list(*schema, schemas)),
                }
            }
            Form::SchemaOrStrings(schema) => {
                let message = Message::read(&messages(payloads)?)?;
                match (message.of(2).as_slice(), message.of(1).as_slice()) {
                    ([], []) => Ok(Value::Null),
                    ([], schemas) => self.value(*schema, schemas),
                    (strings, _) => self.enter(|reader| {
                        reader.items(strings, |payload| scalar(&Form::String, payload))
                    }),
                }
            }
        }
    }

    fn structure(self, shape: &Struct, payloads: &[(usize, Payload<'_>)]) -> Result<Value, Fault> {
        // Payloads come in any order. Sorted by field, each field has its own together, still in the order of the
        // message.
        let mut found = Payloads::new();
        for message in messages(payloads)? {
            self.collect(shape, shape, 0, message, &mut found)?;
        }
        found.sort_by_key(|(at, _)| *at);
        let mut rest = found.as_slice();
        let mut entries =
            Vec::with_capacity(shape.fields.len().min(found.len() + shape.always.len()));
        let mut always = shape.always.iter().peekable();

        // Fields are sorted by name, as are those that Go always writes, so one pass makes the object.
        for (at, field) in shape.fields.iter().enumerate() {
            let is_always = always.next_if_eq(&&at).is_some();
            let (own, others) = rest.split_at(
                rest.iter()
                    .take_while(|(position, _)| *position == at)
                    .count(),
            );
            rest = others;
            let value = match own {
                [] if is_always => self.types.zero(field.ty),
                [] => continue,
                _ => self
                    .value(field.ty, own)
                    .map_err(|fault| fault.within(PathElement::Field(field.name.clone())))?,
            };

            // A field that is present is set, so an empty value behind a pointer is written.
            let is_pointer = matches!(
                self.types.get(field.ty).map(|ty| &ty.form),
                Some(Form::Pointer(_))
            );
            let is_omitted = field.omit_zero && value.is_null()
                || field.omit_empty && !is_pointer && self.types.is_empty(field.ty, &value);
            if !is_omitted {
                entries.push((field.name.clone(), value));
            }
        }

        Ok(Value::Map(entries.into_iter().collect()))
    }

    /// Collects the payloads of a message, and of those of embedded structs, by the place of their field in the struct.
    fn collect<'b>(
        self,
        whole: &Struct,
        shape: &Struct,
        first: usize,
        message: &'b [u8],
        found: &mut Payloads<'b>,
    ) -> Result<(), Fault> {
        // Unknown fields are skipped, as in Go.
        for field in Fields(message) {
            let (number, payload) = field?;
            match shape.part(number) {
                None => {}
                Some(Part::Field(position)) => {
                    found.extend(whole.order.get(first + position).map(|at| (*at, payload)));
                }
                Some(Part::Embedded(id, position)) => {
                    let Some(Form::Struct(embedded)) = self.types.get(id).map(|ty| &ty.form) else {
                        continue;
                    };
                    self.collect(
                        whole,
                        embedded,
                        first + position,
                        message_of(payload)?,
                        found,
                    )?;
                }
            }
        }

        Ok(())
    }

    fn list(self, of: TypeId, payloads: &[(usize, Payload<'_>)]) -> Result<Value, Fault> {
        let form = self.types.get(of).map(|ty| &ty.form);
        let Some(number @ (Form::Bool | Form::Int32 | Form::Int64 | Form::Float)) = form else {
            return self.items(payloads, |payload| self.value(of, &[(0, payload)]));
        };
        let mut items = Vec::with_capacity(payloads.len());

        for (_, payload) in payloads {
            // The numbers of a list may be packed into one payload.
            let Payload::Bytes(packed) = payload else {
                items.push(scalar(number, *payload)?);
                continue;
            };
            let mut packed = Fields(packed);

            while !packed.0.is_empty() {
                let payload = match number {
                    Form::Float => Payload::Fixed64(packed.array()?),
                    _ => Payload::Varint(packed.varint()?),
                };
                items.push(scalar(number, payload)?);
            }
        }

        Ok(Value::from(items))
    }

    fn items(
        self,
        payloads: &[(usize, Payload<'_>)],
        read: impl Fn(Payload<'_>) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let items = payloads.iter().enumerate().map(|(at, (_, payload))| {
            read(*payload).map_err(|fault| fault.within(PathElement::Index(at as i64)))
        });
        items.collect::<Result<Vec<_>, _>>().map(Value::from)
    }

    fn map(self, of: TypeId, payloads: &[(usize, Payload<'_>)]) -> Result<Value, Fault> {
        let mut entries = Vec::with_capacity(payloads.len());
        for (_, payload) in payloads {
            let entry = Message::read(&[message_of(*payload)?])?;
            let key = entry.string(1)?.unwrap_or_default();
            let value = entry.last(2).unwrap_or(Payload::Bytes(&[]));
            let value = match self.types.get(of).map(|ty| &ty.form) {
                // A list in a map is a message with the items, since protobuf has no maps of lists.
                Some(Form::Slice(item)) => {
                    let message = Message::read(&[message_of(value)?])?;
                    self.enter(|reader| reader.list(*item, &message.of(1)))
                }
                _ => self.value(of, &[(0, value)]),
            };
            let value = value.map_err(|fault| fault.within(PathElement::Field(key.clone())))?;
            entries.push((key, value));
        }

        Ok(Value::Map(entries.into_iter().collect::<Map>()))
    }

    /// A value that is JSON within protobuf.
    fn json(self, bytes: &[u8]) -> Result<Value, Fault> {
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        let value = Value::from_json(&string(bytes))
            .map_err(|error| Fault::new(format!("invalid JSON: {error}")))?;
        self.check_depth(&value)?;
        Ok(value)
    }

    fn check_depth(self, value: &Value) -> Result<(), Fault> {
        match value {
            Value::List(items) => {
                self.enter(|reader| items.iter().try_for_each(|item| reader.check_depth(item)))
            }
            Value::Map(entries) => self.enter(|reader| {
                entries
                    .iter()
                    .try_for_each(|(_, value)| reader.check_depth(value))
            }),
            _ => Ok(()),
        }
    }
}

/// The fields of a small message, in their order.
struct Message<'b>(Vec<(u32, Payload<'b>)>);

impl<'b> Message<'b> {
    fn read(messages: &[&'b [u8]]) -> Result<Self, Fault> {
        let fields = messages.iter().flat_map(|message| Fields(message));
        Ok(Message(fields.collect::<Result<_, _>>()?))
    }

    fn of(&self, number: u32) -> Payloads<'b> {
        self.0
            .iter()
            .filter(|(other, _)| *other == number)
            .map(|(_, payload)| (0, *payload))
            .collect()
    }

    fn last(&self, number: u32) -> Option<Payload<'b>> {
        self.0
            .iter()
            .rfind(|(other, _)| *other == number)
            .map(|(_, payload)| *payload)
    }

    fn varint(&self, number: u32) -> Result<Option<u64>, Fault> {
        match self.last(number) {
            None => Ok(None),
            Some(Payload::Varint(number)) => Ok(Some(number)),
            Some(other) => Err(mismatch("an integer", other)),
        }
    }

    fn bytes(&self, number: u32) -> Result<Option<&'b [u8]>, Fault> {
        match self.last(number) {
            None => Ok(None),
            Some(Payload::Bytes(bytes)) => Ok(Some(bytes)),
            Some(other) => Err(mismatch("bytes", other)),
        }
    }

    fn string(&self, number: u32) -> Result<Option<Str>, Fault> {
        Ok(self.bytes(number)?.map(string))
    }
}

fn messages<'b>(payloads: &[(usize, Payload<'b>)]) -> Result<Vec<&'b [u8]>, Fault> {
    payloads
        .iter()
        .map(|(_, payload)| message_of(*payload))
        .collect()
}

fn last_message<'b>(payloads: &[(usize, Payload<'b>)]) -> Result<&'b [u8], Fault> {
    Ok(messages(payloads)?.pop().unwrap_or_default())
}

fn message_of(payload: Payload<'_>) -> Result<&[u8], Fault> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes),
        other => Err(mismatch("a message", other)),
    }
}

fn scalar(form: &Form, payload: Payload<'_>) -> Result<Value, Fault> {
    match (form, payload) {
        (Form::Bool, Payload::Varint(number)) => Ok(Value::Bool(number != 0)),
        // An integer loses its upper bits, as in Go.
        (Form::Int32, Payload::Varint(number)) => Ok(Value::Int(i64::from(number as i32))),
        (Form::Int64, Payload::Varint(number)) => Ok(Value::Int(number as i64)),
        (Form::Float, Payload::Fixed64(bytes)) => float(f64::from_le_bytes(bytes)),
        (Form::String, Payload::Bytes(bytes)) => Ok(Value::from(&string(bytes))),
        (Form::Bytes, Payload::Bytes(bytes)) => Ok(Value::from(base64::encode(bytes))),
        (Form::Bool, other) => Err(mismatch("a boolean", other)),
        (Form::Int32 | Form::Int64, other) => Err(mismatch("an integer", other)),
        (Form::Float, other) => Err(mismatch("a float", other)),
        (Form::String, other) => Err(mismatch("a string", other)),
        (_, other) => Err(mismatch("bytes", other)),
    }
}

fn mismatch(wanted: &str, found: Payload<'_>) -> Fault {
    let found = match found {
        Payload::Varint(_) => "a varint",
        Payload::Fixed64(_) => "a number of 64 bits",
        Payload::Fixed32 => "a number of 32 bits",
        Payload::Bytes(_) => "a number of bytes",
    };
    Fault::new(format!("found {found}, expected {wanted}"))
}

/// A float as JSON has it: a whole number is an integer if it fits.
fn float(number: f64) -> Result<Value, Fault> {
    if !number.is_finite() {
        return Err(Fault::new(format!("{number} is not a number of JSON")));
    }
    let is_whole = number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0;
    Ok(
        if is_whole && (number != 0.0 || number.is_sign_positive()) {
            Value::Int(number as i64)
        } else {
            Value::Float(number)
        },
    )
}

/// A string, in which Go replaces each byte that is not UTF-8 when it writes JSON.
pub(super) fn string(bytes: &[u8]) -> Str {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Str::from(text);
    }
    let mut text = String::with_capacity(bytes.len());
    // Each byte of a malformed sequence is replaced by itself, unlike in Rust, which replaces the sequence.
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Str::from(text)
}

/// A time in whole seconds, or with microseconds; null for the zero value of Go.
fn time(message: &[u8], has_fraction: bool) -> Result<Value, Fault> {
    const MICROSECONDS: i64 = 1_000_000;
    if message.is_empty() {
        return Ok(Value::Null);
    }
    let message = Message::read(&[message])?;
    let seconds = message.varint(1)?.unwrap_or_default() as i64;
    let nanoseconds = message.varint(2)?.unwrap_or_default() as i32;

    // Go takes nanoseconds beyond a second, and negative ones.
    let microseconds = if has_fraction {
        i64::from(nanoseconds / 1000)
    } else {
        0
    };
    let time = seconds
        .checked_add(microseconds.div_euclid(MICROSECONDS))
        .and_then(Timestamp::from_unix_seconds);
    let time = time.ok_or_else(|| {
        Fault::new(format!(
            "found the time {seconds}, expected one in the years 0 to 9999"
        ))
    })?;

    let fraction = microseconds.rem_euclid(MICROSECONDS);
    let text = time.to_string();
    Ok(if time.is_zero() && fraction == 0 {
        Value::Null
    } else if has_fraction {
        Value::from(format!("{}.{fraction:06}Z", text.trim_end_matches('Z')))
    } else {
        Value::from(text)
    })
}

#[cfg(test)]
mod tests;
