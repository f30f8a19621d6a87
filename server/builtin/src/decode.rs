//! Decoding into Go types and encoding again.
//!
//! Behaviour: `sigs.k8s.io/json` as the serializer of `k8s.io/apimachinery` uses it, then `encoding/json`.

use fieldmanager_structural::internal::json_kind;
use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use crate::error::Fault;
use crate::number::{digits, fewest_digits, float};
use crate::trail::Trail;
use crate::types::{Form, Struct, TypeId, Types};
use crate::{base64, quantity, time, unstructured};

/// The result of [`Kind::decode`](crate::Kind::decode).
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The object as Go writes it.
    pub object: Value,
    /// The paths of the fields that the type lacks, in the order of their places, as the strict decoder of Kubernetes
    /// reports them: `spec.foo`, `spec.containers[0].x`. At most the first 100, as there. After
    /// [`from_unstructured`](crate::Kind::from_unstructured), all of them, sorted.
    ///
    /// kube-apiserver writes them as `unknown field "spec.foo"`.
    pub unknown: Vec<String>,
}

/// The number of unknown fields that are reported.
const MAX_UNKNOWN: usize = 100;

/// Decodes a value into a type and encodes it.
pub(crate) fn decode(types: &Types, id: TypeId, value: &Value) -> Result<Decoded, Fault> {
    let mut decoder = Decoder {
        types,
        unknown: Some(Vec::new()),
        fault: None,
        mode: Mode::Strict,
    };
    let object = decoder.value(id, value, &Trail::root())?;

    // A wrong type does not end decoding, so that a later fault which ends it wins over it.
    match decoder.fault {
        Some(fault) => Err(fault),
        None => Ok(Decoded {
            object: object.unwrap_or_else(|| value.clone()),
            unknown: decoder.unknown.unwrap_or_default(),
        }),
    }
}

/// Converts an unstructured object into a type and encodes it.
pub(crate) fn from_unstructured(
    types: &Types,
    id: TypeId,
    value: &Value,
) -> Result<Decoded, Fault> {
    let mut decoder = Decoder {
        types,
        unknown: Some(Vec::new()),
        fault: None,
        mode: Mode::Unstructured,
    };
    let object = decoder
        .value(id, value, &Trail::root())?
        .unwrap_or_else(|| value.clone());

    // A map of Go has no order, so unknown fields are reported sorted.
    let mut unknown = decoder.unknown.unwrap_or_default();
    unknown.sort();

    Ok(Decoded { object, unknown })
}

/// Decodes as Go's `encoding/json` does, which takes names in any case.
pub(crate) fn decode_folded(types: &Types, id: TypeId, value: &Value) -> Result<Value, Fault> {
    let mut decoder = Decoder {
        types,
        unknown: None,
        fault: None,
        mode: Mode::AnyCase,
    };
    let object = decoder.value(id, value, &Trail::root())?;

    match decoder.fault {
        Some(fault) => Err(fault),
        None => Ok(object.unwrap_or_else(|| value.clone())),
    }
}

/// Makes a decoded object fit another type: fields that the type lacks are dropped, and those that it always has added.
pub(crate) fn fit(types: &Types, id: TypeId, value: &Value) -> Value {
    let mut decoder = Decoder {
        types,
        unknown: None,
        fault: None,
        mode: Mode::Decoded,
    };
    let object = decoder.value(id, value, &Trail::root()).ok().flatten();
    object.unwrap_or_else(|| value.clone())
}

struct Decoder<'t> {
    types: &'t Types,
    /// `None` where Go decodes without a check for unknown fields.
    unknown: Option<Vec<String>>,
    /// The first fault that does not end decoding. A fault that does wins over it.
    fault: Option<Fault>,
    mode: Mode,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// As kube-apiserver reads objects.
    Strict,
    /// With names in any case.
    AnyCase,
    /// For objects that were decoded before, perhaps from another type: only the names of fields are checked.
    Decoded,
    /// As kube-apiserver converts the result of a patch. The first fault in the order of declarations ends it.
    Unstructured,
    /// JSON that Go wrote from an unstructured object, so that whole numbers have no fraction.
    Rewritten,
}

/// The value that Go writes; `None` if it equals the value that was read.
type Written = Option<Value>;

impl Decoder<'_> {
    fn value(&mut self, id: TypeId, value: &Value, trail: &Trail<'_>) -> Result<Written, Fault> {
        let Some(ty) = self.types.get(id) else {
            return Ok(None);
        };

        // Arms of a mode come first. Forms that read null by their own rules precede the arm that makes it a zero
        // value.
        match (&ty.form, value) {
            (Form::Quantity | Form::Time | Form::MicroTime | Form::Bytes, _)
                if self.mode == Mode::Decoded =>
            {
                Ok(None)
            }
            (
                Form::Bool | Form::String | Form::Int32 | Form::Int64 | Form::Float | Form::Bytes,
                _,
            )
            | (
                Form::Slice(_) | Form::Map(..) | Form::Struct(_),
                Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_),
            )
            | (Form::Slice(_), Value::Map(_))
            | (Form::Map(..) | Form::Struct(_), Value::List(_))
                if self.mode == Mode::Unstructured && !value.is_null() =>
            {
                unstructured::scalar(&ty.form, &self.types.go_name(id), value).map_err(Fault::Other)
            }
            (Form::IntOrString | Form::Int32 | Form::Int64, Value::Float(number))
                if matches!(self.mode, Mode::Unstructured | Mode::Rewritten)
                    && is_written_whole(*number) =>
            {
                let whole = Value::Int(*number as i64);
                Ok(Some(self.value(id, &whole, trail)?.unwrap_or(whole)))
            }
            (Form::Any, _) | (Form::Pointer(_), Value::Null) => Ok(None),
            (Form::Pointer(to), _) => self.value(*to, value, trail),
            (Form::SchemaOrBool(schema), _) => level(|| self.schema_or_bool(*schema, value, trail)),
            (Form::SchemaOrSchemas(schema), _) => {
                level(|| self.schema_or_schemas(*schema, value, trail))
            }
            (Form::SchemaOrStrings(schema), _) => {
                level(|| self.schema_or_strings(*schema, value, trail))
            }
            (Form::Quantity, Value::Float(number)) if self.mode == Mode::Unstructured => {
                let text = Value::from(fewest_digits(*number));
                Ok(Some(self.value(id, &text, trail)?.unwrap_or(text)))
            }
            (Form::Quantity, _) => match quantity::canonical(value) {
                Ok(written) => Ok(written.map(Value::from)),
                Err(error) => Err(Fault::Other(error.to_string())),
            },
            (
                Form::Slice(_) | Form::Map(..) | Form::Bytes | Form::Time | Form::MicroTime,
                Value::Null,
            ) => Ok(None),
            (_, Value::Null) => Ok(Some(self.types.zero(id))),
            (Form::Time, Value::String(text)) => time::canonical(text).map_err(Fault::Other),
            (Form::MicroTime, Value::String(text)) => {
                time::canonical_micro(text).map_err(Fault::Other)
            }
            (Form::Time | Form::MicroTime, _) => Err(self.mismatch("string", value, trail)),
            (Form::IntOrString, Value::String(_)) => Ok(None),
            (Form::IntOrString, Value::Int(number)) if i32::try_from(*number).is_ok() => Ok(None),
            (Form::IntOrString, Value::Int(_) | Value::Float(_)) => {
                Err(self.fault_at(self.number(value), "int32".to_owned(), trail))
            }
            (Form::IntOrString, _) => Err(self.mismatch("int32", value, trail)),
            (Form::Bool, Value::Bool(_)) | (Form::String, Value::String(_)) => Ok(None),
            (Form::Int64, Value::Int(_)) | (Form::Float, Value::Float(_)) => Ok(None),
            (Form::Int32, Value::Int(number)) if i32::try_from(*number).is_ok() => Ok(None),
            (Form::Int32 | Form::Int64, Value::Int(_) | Value::Float(_)) => {
                self.report(self.number(value), id, trail);
                Ok(None)
            }
            (Form::Float, Value::Int(number)) => Ok(float(*number)),
            (Form::Bytes, Value::String(text)) => {
                match base64::canonical(text) {
                    Ok(written) => return Ok(written.map(Value::from)),
                    Err(at) => {
                        let message = format!("illegal base64 data at input byte {at}");
                        self.fault.get_or_insert(Fault::Other(message));
                    }
                }
                Ok(None)
            }
            (Form::Bytes, Value::List(items)) => Ok(Some(self.bytes(items, trail))),
            (Form::Slice(of), Value::List(items)) => level(|| self.list(*of, items, trail)),
            (Form::Map(_, of), Value::Map(entries)) => level(|| self.map(*of, entries, trail)),
            (Form::Struct(shape), Value::Map(entries)) => {
                level(|| self.object(id, shape, entries, trail))
            }
            _ => {
                self.report(json_kind(value).to_owned(), id, trail);
                Ok(None)
            }
        }
    }

    fn object(
        &mut self,
        id: TypeId,
        shape: &Struct,
        entries: &Map,
        trail: &Trail<'_>,
    ) -> Result<Written, Fault> {
        let types = self.types;
        // Both the entries and the fields that are always written are sorted by name, so one pass merges them.
        let unfolded = self.unfolded(shape, entries);
        let entries = unfolded.as_ref().unwrap_or(entries);
        let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
        let mut always = shape.always().peekable();
        let mut fault: Option<(usize, Fault)> = None;

        for (name, value) in entries {
            while let Some(missing) = always.next_if(|field| field.name < *name) {
                edits.push((missing.name.clone(), Some(types.zero(missing.ty))));
            }
            always.next_if(|field| field.name == *name);
            let Some(field) = shape.field(name) else {
                self.report_unknown(name, trail);
                edits.push((name.clone(), None));
                continue;
            };

            // Go converts fields in the order of their declaration, so of several faults the first declared one counts.
            let written = match self.value(field.ty, value, &trail.field(id, field)) {
                Ok(written) => written,
                Err(found) if self.mode == Mode::Unstructured => {
                    if fault
                        .as_ref()
                        .is_none_or(|(position, _)| field.position < *position)
                    {
                        fault = Some((field.position, found));
                    }
                    continue;
                }
                Err(found) => return Err(found),
            };

            // What Go omits when it writes the object is removed, also if the client set it to an empty value.
            let result = written.as_ref().unwrap_or(value);
            let omitted = (field.omit_zero && result.is_null())
                || (field.omit_empty && self.is_omitted(field.ty, value, result));
            if omitted {
                edits.push((name.clone(), None));
            } else if written.is_some() {
                edits.push((name.clone(), written));
            }
        }

        // Every field was visited, so that the fault of the first declared one is known.
        if let Some((_, fault)) = fault {
            return Err(fault);
        }
        edits.extend(always.map(|missing| (missing.name.clone(), Some(types.zero(missing.ty)))));
        let is_changed = unfolded.is_some() || !edits.is_empty();
        Ok(is_changed.then(|| Value::Map(entries.with_edits(edits))))
    }

    /// The entries under the names of the fields, if names are taken in any case and one has another.
    fn unfolded(&self, shape: &Struct, entries: &Map) -> Option<Map> {
        // Names are copied only if one differs, so that a map with the declared names stays shared.
        if self.mode != Mode::AnyCase || entries.iter().all(|(name, _)| shape.field(name).is_some())
        {
            return None;
        }
        let entry = |(name, value): (&Str, &Value)| {
            let name = shape.field_folded(name).map_or(name, |field| &field.name);
            (name.clone(), value.clone())
        };
        Some(entries.iter().map(entry).collect())
    }

    /// Whether `omitempty` omits what `read` is written as. A pointer that is set is written whatever it points to.
    fn is_omitted(&self, id: TypeId, read: &Value, written: &Value) -> bool {
        match self.types.get(id).map(|ty| &ty.form) {
            // A null in a decoded object is a pointer to a value that Go writes as null.
            Some(Form::Pointer(_)) => read.is_null() && self.mode != Mode::Decoded,
            _ => self.types.is_empty(id, written),
        }
    }

    fn map(&mut self, of: TypeId, entries: &Map, trail: &Trail<'_>) -> Result<Written, Fault> {
        let mut edits = Vec::new();
        for (key, value) in entries {
            let below = trail.key(key);
            // The path of an unknown field in an unstructured object lacks the keys of maps.
            let trail = if self.mode == Mode::Unstructured {
                trail
            } else {
                &below
            };
            if let Some(written) = self.value(of, value, trail)? {
                edits.push((key.clone(), Some(written)));
            }
        }

        Ok((!edits.is_empty()).then(|| Value::Map(entries.with_edits(edits))))
    }

    fn list(&mut self, of: TypeId, items: &List, trail: &Trail<'_>) -> Result<Written, Fault> {
        let mut edits = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if let Some(written) = self.value(of, item, &trail.index(at))? {
                edits.push((at, written));
            }
        }
        Ok((!edits.is_empty()).then(|| Value::List(items.with_edits(edits, Vec::new()))))
    }

    /// Reads bytes from a list of numbers, as Go does beside base64.
    fn bytes(&mut self, items: &List, trail: &Trail<'_>) -> Value {
        // Go reads a list of numbers as bytes one by one, and goes on after one that does not fit.
        let mut bytes = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let byte = match item {
                Value::Null => Some(0),
                Value::Int(number) => u8::try_from(*number).ok(),
                _ => None,
            };

            if byte.is_none() {
                let found = if matches!(item, Value::Int(_) | Value::Float(_)) {
                    self.number(item)
                } else {
                    json_kind(item).to_owned()
                };
                let fault = self.fault_at(found, "uint8".to_owned(), &trail.index(at));
                self.fault.get_or_insert(fault);
            }
            bytes.push(byte.unwrap_or_default());
        }

        Value::from(base64::encode(&bytes))
    }

    fn schema_or_bool(
        &mut self,
        schema: TypeId,
        value: &Value,
        trail: &Trail<'_>,
    ) -> Result<Written, Fault> {
        match value {
            Value::Bool(_) => Ok(None),
            Value::Map(_) => self.nested(trail, |nested, root| nested.value(schema, value, root)),
            _ => Err(Fault::Other("boolean or JSON schema expected".to_owned())),
        }
    }

    fn schema_or_schemas(
        &mut self,
        schema: TypeId,
        value: &Value,
        trail: &Trail<'_>,
    ) -> Result<Written, Fault> {
        match value {
            Value::Map(_) => self.nested(trail, |nested, root| nested.value(schema, value, root)),
            Value::List(items) if !items.is_empty() => {
                self.nested(trail, |nested, root| nested.list(schema, items, root))
            }
            Value::Null => Ok(None),
            _ => Ok(Some(Value::Null)),
        }
    }

    fn schema_or_strings(
        &mut self,
        schema: TypeId,
        value: &Value,
        trail: &Trail<'_>,
    ) -> Result<Written, Fault> {
        match value {
            Value::Map(_) => self.nested(trail, |nested, root| nested.value(schema, value, root)),
            Value::List(items) if !items.is_empty() => self.nested(trail, |nested, root| {
                let mut edits = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    match item {
                        Value::String(_) => {}
                        Value::Null => edits.push((at, Value::from(""))),
                        _ => {
                            let fault = nested.fault_at(
                                json_kind(item).to_owned(),
                                "string".to_owned(),
                                root,
                            );
                            nested.fault.get_or_insert(fault);
                        }
                    }
                }

                Ok((!edits.is_empty()).then(|| Value::List(items.with_edits(edits, Vec::new()))))
            }),
            Value::Null => Ok(None),
            _ => Ok(Some(Value::Null)),
        }
    }

    /// Runs a decoder of its own, which does not look for unknown fields, and whose faults end this one.
    fn nested(
        &self,
        trail: &Trail<'_>,
        run: impl FnOnce(&mut Self, &Trail<'_>) -> Result<Written, Fault>,
    ) -> Result<Written, Fault> {
        // The unmarshaler of the type gets JSON that Go wrote from the unstructured value.
        let mode = if self.mode == Mode::Unstructured {
            Mode::Rewritten
        } else {
            self.mode
        };
        let mut nested = Decoder {
            types: self.types,
            unknown: None,
            fault: None,
            mode,
        };
        let result = run(&mut nested, &Trail::root());

        // A fault at the root of the nested value has the path of the outer one; others continue it.
        let fault = match (result, nested.fault) {
            (Ok(written), None) => return Ok(written),
            (Err(fault), _) | (Ok(_), Some(fault)) => fault,
        };
        let Fault::Type {
            found,
            wanted,
            field,
        } = fault
        else {
            return Err(fault);
        };

        // Unstructured objects are converted by reflection, which knows no path.
        if self.mode == Mode::Unstructured {
            return Err(Fault::Type {
                found,
                wanted,
                field,
            });
        }

        let field = match (trail.fields(self.types), field) {
            (Some((of, path)), Some((_, below))) => Some((of, format!("{path}.{below}"))),
            (outer, below) => outer.or(below),
        };
        Err(Fault::Type {
            found,
            wanted,
            field,
        })
    }

    fn report_unknown(&mut self, name: &str, trail: &Trail<'_>) {
        let Some(unknown) = self
            .unknown
            .as_mut()
            .filter(|unknown| unknown.len() < MAX_UNKNOWN)
        else {
            return;
        };
        // Paths in unstructured objects lack the keys of maps, so the same path can be found again.
        let path = trail.path_of(name);

        if !unknown.contains(&path) {
            unknown.push(path);
        }
    }

    fn report(&mut self, found: String, id: TypeId, trail: &Trail<'_>) {
        if self.fault.is_none() {
            self.fault = Some(self.fault_at(found, self.types.go_name(id), trail));
        }
    }

    /// Go's words for a number that does not fit its type.
    fn number(&self, value: &Value) -> String {
        match (value, self.mode) {
            (Value::Float(float), Mode::Unstructured | Mode::Rewritten) => {
                format!("number {}", fewest_digits(*float))
            }
            _ => number(value),
        }
    }

    fn mismatch(&self, wanted: &str, value: &Value, trail: &Trail<'_>) -> Fault {
        self.fault_at(json_kind(value).to_owned(), wanted.to_owned(), trail)
    }

    fn fault_at(&self, found: String, wanted: String, trail: &Trail<'_>) -> Fault {
        let has_trail = self.mode != Mode::Unstructured;
        Fault::Type {
            found,
            wanted,
            field: trail.fields(self.types).filter(|_| has_trail),
        }
    }
}

/// Go's words for a number of a document that does not fit its type.
fn number(value: &Value) -> String {
    match value {
        Value::Int(number) => format!("number {number}"),
        // A whole number that is a float had a fraction in the document, or exceeds 64 bits.
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e18 => {
            format!("number {number:.1}")
        }
        Value::Float(number) => format!("number {}", digits(*number)),
        _ => json_kind(value).to_owned(),
    }
}

/// Whether Go writes a float as an integer of 64 bits.
fn is_written_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0
}
