//! Objects of built-in kinds in protobuf.

use fieldmanager_builtin::{Kind, ProtobufError, from_protobuf, to_protobuf};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

/// Reads the input as an object in protobuf, and reads its bytes after the first as an object of the kind that the first
/// byte selects. An accepted object must be an object of its kind, its JSON must round-trip, and so must
/// its message.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_protobuf(bytes: &[u8]) -> Result<(), String> {
    check(from_protobuf(bytes, &GroupVersionKind::default()))?;
    let Some((first, object)) = bytes.split_first() else {
        return Ok(());
    };
    let kinds: Vec<Kind> = Kind::all().collect();
    let Some(kind) = kinds.get(usize::from(*first) % kinds.len().max(1)) else {
        return Ok(());
    };
    let mut envelope = b"k8s\0\x12".to_vec();
    let mut length = object.len();
    while length >= 0x80 {
        envelope.push((length & 0x7F) as u8 | 0x80);
        length >>= 7;
    }
    envelope.push(length as u8);
    envelope.extend_from_slice(object);
    check(from_protobuf(&envelope, kind.gvk()))
}

fn check(read: Result<Value, ProtobufError>) -> Result<(), String> {
    let object = match read {
        Ok(object) => object,
        Err(error) => {
            ensure!(!error.to_string().is_empty(), "{error:?} has no message");
            return Ok(());
        }
    };
    let json = object.to_json();
    let again = Value::from_json(&json)
        .map_err(|error| format!("the JSON is rejected: {error}\n{json}"))?;
    ensure!(
        again.to_json() == json,
        "{json} is written differently after parsing"
    );
    let Some(kind) = object.complete_kind() else {
        return Err(format!("{json} has no kind"));
    };
    // Options are read at any version.
    let Some(kind) = Kind::of(&kind) else {
        return Ok(());
    };
    let decoded = kind
        .decode(&object)
        .map_err(|error| format!("{json} is not decoded: {error}"))?;
    ensure!(
        decoded.unknown.is_empty(),
        "{json} has unknown fields: {:?}",
        decoded.unknown
    );
    let again = kind
        .decode(&decoded.object)
        .map_err(|error| format!("{json} is not decoded again: {error}"))?;
    ensure!(
        again.object == decoded.object,
        "{json} changes when it is decoded again"
    );

    let write = |object| to_protobuf(object).ok_or_else(|| format!("{json} is not written"));
    let message = write(&decoded.object)?;
    let read = from_protobuf(&message, &GroupVersionKind::default())
        .map_err(|error| format!("what was written of {json} is not read: {error}"))?;
    ensure!(
        write(&read)? == message,
        "{json} is written differently after reading"
    );
    Ok(())
}
