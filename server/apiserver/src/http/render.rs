//! Answers as bytes: objects, lists, metadata, tables, documents and failures.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use fieldmanager_builtin::{KindDescription, to_protobuf};
use fieldmanager_value::{Map, Str, Value};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, Response, header};

use super::message::{Body, COMPRESSED, Head, full, gzip, response};
use super::messages;
use super::negotiate::{Form, Format, Media, Place};
use super::parts::{Listing, Shown, Texts};
use crate::discovery::Document;
use crate::endpoint::{Core, Failure, Listed};
use crate::object::{fields, map, text as text_of, with};
use crate::registry::Served;
use crate::store::Entry;
use crate::table::{self, IncludeObject};

/// The greatest size of all warnings of an answer.
const WARNINGS: usize = 4096;

/// An answer with a value.
fn encoded(head: &Head, code: u16, value: &Value, format: Format) -> Response<Body> {
    if format.media == Media::Protobuf
        && let Some(message) = to_protobuf(value)
    {
        return sized(head, code, &format.content_type(), message.into());
    }

    let text = match format.media {
        Media::Yaml => value.to_yaml(),
        _ if head.is_pretty() => value.to_json_pretty(),
        _ => {
            let mut text = value.to_json();
            text.push('\n');
            text
        }
    };
    sized(head, code, &format.content_type(), text.into())
}

/// An answer whose body is compressed if it is large and the client accepts that.
fn sized(head: &Head, code: u16, content_type: &str, body: Bytes) -> Response<Body> {
    let compressed = (body.len() > COMPRESSED && head.accepts_gzip()).then(|| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder
            .write_all(&body)
            .and_then(|()| encoder.finish())
            .ok()
    });

    match compressed.flatten() {
        Some(small) => gzip(response(code, content_type, full(small))),
        None => response(code, content_type, full(body)),
    }
}

/// `/version`, which is always indented, with what it says of the build.
pub(super) fn version(head: &Head, value: &Value, build: &str) -> Response<Body> {
    let mut text = value.to_json_pretty();
    if let Some(release) = value.get("gitVersion").and_then(Value::as_str)
        && !build.is_empty()
    {
        text = text.replacen(release, &format!("{release}+{build}"), 1);
    }
    sized(head, 200, "application/json", text.into())
}

/// A document in JSON.
pub(super) fn text(head: &Head, document: String) -> Result<Response<Body>, Failure> {
    let format = Format::of(head.header(header::ACCEPT), Place::Plain)?;
    match format.media {
        Media::Yaml => {
            let value = Value::from_json(&document)
                .map_err(|error| Failure::new(500, "InternalError", error.to_string()))?;
            Ok(encoded(head, 200, &value, format))
        }
        _ => Ok(sized(head, 200, &format.content_type(), document.into())),
    }
}

/// The documents of `/api` and `/apis`, or the aggregated one.
pub(super) fn discovery(
    head: &Head,
    plain: impl FnOnce() -> String,
    aggregated: impl FnOnce() -> Document,
) -> Result<Response<Body>, Failure> {
    let format = Format::of(head.header(header::ACCEPT), Place::Discovery)?;
    if format.form != Form::AggregatedDiscovery {
        return text(head, plain());
    }
    let mut response = document(head, aggregated(), &format.content_type());
    response
        .headers_mut()
        .insert(header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// A document with an `ETag`; 304 if the client has it.
pub(super) fn document(head: &Head, document: Document, content_type: &str) -> Response<Body> {
    let etag = format!("\"{}\"", document.etag);
    let known = head
        .header(header::IF_NONE_MATCH)
        .is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == etag));
    let mut response = if known {
        response(304, content_type, full(Bytes::new()))
    } else {
        sized(head, 200, content_type, document.body)
    };
    if let Ok(value) = etag.parse() {
        response.headers_mut().insert(header::ETAG, value);
    }

    response
}

/// A `Status` of success, which is neither metadata nor a table. Unlike a failure, it keeps the serialization of those.
pub(super) fn status(head: &Head, code: u16, status: &Value, format: Format) -> Response<Body> {
    let format = Format {
        form: Form::Object,
        version: "",
        ..format
    };
    encoded(head, code, status, format)
}

/// An object in the form that was asked for.
pub(super) fn object(
    core: &Core,
    head: &Head,
    code: u16,
    served: &Served,
    object: &Value,
    format: Format,
) -> Result<Response<Body>, Failure> {
    let value = match format.form {
        Form::Metadata => metadata_of(object, format.version),
        Form::MetadataList => return Err(is_no_list(served)),
        Form::Table => {
            let options = table_options(core, included(head)?).list(false);
            table_of(served, object, options, format.version)
        }
        _ => object.clone(),
    };
    Ok(encoded(head, code, &value, format))
}

/// A list in the form that was asked for.
pub(super) fn list(
    core: &Core,
    head: &Head,
    served: &Arc<Served>,
    list: Listed,
    format: Format,
) -> Result<Response<Body>, Failure> {
    let revision = list
        .revision
        .map(|revision| Value::from(revision.to_string()));
    let mut metadata = Vec::from_iter(revision.map(|revision| ("resourceVersion", revision)));

    // kube-apiserver writes the empty string in lists of custom resources, which are no Go type with `omitempty`.
    let is_unstructured = !served.is_builtin() && matches!(format.form, Form::Object);
    if !list.next.is_empty() || is_unstructured {
        metadata.push(("continue", list.next.into()));
    }
    if let Some(remaining) = list.remaining {
        metadata.push((
            "remainingItemCount",
            Value::Int(i64::try_from(remaining).unwrap_or(i64::MAX)),
        ));
    }

    let metadata = fields(metadata);
    let reader = served.clone();
    let read = move |entry: &Entry| {
        let stored = list.are_stored.then(|| reader.read(entry));
        stored.unwrap_or_else(|| entry.object.clone())
    };
    let of_kind = || (served.facts.group_version(), served.facts.list_kind.clone());
    let ((api_version, kind), shown): (_, Shown) = match format.form {
        Form::Table => {
            let options = table_options(core, included(head)?);
            let items: Vec<Value> = list.items.iter().map(read).collect();
            let table = served.printer().table(&items, &metadata, &options);
            let table = at_version(table, format.version);
            return Ok(encoded(head, 200, &table, format));
        }
        Form::Metadata => return Err(is_list(served)),
        Form::MetadataList => {
            let version = format!("meta.k8s.io/{}", format.version);
            let shown = move |item: &Entry| metadata_of(&read(item), format.version);
            (
                (version.into(), "PartialObjectMetadataList".into()),
                Box::new(shown),
            )
        }
        // The items of a list of a built-in kind do not repeat the kind, which no message has.
        _ if served.is_builtin() && format.media != Media::Protobuf => {
            let shown = move |item: &Entry| without_kind(&read(item));
            (of_kind(), Box::new(shown))
        }
        _ => (of_kind(), Box::new(read)),
    };

    let listing = Listing {
        api_version,
        kind,
        metadata,
        items: list.items,
        shown,
    };

    let texts = Texts::new(core.items.clone(), served, format.shared_name());
    let (content_type, accepts_gzip) = (format.content_type(), head.accepts_gzip());
    Ok(match format.media {
        Media::Json if !head.is_pretty() => listing.respond(texts, &content_type, accepts_gzip),
        Media::Protobuf => messages::respond(listing, texts, &content_type, accepts_gzip),
        _ => encoded(head, 200, &listing.into_value(), format),
    })
}

/// 406: the form is that of an object, and the answer is a list.
fn is_list(served: &Served) -> Failure {
    let found = go_type(served, &served.facts.list_kind);
    let asked = "you requested PartialObjectMetadata, but the requested object is a list";
    Failure::new(406, "NotAcceptable", format!("{asked} ({found})"))
}

/// 406: the form is that of a list, and the answer is an object.
fn is_no_list(served: &Served) -> Failure {
    let found = go_type(served, &served.facts.kind);
    let asked = "you requested PartialObjectMetadataList, but the requested object is not a list";
    Failure::new(406, "NotAcceptable", format!("{asked} ({found})"))
}

/// The name of the Go type of an object or a list, as a message of kube-apiserver has it.
fn go_type(served: &Served, kind: &str) -> String {
    if !served.is_builtin() {
        let suffix = if *kind == *served.facts.kind {
            ""
        } else {
            "List"
        };
        return format!("*unstructured.Unstructured{suffix}");
    }
    // An internal package has the name of its group without the domain.
    let group = KindDescription::find(served.kind()).internal_group();
    let package = match group.split('.').next().unwrap_or_default() {
        "" => "core",
        "internal" => "apiserverinternal",
        name => name,
    };
    format!("*{package}.{kind}")
}

fn without_kind(object: &Value) -> Value {
    let Value::Map(fields) = object else {
        return object.clone();
    };
    let mut fields = fields.clone();
    fields.remove("kind");
    fields.remove("apiVersion");
    Value::Map(fields)
}

/// The metadata of an object as `PartialObjectMetadata`.
pub(super) fn metadata_of(object: &Value, version: &str) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| map([]));
    let api_version = format!("meta.k8s.io/{version}");
    map([
        ("metadata", metadata),
        ("kind", "PartialObjectMetadata".into()),
        ("apiVersion", api_version.into()),
    ])
}

/// The options of a table at this moment.
pub(super) fn table_options(core: &Core, include: IncludeObject) -> table::Options {
    let now = jiff::Timestamp::from_second(core.source.now().unix_seconds()).unwrap_or_default();
    table::Options::new(now).include(include)
}

/// One object as a table.
pub(super) fn table_of(
    served: &Served,
    object: &Value,
    options: table::Options,
    version: &str,
) -> Value {
    let metadata = object
        .get("metadata")
        .and_then(|metadata| metadata.get("resourceVersion"))
        .cloned();
    let metadata: Map = metadata
        .map(|version| (Str::from("resourceVersion"), version))
        .into_iter()
        .collect();
    let table = served
        .printer()
        .table(std::slice::from_ref(object), &metadata, &options);

    at_version(table, version)
}

/// A table, with the metadata in its rows, at a version of `meta.k8s.io`.
fn at_version(table: Value, version: &str) -> Value {
    if version == "v1" {
        return table;
    }
    let api_version = Value::from(format!("meta.k8s.io/{version}"));
    let rows = table.get("rows").and_then(Value::as_list);
    let rows = rows
        .into_iter()
        .flatten()
        .map(|row| match row.get("object") {
            Some(object) if text_of(object, &["kind"]) == "PartialObjectMetadata" => with(
                row,
                "object",
                with(object, "apiVersion", api_version.clone()),
            ),
            _ => row.clone(),
        });

    let table = with(&table, "rows", Value::List(rows.collect()));
    with(&table, "apiVersion", api_version)
}

/// The part of the objects that the rows of tables have.
pub(super) fn included(head: &Head) -> Result<IncludeObject, Failure> {
    let text = head.query.text("includeObject");
    IncludeObject::from_parameter(text).ok_or_else(|| {
        Failure::new(
            400,
            "BadRequest",
            format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {text:?}: must be 'Metadata', \
                 'Object', 'None', or empty"
            ),
        )
    })
}

/// The answer to a request that failed.
pub(super) fn failure(head: &Head, failure: Failure) -> Response<Body> {
    let code = failure.status.code;
    if failure.is_text {
        let mut response = response(
            code,
            "text/plain; charset=utf-8",
            full(failure.status.message.clone()),
        );
        response.headers_mut().insert(
            "X-Content-Type-Options",
            HeaderValue::from_static("nosniff"),
        );
        return response;
    }

    // A client that accepts nothing that the server has gets JSON.
    let format = Format::of(head.header(header::ACCEPT), Place::Objects).unwrap_or(Format::JSON);
    let retry = failure.retry_after;
    let mut response = encoded(head, code, &failure.body(), format.of_failure());
    if retry > 0 {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, retry.into());
    }

    with_warnings(response, &failure.warnings)
}

/// The response with its headers `Warning`.
pub(super) fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    let mut known = std::collections::BTreeSet::new();
    let mut size = 0;
    for text in warnings.iter().filter(|text| known.insert(text.as_str())) {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        size += text.len();
        if size > WARNINGS {
            break;
        }
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            response.headers_mut().append(header::WARNING, value);
        }
    }

    response
}
