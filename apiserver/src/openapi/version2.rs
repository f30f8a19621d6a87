//! OpenAPI v2 documents as the message `openapi.v2.Document` of gnostic.
//!
//! Every function encodes a message from the object that it stands for in JSON; numbers are those of the fields in
//! `OpenAPIv2.proto`. Fields that Kubernetes does not use are left out.

use fieldmanager_value::{Map, Value};

use super::operations::members;
use super::protobuf::Message;

pub(super) fn encode(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, document, "swagger");
    with(&mut out, 2, document, "info", info);
    let mut paths = Message::default();
    for (path, item) in members(document.get("paths")) {
        paths.message(2, named(path, path_item(item)));
    }
    out.message(8, paths);
    with(&mut out, 9, document, "definitions", |definitions| entries(definitions, schema));
    with(&mut out, 10, document, "parameters", |parameters| entries(parameters, parameter));
    for requirement in items(document, "security") {
        out.message(
            12,
            entries(requirement, |scopes| {
                let mut list = Message::default();
                for scope in scopes.as_list().into_iter().flatten().filter_map(Value::as_str) {
                    list.bytes(1, scope.as_bytes());
                }
                list
            }),
        );
    }
    with(&mut out, 13, document, "securityDefinitions", |definitions| entries(definitions, security));
    extensions(&mut out, 16, document);
    out.into_bytes()
}

/// A member of an object as a message, if it is there.
fn with(out: &mut Message, field: u32, object: &Value, name: &str, message: impl Fn(&Value) -> Message) {
    if let Some(member) = object.get(name) {
        out.message(field, message(member));
    }
}

fn items<'v>(object: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    object.get(name).and_then(Value::as_list).into_iter().flatten()
}

/// A message with a name and a value, as for each member of a map.
fn named(name: &str, value: Message) -> Message {
    let mut out = Message::default();
    out.bytes(1, name.as_bytes());
    out.message(2, value);
    out
}

/// A map as a list of named messages.
fn entries(map: &Value, message: impl Fn(&Value) -> Message) -> Message {
    let mut out = Message::default();
    for (name, value) in members(Some(map)) {
        out.message(1, named(name, message(value)));
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

fn extensions(out: &mut Message, field: u32, object: &Value) {
    let all: &Map = members(Some(object));
    for (name, value) in all.iter().filter(|(name, _)| name.starts_with("x-")) {
        out.message(field, named(name, any(value)));
    }
}

fn info(info: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, info, "title");
    out.text(2, info, "version");
    out.text(3, info, "description");
    out
}

fn security(definition: &Value) -> Message {
    let mut key = Message::default();
    key.text(1, definition, "type");
    key.text(2, definition, "name");
    key.text(3, definition, "in");
    key.text(4, definition, "description");
    let mut out = Message::default();
    out.message(2, key);
    out
}

fn path_item(item: &Value) -> Message {
    let mut out = Message::default();
    let methods = ["get", "put", "post", "delete", "options", "head", "patch"];
    for (field, method) in (2..).zip(methods) {
        with(&mut out, field, item, method, operation);
    }
    for item in items(item, "parameters") {
        out.message(9, parameters_item(item));
    }
    extensions(&mut out, 10, item);
    out
}

fn operation(operation: &Value) -> Message {
    let mut out = Message::default();
    out.texts(1, operation, "tags");
    out.text(2, operation, "summary");
    out.text(3, operation, "description");
    out.text(5, operation, "operationId");
    out.texts(6, operation, "produces");
    out.texts(7, operation, "consumes");
    for item in items(operation, "parameters") {
        out.message(8, parameters_item(item));
    }
    with(&mut out, 9, operation, "responses", responses);
    out.texts(10, operation, "schemes");
    out.flag(11, operation, "deprecated");
    extensions(&mut out, 13, operation);
    out
}

fn reference(value: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, value, "$ref");
    out.text(2, value, "description");
    out
}

fn parameters_item(item: &Value) -> Message {
    let mut out = Message::default();
    if item.get("$ref").is_some() {
        out.message(2, reference(item));
    } else {
        out.message(1, parameter(item));
    }
    out
}

fn parameter(parameter: &Value) -> Message {
    let mut out = Message::default();
    let place = parameter.get("in").and_then(Value::as_str).unwrap_or_default();
    if place == "body" {
        let mut body = Message::default();
        body.text(1, parameter, "description");
        body.text(2, parameter, "name");
        body.text(3, parameter, "in");
        body.flag(4, parameter, "required");
        with(&mut body, 5, parameter, "schema", schema);
        extensions(&mut body, 6, parameter);
        out.message(1, body);
        return out;
    }
    let mut other = Message::default();
    let (variant, message) = match place {
        "header" => (1, simple_parameter(parameter, 0)),
        "query" => (3, simple_parameter(parameter, 1)),
        _ => (4, simple_parameter(parameter, 0)),
    };
    other.message(variant, message);
    out.message(2, other);
    out
}

/// A parameter outside the body. Those of queries have one field more, which shifts the numbers of the others.
fn simple_parameter(parameter: &Value, shift: u32) -> Message {
    let mut out = Message::default();
    out.flag(1, parameter, "required");
    out.text(2, parameter, "in");
    out.text(3, parameter, "description");
    out.text(4, parameter, "name");
    if shift > 0 {
        out.flag(5, parameter, "allowEmptyValue");
    }
    out.text(5 + shift, parameter, "type");
    out.text(6 + shift, parameter, "format");
    out.text(8 + shift, parameter, "collectionFormat");
    with(&mut out, 9 + shift, parameter, "default", any);
    out.text(16 + shift, parameter, "pattern");
    out.flag(19 + shift, parameter, "uniqueItems");
    for item in items(parameter, "enum") {
        out.message(20 + shift, any(item));
    }
    extensions(&mut out, 22 + shift, parameter);
    out
}

fn responses(responses: &Value) -> Message {
    let mut out = Message::default();
    for (code, response) in members(Some(responses)).iter().filter(|(code, _)| !code.starts_with("x-")) {
        let mut value = Message::default();
        if response.get("$ref").is_some() {
            value.message(2, reference(response));
        } else {
            value.message(1, response_message(response));
        }
        out.message(1, named(code, value));
    }
    extensions(&mut out, 2, responses);
    out
}

fn response_message(response: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, response, "description");
    with(&mut out, 2, response, "schema", |value| {
        let mut item = Message::default();
        item.message(1, schema(value));
        item
    });
    extensions(&mut out, 5, response);
    out
}

fn schema(value: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, value, "$ref");
    out.text(2, value, "format");
    out.text(3, value, "title");
    out.text(4, value, "description");
    with(&mut out, 5, value, "default", any);
    out.double(6, value, "multipleOf");
    out.double(7, value, "maximum");
    out.flag(8, value, "exclusiveMaximum");
    out.double(9, value, "minimum");
    out.flag(10, value, "exclusiveMinimum");
    out.integer(11, value, "maxLength");
    out.integer(12, value, "minLength");
    out.text(13, value, "pattern");
    out.integer(14, value, "maxItems");
    out.integer(15, value, "minItems");
    out.flag(16, value, "uniqueItems");
    out.integer(17, value, "maxProperties");
    out.integer(18, value, "minProperties");
    out.texts(19, value, "required");
    for item in items(value, "enum") {
        out.message(20, any(item));
    }
    with(&mut out, 21, value, "additionalProperties", additional);
    with(&mut out, 22, value, "type", |kind| {
        let mut list = Message::default();
        match kind {
            Value::String(kind) => list.bytes(1, kind.as_bytes()),
            kinds => kinds
                .as_list()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .for_each(|kind| list.bytes(1, kind.as_bytes())),
        }
        list
    });
    with(&mut out, 23, value, "items", |inner| {
        let mut list = Message::default();
        list.message(1, schema(inner));
        list
    });
    for inner in items(value, "allOf") {
        out.message(24, schema(inner));
    }
    with(&mut out, 25, value, "properties", |properties| entries(properties, schema));
    out.flag(27, value, "readOnly");
    with(&mut out, 29, value, "externalDocs", |docs| {
        let mut out = Message::default();
        out.text(1, docs, "description");
        out.text(2, docs, "url");
        out
    });
    with(&mut out, 30, value, "example", any);
    extensions(&mut out, 31, value);
    out
}

/// The schema of other properties, or whether there may be any.
fn additional(value: &Value) -> Message {
    let mut out = Message::default();
    match value {
        Value::Bool(true) => {
            let object = Value::Map(Map::single("boolean", true));
            out.flag(2, &object, "boolean");
        }
        Value::Bool(false) => {}
        inner => out.message(1, schema(inner)),
    }
    out
}
