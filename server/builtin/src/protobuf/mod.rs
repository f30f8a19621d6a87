//! Protobuf bodies: the envelope of an object, and the object in it.
//!
//! Behaviour: `k8s.io/apimachinery/pkg/runtime/serializer/protobuf`.

mod message;
mod wire;
mod write;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Str, Value};

use crate::Kind;
use crate::types::types;
use message::{Reader, string};
use wire::{Fields, Payload, WireError};
pub use write::{item_to_protobuf, list_to_protobuf, to_protobuf, watch_event_to_protobuf};

/// The bytes with which the envelope of a protobuf object begins.
const PREFIX: &[u8] = b"k8s\0";

/// An error for bytes that are not an object in protobuf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtobufError {
    /// The bytes are not an envelope. The messages about the prefix and empty bytes are those of Go.
    #[error("{0}")]
    Envelope(String),
    /// The kind that the envelope names is not built in.
    #[error("no built-in kind is {0}")]
    UnknownKind(GroupVersionKind),
    /// The object in the envelope is malformed.
    #[error("{reason}")]
    Object {
        /// The kind of the object.
        kind: GroupVersionKind,
        /// The path of the malformed field and what is wrong there.
        reason: String,
    },
}

impl From<WireError> for ProtobufError {
    fn from(error: WireError) -> Self {
        ProtobufError::Envelope(format!("the envelope is malformed: {error}"))
    }
}

/// Reads an object of a built-in kind in protobuf, as the typed clients of client-go send it. The result equals the JSON
/// that Go writes for the object.
///
/// The envelope names the kind of the object; missing parts are those of `default`. `DeleteOptions` are read whatever
/// their group and version: clients send those of the resource.
///
/// # Errors
///
/// [`ProtobufError`] if the bytes are malformed, the kind is not built in, or the object nests deeper than
/// [`MAX_DEPTH`](fieldmanager_value::MAX_DEPTH).
///
/// ```
/// use fieldmanager_builtin::from_protobuf;
/// use fieldmanager_structural::GroupVersionKind;
///
/// let kind = GroupVersionKind::new("", "v1", "ConfigMap");
/// let body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x0f\x0a\x05\x0a\x03web\x12\x06\x0a\x01a\x12\x01b";
/// let object = from_protobuf(body, &kind)?;
/// assert_eq!(object.to_json(), r#"{"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{"name":"web"}}"#);
/// let error = from_protobuf(b"{}", &kind).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
/// );
/// # Ok::<(), fieldmanager_builtin::ProtobufError>(())
/// ```
pub fn from_protobuf(bytes: &[u8], default: &GroupVersionKind) -> Result<Value, ProtobufError> {
    let refused = |message: &str| Err(ProtobufError::Envelope(message.to_owned()));
    let envelope = match bytes.strip_prefix(PREFIX) {
        None if bytes.is_empty() => return refused("empty data"),
        None => {
            return refused(
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            );
        }
        Some([]) => return refused("empty body"),
        Some(envelope) => envelope,
    };
    let (mut api_version, mut kind, mut object) = (Str::default(), Str::default(), &[][..]);

    // Later fields of an envelope replace earlier ones.
    for field in Fields(envelope) {
        match field? {
            (1, Payload::Bytes(type_meta)) => {
                for field in Fields(type_meta) {
                    match field? {
                        (1, Payload::Bytes(bytes)) => api_version = string(bytes),
                        (2, Payload::Bytes(bytes)) => kind = string(bytes),
                        (1 | 2, _) => {
                            return refused(
                                "the type of the envelope has a field that is not a string",
                            );
                        }
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(bytes)) => object = bytes,
            (1 | 2, _) => return refused("the envelope has a field that is not a message"),
            _ => {}
        }
    }

    // An envelope without a version takes group and version of the resource together.
    let mut gvk = GroupVersionKind::from_api_version_kind(&api_version, &kind);
    if gvk.version.is_empty() || gvk.version.contains('/') {
        (gvk.group, gvk.version) = (default.group.clone(), default.version.clone());
    }
    if gvk.kind.is_empty() {
        gvk.kind = default.kind.clone();
    }

    // Neither the envelope nor the default names a version.
    if gvk.version.is_empty() {
        return Err(ProtobufError::UnknownKind(gvk));
    }
    let Some(found) = kind_of(&gvk, &gvk.kind) else {
        return Err(ProtobufError::UnknownKind(gvk));
    };

    // The message has no type, so that of the envelope is added.
    match Reader::new(types()).object(found.ty(), object) {
        Ok(Value::Map(fields)) => Ok(Value::Map(fields.with_edits(vec![
            (
                "apiVersion".into(),
                Some(Value::from(gvk.api_version().to_string())),
            ),
            ("kind".into(), Some(Value::from(&gvk.kind))),
        ]))),
        Ok(other) => Ok(other),
        Err(fault) => Err(ProtobufError::Object {
            kind: gvk,
            reason: fault.to_string(),
        }),
    }
}

/// A kind of a group and version. Options and a `Status` name other groups than their own, and metadata has one message at all
/// versions.
fn kind_of(gvk: &GroupVersionKind, kind: &str) -> Option<Kind> {
    match kind {
        "DeleteOptions" | "PartialObjectMetadata" | "Status" => {
            Kind::of(&GroupVersionKind::new("meta.k8s.io", "v1", kind))
        }
        _ if gvk.kind == kind => Kind::of(gvk),
        _ => Kind::of(&GroupVersionKind::new(&gvk.group, &gvk.version, kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_a_version_are_refused_unless_the_default_has_one() {
        let body = b"k8s\0\x0a\x0f\x12\x0dDeleteOptions\x12\x00";
        let read = |default| from_protobuf(body, &default);
        assert!(matches!(
            read(GroupVersionKind::default()),
            Err(ProtobufError::UnknownKind(_))
        ));
        let options = read(GroupVersionKind::new("meta.k8s.io", "v1", "DeleteOptions")).unwrap();
        assert_eq!(
            options.to_json(),
            r#"{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions"}"#
        );
    }
}
