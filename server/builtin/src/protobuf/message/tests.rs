use fieldmanager_structural::GroupVersionKind;

use super::*;
use crate::Kind;
use crate::types::types;

fn read(api_version: &str, kind: &str, message: &[u8]) -> Result<String, String> {
    let kind = Kind::of(&GroupVersionKind::from_api_version_kind(api_version, kind)).unwrap();
    let object = Reader::new(types()).object(kind.ty(), message);
    object
        .map(|object| object.to_json())
        .map_err(|fault| fault.to_string())
}

/// A message with one field of bytes, whose number is below 16.
fn field(number: u8, mut payload: Vec<u8>) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = payload.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.append(&mut payload);
    out
}

#[test]
fn later_scalars_replace_earlier_ones_and_messages_are_merged() {
    let metadata = |bytes: &[u8]| field(1, bytes.to_vec());
    let message = [metadata(b"\x0a\x01a\x0a\x01b"), metadata(b"\x1a\x01n")].concat();
    let json = r#"{"metadata":{"name":"b","namespace":"n"}}"#;
    assert_eq!(read("v1", "ConfigMap", &message).as_deref(), Ok(json));
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_one_by_one() {
    let message = field(1, b"\x0a\x04a\xe2\x82b".to_vec());
    assert_eq!(
        read("v1", "ConfigMap", &message).as_deref(),
        Ok("{\"metadata\":{\"name\":\"a\u{fffd}\u{fffd}b\"}}")
    );
}

#[test]
fn packed_numbers_are_read_as_single_ones() {
    // spec.podFailurePolicy.rules[0].onExitCodes.values
    let job = |values: &[u8]| {
        let rule = field(2, values.to_vec());
        field(2, field(11, field(1, rule)))
    };
    let packed = read("batch/v1", "Job", &job(&[0x1A, 2, 1, 2]));
    assert!(
        packed
            .as_ref()
            .is_ok_and(|json| json.contains(r#""values":[1,2]"#)),
        "{packed:?}"
    );
    assert_eq!(packed, read("batch/v1", "Job", &job(&[0x18, 1, 0x18, 2])));
}

#[test]
fn times_outside_the_years_of_json_are_errors() {
    let message = field(
        1,
        field(
            8,
            vec![0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
        ),
    );
    assert_eq!(
        read("v1", "ConfigMap", &message),
        Err(".metadata.creationTimestamp: found the time 9223372036854775807, expected one in the years 0 to 9999"
            .to_owned())
    );
}

#[test]
fn errors_have_the_path() {
    let message = field(2, field(2, [field(1, Vec::new()), vec![0x08, 1]].concat()));
    let error = read("v1", "Pod", &message);
    assert_eq!(
        error,
        Err(".spec.containers[0].name: found a varint, expected a string".to_owned())
    );
}

#[test]
fn schemas_that_nest_too_deep_are_errors() {
    let definition = |levels: usize| {
        // The field `not` of a schema has a number of two bytes.
        let nested = (0..levels).fold(Vec::new(), |schema, _| {
            let tail = field(1, schema).split_off(1);
            [vec![0xE2, 0x01], tail].concat()
        });
        let version = field(4, field(1, nested));
        field(2, field(7, version))
    };
    let of = |levels| {
        read(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &definition(levels),
        )
    };
    assert!(of(200).is_ok());
    let error = of(10_000).unwrap_err();
    assert!(
        error.ends_with("the object nests deeper than 256 levels"),
        "{}",
        error.len()
    );
}
