//! OpenAPI v2 documents as the message `openapi.v2.Document` of gnostic.
//!
//! A table has the fields of a message, and where they are in the JSON of the object that it stands for. Numbers are those
//! of `OpenAPIv2.proto`. Fields that Kubernetes does not use are left out.

use fieldmanager_value::{Map, Value};

use super::operations::members;
use super::protobuf::Message;

/// A field of a message: its number, the name of the member in JSON, and its form.
type Field = (u32, &'static str, Form);

/// The form of a field. One that has its zero value is left out, apart from messages.
#[derive(Clone, Copy)]
enum Form {
    /// A string, or a list of strings.
    Text,
    Flag,
    Integer,
    Double,
    /// The value, or each of a list of values, as YAML.
    Any,
    AnyOfEach,
    /// A message of the value, or of each of a list of values.
    One(Encode),
    Each(Encode),
    /// A map as a message with a named message of each member.
    Map(Encode),
    /// All members whose names begin with `x-`.
    Extensions,
}

use Form::{Any, AnyOfEach, Double, Each, Extensions, Flag, Integer, One, Text};

/// Encodes the message of a value.
type Encode = fn(&Value) -> Message;

const DOCUMENT: &[Field] = &[
    (1, "swagger", Text),
    (2, "info", One(|info| message(info, INFO))),
    (
        8,
        "paths",
        One(|paths| named_messages(2, paths, |item| message(item, PATH))),
    ),
    (9, "definitions", Form::Map(schema)),
    (10, "parameters", Form::Map(parameter)),
    (
        12,
        "security",
        Each(|requirement| named_messages(1, requirement, strings)),
    ),
    (
        13,
        "securityDefinitions",
        Form::Map(|definition| wrapped(2, message(definition, KEY))),
    ),
    (16, "", Extensions),
];

const INFO: &[Field] = &[
    (1, "title", Text),
    (2, "version", Text),
    (3, "description", Text),
];

const KEY: &[Field] = &[
    (1, "type", Text),
    (2, "name", Text),
    (3, "in", Text),
    (4, "description", Text),
];

const PATH: &[Field] = &[
    (2, "get", One(operation)),
    (3, "put", One(operation)),
    (4, "post", One(operation)),
    (5, "delete", One(operation)),
    (6, "options", One(operation)),
    (7, "head", One(operation)),
    (8, "patch", One(operation)),
    (9, "parameters", Each(parameter_or_reference)),
    (10, "", Extensions),
];

const OPERATION: &[Field] = &[
    (1, "tags", Text),
    (2, "summary", Text),
    (3, "description", Text),
    (5, "operationId", Text),
    (6, "produces", Text),
    (7, "consumes", Text),
    (8, "parameters", Each(parameter_or_reference)),
    (9, "responses", One(responses)),
    (10, "schemes", Text),
    (11, "deprecated", Flag),
    (13, "", Extensions),
];

const REFERENCE: &[Field] = &[(1, "$ref", Text), (2, "description", Text)];

const BODY: &[Field] = &[
    (1, "description", Text),
    (2, "name", Text),
    (3, "in", Text),
    (4, "required", Flag),
    (5, "schema", One(schema)),
    (6, "", Extensions),
];

/// A parameter in the query.
const QUERY: &[Field] = &[
    (1, "required", Flag),
    (2, "in", Text),
    (3, "description", Text),
    (4, "name", Text),
    (5, "allowEmptyValue", Flag),
    (6, "type", Text),
    (7, "format", Text),
    (9, "collectionFormat", Text),
    (10, "default", Any),
    (17, "pattern", Text),
    (20, "uniqueItems", Flag),
    (21, "enum", AnyOfEach),
    (23, "", Extensions),
];

const RESPONSE: &[Field] = &[
    (1, "description", Text),
    (2, "schema", One(|value| wrapped(1, schema(value)))),
    (5, "", Extensions),
];

const DOCS: &[Field] = &[(1, "description", Text), (2, "url", Text)];

const SCHEMA: &[Field] = &[
    (1, "$ref", Text),
    (2, "format", Text),
    (3, "title", Text),
    (4, "description", Text),
    (5, "default", Any),
    (6, "multipleOf", Double),
    (7, "maximum", Double),
    (8, "exclusiveMaximum", Flag),
    (9, "minimum", Double),
    (10, "exclusiveMinimum", Flag),
    (11, "maxLength", Integer),
    (12, "minLength", Integer),
    (13, "pattern", Text),
    (14, "maxItems", Integer),
    (15, "minItems", Integer),
    (16, "uniqueItems", Flag),
    (17, "maxProperties", Integer),
    (18, "minProperties", Integer),
    (19, "required", Text),
    (20, "enum", AnyOfEach),
    (21, "additionalProperties", One(additional)),
    (22, "type", One(strings)),
    (23, "items", One(|items| wrapped(1, schema(items)))),
    (24, "allOf", Each(schema)),
    (25, "properties", Form::Map(schema)),
    (27, "readOnly", Flag),
    (29, "externalDocs", One(|docs| message(docs, DOCS))),
    (30, "example", Any),
    (31, "", Extensions),
];

/// The bytes of a document.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    message(document, DOCUMENT).into_bytes()
}

/// The message of an object.
fn message(object: &Value, fields: &[Field]) -> Message {
    let mut out = Message::default();
    for (number, name, form) in fields {
        if matches!(form, Extensions) {
            let all = members(Some(object))
                .iter()
                .filter(|(name, _)| name.starts_with("x-"));
            all.for_each(|(name, value)| out.message(*number, named(name, any(value))));
        }

        let Some(value) = object.get(name) else {
            continue;
        };
        let items = || value.as_list().into_iter().flatten();
        match form {
            Text => texts(value).for_each(|text| out.bytes(*number, text.as_bytes())),
            Flag => out.integer(*number, i64::from(value.as_bool() == Some(true))),
            Integer => out.integer(*number, value.as_i64().unwrap_or_default()),
            Double => out.double(*number, value),
            Any => out.message(*number, any(value)),
            AnyOfEach => items().for_each(|item| out.message(*number, any(item))),
            One(encode) => out.message(*number, encode(value)),
            Each(encode) => items().for_each(|item| out.message(*number, encode(item))),
            Form::Map(encode) => out.message(*number, named_messages(1, value, *encode)),
            Extensions => {}
        }
    }

    out
}

/// A string that is not empty, or the strings of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let one = value.as_str().filter(|text| !text.is_empty());
    one.into_iter().chain(
        value
            .as_list()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str),
    )
}

/// A message with a list of strings.
fn strings(value: &Value) -> Message {
    let mut out = Message::default();
    texts(value).for_each(|text| out.bytes(1, text.as_bytes()));
    out
}

/// A message with one field.
fn wrapped(number: u32, value: Message) -> Message {
    let mut out = Message::default();
    out.message(number, value);
    out
}

/// A message with a name and a value, as for each member of a map.
fn named(name: &str, value: Message) -> Message {
    let mut out = Message::default();
    out.bytes(1, name.as_bytes());
    out.message(2, value);
    out
}

/// A map as a message with a list of named messages.
fn named_messages(number: u32, map: &Value, encode: Encode) -> Message {
    let mut out = Message::default();
    for (name, value) in members(Some(map)) {
        out.message(number, named(name, encode(value)));
    }
    out
}

/// A value of any type, as YAML.
fn any(value: &Value) -> Message {
    let mut out = Message::default();
    let mut yaml = value.to_yaml();
    if !yaml.ends_with('\n') {
        yaml.push('\n');
    }
    out.bytes(2, yaml.as_bytes());
    out
}

fn operation(value: &Value) -> Message {
    message(value, OPERATION)
}

fn schema(value: &Value) -> Message {
    message(value, SCHEMA)
}

/// One of two messages: the second one for a reference.
fn or_reference(value: &Value, encode: Encode) -> Message {
    match value.get("$ref") {
        Some(_) => wrapped(2, message(value, REFERENCE)),
        None => wrapped(1, encode(value)),
    }
}

fn parameter_or_reference(value: &Value) -> Message {
    or_reference(value, parameter)
}

fn parameter(value: &Value) -> Message {
    let number = match value.get("in").and_then(Value::as_str) {
        Some("body") => return wrapped(1, message(value, BODY)),
        Some("query") => return wrapped(2, wrapped(3, message(value, QUERY))),
        Some("header") => 1,
        _ => 4,
    };

    // Without the field of queries, the others have the numbers before theirs.
    let own = QUERY
        .iter()
        .filter(|(_, name, _)| *name != "allowEmptyValue");
    let own: Vec<Field> = own
        .map(|(at, name, form)| (if *at > 5 { at - 1 } else { *at }, *name, *form))
        .collect();
    wrapped(2, wrapped(number, message(value, &own)))
}

fn responses(value: &Value) -> Message {
    let mut out = Message::default();
    let codes = members(Some(value))
        .iter()
        .filter(|(code, _)| !code.starts_with("x-"));
    for (code, response) in codes {
        out.message(
            1,
            named(
                code,
                or_reference(response, |response| message(response, RESPONSE)),
            ),
        );
    }

    let extensions = message(value, &[(2, "", Extensions)]);
    out.append(extensions);
    out
}

/// The schema of other properties, or whether there may be any.
fn additional(value: &Value) -> Message {
    match value {
        Value::Bool(is_free) => {
            let object = Value::Map(Map::single("is_free", *is_free));
            message(&object, &[(2, "is_free", Flag)])
        }
        inner => wrapped(1, schema(inner)),
    }
}
