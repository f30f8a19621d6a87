//! The Go types of the built-in kinds.

use std::fmt;
use std::sync::LazyLock;

use fieldmanager_value::internal::embedded;
use fieldmanager_value::{Map, Str, Value};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The number of a type in the table.
pub(crate) type TypeId = usize;

/// A Go type: its form, and its name if it is not derived from those of its parts.
#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) form: Form,
    name: Str,
}

/// What a type consists of, and how it reads and writes JSON.
#[derive(Debug)]
pub(crate) enum Form {
    Bool,
    String,
    Int32,
    Int64,
    Float,
    Bytes,
    Pointer(TypeId),
    Slice(TypeId),
    /// A map with keys of the first type, which is a string.
    Map(TypeId, TypeId),
    Struct(Struct),
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Any JSON: `RawExtension`, `FieldsV1`, and `JSON` of custom resource definitions.
    Any,
    /// A schema or a list of schemas.
    SchemaOrSchemas(TypeId),
    /// A schema or a boolean.
    SchemaOrBool(TypeId),
    /// A schema or a list of strings.
    SchemaOrStrings(TypeId),
}

/// The fields of a struct with those of the structs that it embeds.
#[derive(Debug, Default)]
pub(crate) struct Struct {
    /// Sorted by name.
    pub(crate) fields: Vec<Field>,
    /// The positions of the fields in the order of their declaration.
    pub(crate) order: Vec<usize>,
    /// The positions of the fields that are written even if nothing is set, sorted.
    pub(crate) always: Vec<usize>,
    /// The value that Go writes if nothing is set.
    pub(crate) zero: Value,
    /// The parts of the protobuf message, sorted by number.
    parts: Vec<(u32, Part)>,
}

/// A part of a protobuf message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// The field that is declared at a position.
    Field(usize),
    /// The message of an embedded struct, and the position of its first field.
    Embedded(TypeId, usize),
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// The name in JSON.
    pub(crate) name: Str,
    pub(crate) ty: TypeId,
    pub(crate) omit_empty: bool,
    pub(crate) omit_zero: bool,
    /// The Go names of the embedded structs that contain the field.
    pub(crate) embedded: Vec<Str>,
    /// The position of the declaration among the fields of the struct.
    pub(crate) position: usize,
}

impl Struct {
    pub(crate) fn field(&self, name: &Str) -> Option<&Field> {
        self.fields.get(self.position(name)?)
    }

    fn position(&self, name: &Str) -> Option<usize> {
        self.fields
            .binary_search_by(|field| field.name.cmp(name))
            .ok()
    }

    /// The values that an object has for the fields, in the order of `fields`. An object has few of the fields of its type, so
    /// they are found by what it has.
    pub(crate) fn values_of<'v>(&self, object: Option<&'v Value>) -> Vec<Option<&'v Value>> {
        let mut values = vec![None; self.fields.len()];
        for (name, value) in object.and_then(Value::as_map).into_iter().flatten() {
            let place = self.position(name).and_then(|at| values.get_mut(at));
            if let Some(place) = place {
                *place = Some(value);
            }
        }

        values
    }

    /// The field with a name in any case; the declared one if there are several.
    pub(crate) fn field_folded(&self, name: &Str) -> Option<&Field> {
        let declared = self.order.iter().filter_map(|at| self.fields.get(*at));
        self.field(name).or_else(|| {
            declared
                .into_iter()
                .find(|field| field.name.eq_ignore_ascii_case(name))
        })
    }

    /// The part of the protobuf message with a number.
    pub(crate) fn part(&self, number: u32) -> Option<Part> {
        let at = self
            .parts
            .binary_search_by_key(&number, |(number, _)| *number)
            .ok()?;
        self.parts.get(at).map(|(_, part)| *part)
    }

    /// The parts of the protobuf message, sorted by number.
    pub(crate) fn parts(&self) -> impl DoubleEndedIterator<Item = (u32, Part)> {
        self.parts.iter().copied()
    }

    /// The fields that are written even if nothing is set, sorted by name.
    pub(crate) fn always(&self) -> impl Iterator<Item = &Field> {
        self.always.iter().filter_map(|at| self.fields.get(*at))
    }
}

/// All types.
#[derive(Debug, Default)]
pub(crate) struct Types(Vec<Type>);

impl Types {
    pub(crate) fn get(&self, id: TypeId) -> Option<&Type> {
        self.0.get(id)
    }

    /// The value that Go writes if nothing is set.
    pub(crate) fn zero(&self, id: TypeId) -> Value {
        match self.get(id).map(|ty| &ty.form) {
            Some(Form::Bool) => Value::Bool(false),
            Some(Form::String) => Value::from(""),
            Some(Form::Int32 | Form::Int64 | Form::Float | Form::IntOrString) => Value::Int(0),
            Some(Form::Quantity) => Value::from("0"),
            Some(Form::Struct(fields)) => fields.zero.clone(),
            Some(Form::SchemaOrBool(_)) => Value::Bool(false),
            _ => Value::Null,
        }
    }

    /// Whether a value that is written as `value` is empty for `omitempty`. Structs never are.
    pub(crate) fn is_empty(&self, id: TypeId, value: &Value) -> bool {
        match self.get(id).map(|ty| &ty.form) {
            Some(Form::Bool) => *value == Value::Bool(false),
            Some(Form::Int32 | Form::Int64 | Form::Float) => *value == Value::Int(0),
            Some(Form::String | Form::Bytes) => {
                value.is_null() || value.as_str().is_some_and(str::is_empty)
            }
            Some(Form::Slice(_)) => {
                value.is_null() || value.as_list().is_some_and(|list| list.is_empty())
            }
            Some(Form::Map(..)) => value.is_null() || value.as_map().is_some_and(Map::is_empty),
            Some(Form::Pointer(_)) => value.is_null(),
            _ => false,
        }
    }

    /// The type as Go writes it: `v1.PodSpec`, `[]v1.Container`, `map[string]string`.
    pub(crate) fn go_name(&self, id: TypeId) -> String {
        let Some(ty) = self.get(id) else {
            return String::new();
        };
        if !ty.name.is_empty() {
            return ty.name.to_string();
        }

        // Types without a name are written by their parts.
        match &ty.form {
            Form::Pointer(to) => format!("*{}", self.go_name(*to)),
            Form::Slice(of) => format!("[]{}", self.go_name(*of)),
            Form::Map(key, value) => format!("map[{}]{}", self.go_name(*key), self.go_name(*value)),
            Form::Bytes => "[]uint8".to_owned(),
            _ => String::new(),
        }
    }

    /// The name of a type without its package.
    pub(crate) fn short_name(&self, id: TypeId) -> &str {
        let name = self.get(id).map_or("", |ty| ty.name.as_str());
        name.rsplit_once('.').map_or(name, |(_, short)| short)
    }
}

/// The table of all types.
pub(crate) fn types() -> &'static Types {
    static TYPES: LazyLock<Types> =
        LazyLock::new(|| embedded("types", load(include_str!("data/types.json"))));
    &TYPES
}

#[derive(Deserialize)]
struct RawTable {
    names: Vec<Str>,
    types: Vec<RawType>,
}

/// A form, a name, and what the form needs.
enum RawType {
    Plain(String, Str),
    Of(String, Str, TypeId),
    Map(Str, TypeId, TypeId),
    /// The fields: name, type, flags, number and wire kind in protobuf.
    Struct(Str, Vec<(usize, TypeId, u8, u32, usize)>),
}

// The form says what follows, so nothing is read twice: that was half of the time to read the table.
impl<'de> Deserialize<'de> for RawType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RawTypeVisitor)
    }
}

struct RawTypeVisitor;

impl<'de> Visitor<'de> for RawTypeVisitor {
    type Value = RawType;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a form, a name, and what the form needs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<RawType, A::Error> {
        let form: String = next(&mut parts)?;
        let name = next(&mut parts)?;
        match form.as_str() {
            "struct" => Ok(RawType::Struct(name, next(&mut parts)?)),
            "map" => Ok(RawType::Map(name, next(&mut parts)?, next(&mut parts)?)),
            _ => Ok(match parts.next_element()? {
                Some(of) => RawType::Of(form, name, of),
                None => RawType::Plain(form, name),
            }),
        }
    }
}

fn next<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(parts: &mut A) -> Result<T, A::Error> {
    let part = parts.next_element()?;
    part.ok_or_else(|| A::Error::custom("a type has too few parts"))
}

const OMIT_EMPTY: u8 = 1;
const OMIT_ZERO: u8 = 2;
const INLINE: u8 = 4;

/// The form of a type without a part.
fn plain_form(name: &str) -> Option<Form> {
    let form = match name {
        "bool" => Form::Bool,
        "string" => Form::String,
        "int32" => Form::Int32,
        "int64" => Form::Int64,
        "float64" => Form::Float,
        "bytes" => Form::Bytes,
        "Time" => Form::Time,
        "MicroTime" => Form::MicroTime,
        "Quantity" => Form::Quantity,
        "IntOrString" => Form::IntOrString,
        "RawExtension" | "FieldsV1" | "JSON" => Form::Any,
        _ => return None,
    };
    Some(form)
}

fn load(text: &str) -> Result<Types, String> {
    let raw: RawTable = serde_json::from_str(text).map_err(|error| error.to_string())?;

    // The position of a type is its number, by which other types refer to it.
    let mut types = Vec::with_capacity(raw.types.len());
    for (id, ty) in raw.types.iter().enumerate() {
        let (form, name) = match ty {
            RawType::Plain(form, name) => {
                let found = plain_form(form);
                let unknown = || format!("`{name}` has the unknown form `{form}`");
                (found.ok_or_else(unknown)?, name)
            }
            RawType::Of(form, name, of) => {
                let form = match form.as_str() {
                    "pointer" => Form::Pointer(*of),
                    "slice" => Form::Slice(*of),
                    "SchemaOrArray" => Form::SchemaOrSchemas(*of),
                    "SchemaOrBool" => Form::SchemaOrBool(*of),
                    "SchemaOrStrings" => Form::SchemaOrStrings(*of),
                    unknown => return Err(format!("`{name}` has the unknown form `{unknown}`")),
                };
                (form, name)
            }
            RawType::Map(name, key, value) => (Form::Map(*key, *value), name),
            RawType::Struct(name, _) => {
                let mut fields = Vec::new();
                let mut parts = Vec::new();
                let flattened = flatten(&raw, id, &mut Vec::new(), &mut fields, &mut parts);
                flattened.ok_or_else(|| format!("`{name}` embeds a type that is not a struct"))?;

                // Lookups by name and number are binary searches; the order of declarations is kept beside them.
                add_unions(name, &mut fields);
                parts.sort_by_key(|(number, _)| *number);
                fields.sort_by(|a: &Field, b| a.name.cmp(&b.name));
                let mut order: Vec<usize> = (0..fields.len()).collect();
                order.sort_by_key(|at| fields.get(*at).map(|field| field.position));

                (
                    Form::Struct(Struct {
                        fields,
                        order,
                        parts,
                        ..Struct::default()
                    }),
                    name,
                )
            }
        };

        types.push(Type {
            form,
            name: name.clone(),
        });
    }

    // Zero values need all types.
    let mut types = Types(types);
    complete(&mut types);
    Ok(types)
}

/// Adds the extension for unions to the type of a schema, whose Go type lacks it. Like a default, it is any JSON.
fn add_unions(name: &Str, fields: &mut Vec<Field>) {
    if name != "v1.JSONSchemaProps" {
        return;
    }
    let default = fields.iter().find(|field| field.name == "default").cloned();
    let position = fields.len();
    fields.extend(default.map(|default| Field {
        name: "x-kubernetes-unions".into(),
        position,
        ..default
    }));
}

/// Lists the fields of a struct and of the structs that it embeds, and the parts of its own message.
fn flatten(
    raw: &RawTable,
    id: TypeId,
    embedded: &mut Vec<Str>,
    fields: &mut Vec<Field>,
    parts: &mut Vec<(u32, Part)>,
) -> Option<()> {
    let RawType::Struct(_, listed) = raw.types.get(id)? else {
        return None;
    };
    for &(name, ty, flags, number, _) in listed {
        let name = raw.names.get(name)?.clone();
        let position = fields.len();
        let is_embedded = flags & INLINE != 0;

        // Some types, such as `TypeMeta`, are not part of the messages of the structs that embed them.
        if number > 0 {
            let part = if is_embedded {
                Part::Embedded(ty, position)
            } else {
                Part::Field(position)
            };
            parts.push((number, part));
        }

        if !is_embedded {
            fields.push(Field {
                name,
                ty,
                omit_empty: flags & OMIT_EMPTY != 0,
                omit_zero: flags & OMIT_ZERO != 0,
                embedded: embedded.clone(),
                position,
            });
            continue;
        }

        // Fields of an embedded struct are fields of the outer one in JSON, but parts of their own message in protobuf.
        embedded.push(name);
        flatten(raw, ty, embedded, fields, &mut Vec::new())?;
        embedded.pop();
    }

    Some(())
}

/// Computes the zero values of all structs, parts before wholes. A struct contains no struct of its own type except
/// behind a pointer, a slice or a map, so this ends.
fn complete(types: &mut Types) {
    for id in 0..types.0.len() {
        complete_one(types, id);
    }
}

fn complete_one(types: &mut Types, id: TypeId) {
    let Some(Type {
        form: Form::Struct(shape),
        ..
    }) = types.0.get_mut(id)
    else {
        return;
    };
    if !shape.zero.is_null() {
        return;
    }

    // A struct within the struct is completed first, since its zero value is part of this one.
    let fields = std::mem::take(&mut shape.fields);
    let mut always = Vec::new();
    let mut entries = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        complete_one(types, field.ty);
        let zero = types.zero(field.ty);
        let is_omitted = field.omit_zero || field.omit_empty && types.is_empty(field.ty, &zero);
        if !is_omitted {
            always.push(at);
            entries.push((field.name.clone(), zero));
        }
    }

    if let Some(Type {
        form: Form::Struct(shape),
        ..
    }) = types.0.get_mut(id)
    {
        shape.fields = fields;
        shape.always = always;
        shape.zero = Value::Map(entries.into_iter().collect());
    }
}
