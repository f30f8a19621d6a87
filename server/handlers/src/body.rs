//! The bodies of requests: media types, bytes to values, and the type that an object names.

use std::borrow::Cow;

use fieldmanager_builtin::{ProtobufError, from_protobuf};
use fieldmanager_managedfields::Status;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::internal::json_kind;
use fieldmanager_value::internal::{from_json_with_repeats, from_yaml_with_duplicates, with_room};
use fieldmanager_value::{Error, Map, Value};

use crate::status::unsupported_media_type;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The media types of the bodies that a resource reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Built-in kinds only.
    Protobuf,
}

impl Media {
    /// The media type of a `Content-Type` header; JSON if there is none.
    ///
    /// # Errors
    ///
    /// 415.
    pub fn of(content_type: &str, builtin: bool) -> Result<Self, Status> {
        let media = media_type(content_type);
        let is = |known: &str| media.eq_ignore_ascii_case(known);
        if content_type.is_empty() || is("application/json") {
            Ok(Media::Json)
        } else if is("application/yaml") {
            Ok(Media::Yaml)
        } else if builtin && is(PROTOBUF) {
            Ok(Media::Protobuf)
        } else {
            // The server names protobuf for custom resources too.
            Err(unsupported_media_type(&[
                "application/json",
                "application/yaml",
                PROTOBUF,
            ]))
        }
    }
}

/// A content type without its parameters.
pub(crate) fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(crate) enum Given<'b> {
    Text(&'b [u8]),
    /// An object of the server itself, which needs no reading.
    Object(&'b Value),
}

impl<'b> Given<'b> {
    /// The text: that of an object is JSON.
    pub(crate) fn bytes(self) -> Cow<'b, [u8]> {
        match self {
            Given::Text(bytes) => bytes.into(),
            Given::Object(object) => object.to_json().into_bytes().into(),
        }
    }
}

/// A body that was read.
pub(crate) struct Body<'b> {
    pub(crate) value: Value,
    /// The text of JSON.
    pub(crate) json: Option<Cow<'b, str>>,
    /// Whether a map of JSON has a field twice.
    pub(crate) has_repeats: bool,
    /// The fields that occur again in a YAML text.
    pub(crate) duplicates: Vec<String>,
}

impl From<Value> for Body<'_> {
    fn from(value: Value) -> Self {
        Body {
            value,
            json: None,
            has_repeats: false,
            duplicates: Vec::new(),
        }
    }
}

/// Reads JSON. The error is that of the decoder of the API server.
pub(crate) fn read_json(bytes: &[u8]) -> Result<Body<'_>, String> {
    let text = String::from_utf8_lossy(bytes);
    let read = from_json_with_repeats(&text);
    let (value, has_repeats) = read.map_err(|error| json_error(&text, &error))?;
    Ok(Body {
        value,
        json: Some(text),
        has_repeats,
        duplicates: Vec::new(),
    })
}

/// Reads protobuf, whose envelope names the kind; missing parts are those of the resource. Fields that occur again or are
/// unknown are not reported, as in Go.
pub(crate) fn read_protobuf(
    bytes: &[u8],
    otherwise: &GroupVersionKind,
) -> Result<Body<'static>, ProtobufError> {
    from_protobuf(bytes, otherwise).map(Body::from)
}

/// The text of YAML, which is in UTF-8 or begins with the mark of UTF-16. The error has the words of Go for the first fault.
fn yaml_text(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    let (units, from_bytes): (_, fn([u8; 2]) -> u16) = match bytes {
        [0xff, 0xfe, units @ ..] => (units, u16::from_le_bytes),
        [0xfe, 0xff, units @ ..] => (units, u16::from_be_bytes),
        _ => return utf8_text(bytes).map(Cow::Borrowed),
    };
    let (pairs, rest) = units.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("incomplete UTF-16 character".to_owned());
    }
    let units = pairs.iter().map(|pair| from_bytes(*pair));
    let text = char::decode_utf16(units).collect::<Result<String, _>>();
    let text = text.map_err(|_| "unexpected low surrogate area".to_owned())?;
    Ok(Cow::Owned(text))
}

fn utf8_text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| {
        let rest = bytes.get(error.valid_up_to()..).unwrap_or_default();
        // The length of a sequence, by its first byte.
        let length = match rest.first() {
            Some(0xc0..=0xdf) => 2,
            Some(0xe0..=0xef) => 3,
            Some(0xf0..=0xf7) => 4,
            _ => return "invalid leading UTF-8 octet".to_owned(),
        };
        let text = if rest.len() < length {
            "incomplete UTF-8 octet sequence"
        } else {
            "invalid trailing UTF-8 octet"
        };
        text.to_owned()
    })
}

/// Reads YAML, with the fields that occur again. The error is a message.
pub(crate) fn read_yaml(bytes: &[u8]) -> Result<Body<'static>, String> {
    let text = yaml_text(bytes)?;
    if let Some(value) = json_as_yaml(&text) {
        return Ok(value.into());
    }

    let read = from_yaml_with_duplicates(&text);
    let (value, duplicates) = read.map_err(|error| error.to_string())?;
    let duplicates = duplicates.into_iter().map(|(line, name)| {
        format!(
            "line {line}: key {} already set in map",
            crate::status::quoted(&name)
        )
    });

    Ok(Body {
        duplicates: duplicates.collect(),
        ..value.into()
    })
}

/// The value of a JSON text which is the same as YAML; `None` if the text is another one, or may differ. Clients send most
/// configurations as JSON, which takes fewer instructions to read, see docs/internals.md.
///
/// YAML differs from JSON in escapes, tabs, characters that are not ASCII, floats, and long and repeated keys.
fn json_as_yaml(text: &str) -> Option<Value> {
    let is_plain = |byte| matches!(byte, b' '..=b'~' | b'\n');
    let differs = ["\\u", "\\/", "\"<<\""];
    if !text.starts_with('{')
        || !text.bytes().all(is_plain)
        || differs.iter().any(|part| text.contains(part))
    {
        return None;
    }
    Value::from_json_strict(text).ok().filter(is_same_in_yaml)
}

fn is_same_in_yaml(value: &Value) -> bool {
    /// YAML allows 1,024 characters from the start of a key to its colon, and an escape takes two of them.
    const LONGEST_KEY: usize = 511;
    with_room(|| match value {
        Value::Map(entries) => entries
            .iter()
            .all(|(name, value)| name.len() <= LONGEST_KEY && is_same_in_yaml(value)),
        Value::List(items) => items.iter().all(is_same_in_yaml),
        Value::Float(_) => false,
        _ => true,
    })
}

/// The message of Go's YAML decoder for fields that occur again.
pub(crate) fn yaml_faults(duplicates: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  "))
}

/// The message of Go's decoder for a JSON text that is not valid.
pub(crate) fn json_error(text: &str, error: &Error) -> String {
    fieldmanager_value::internal::go_json::error(text).unwrap_or_else(|| error.to_string())
}

/// The kind that an object names; missing parts are those of the resource.
///
/// # Errors
///
/// If the object is not a map, or a part is not a string.
pub(crate) fn declared_kind(
    object: &Value,
    otherwise: &GroupVersionKind,
) -> Result<GroupVersionKind, String> {
    const TARGET: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

    // Go decodes null into any struct without an effect, so that it names nothing.
    if object.is_null() {
        return Ok(otherwise.clone());
    }
    if object.as_map().is_none() {
        let found = json_kind(object);
        return Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {TARGET}"
        ));
    }

    // A part that is null counts as absent, as in Go.
    let text = |name: &str, field: &str| match object.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go struct field {field} of type string",
            json_kind(other)
        )),
    };
    let (version, kind) = (text("apiVersion", ".apiVersion")?, text("kind", ".kind")?);
    if version.split('/').count() > 2 {
        return Err(format!("unexpected GroupVersion string: {version}"));
    }

    // An object may lack one part only, so each is filled in by itself.
    let version = if version.is_empty() {
        otherwise.api_version().to_string()
    } else {
        version.to_owned()
    };
    let kind = if kind.is_empty() {
        &*otherwise.kind
    } else {
        kind
    };

    Ok(GroupVersionKind::from_api_version_kind(&version, kind))
}

/// The kind that an object names, whatever it is.
pub(crate) fn own_kind(object: &Value) -> GroupVersionKind {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    GroupVersionKind::from_api_version_kind(text("apiVersion"), text("kind"))
}

/// The object with the kind that it names, for objects that leave parts of it to the resource.
pub(crate) fn with_kind(object: &Value, kind: &GroupVersionKind) -> Value {
    let fields = object.as_map().cloned().unwrap_or_default();
    let parts = [
        ("apiVersion", kind.api_version().to_string()),
        ("kind", kind.kind.to_string()),
    ];
    let missing = parts
        .into_iter()
        .filter(|(name, text)| fields.get(name).and_then(Value::as_str) != Some(text.as_str()));
    let edits: Vec<_> = missing
        .map(|(name, text)| (name.into(), Some(Value::from(text.as_str()))))
        .collect();

    // An object that names its kind stays the same allocation, which later comparisons recognize.
    if edits.is_empty() {
        object.clone()
    } else {
        Value::Map(fields.with_edits(edits))
    }
}

/// The beginning of a body in an error message.
pub(crate) fn summary(bytes: &[u8]) -> String {
    const LONGEST: usize = 30;
    let shown = bytes.get(..LONGEST.min(bytes.len())).unwrap_or_default();
    let more = if bytes.len() > LONGEST { " ..." } else { "" };
    // Go shows the beginning of JSON as text, and that of any other body in hexadecimal.
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

/// The fields of an object, or none.
pub(crate) fn fields_of(value: &Value) -> Map {
    value.as_map().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_that_is_not_utf8_is_refused_with_words_of_go() {
        let refused = |bytes: &[u8]| read_yaml(bytes).err().unwrap();
        assert_eq!(refused(b"a: \xff"), "invalid leading UTF-8 octet");
        assert_eq!(refused(b"a: \xe9"), "incomplete UTF-8 octet sequence");
        assert_eq!(refused(b"a: \xe2\x28b"), "invalid trailing UTF-8 octet");

        let wide = "\u{feff}a: \u{1f600}".encode_utf16();
        let wide: Vec<u8> = wide.flat_map(u16::to_le_bytes).collect();
        let read = read_yaml(&wide).ok().unwrap();
        assert_eq!(read.value.to_json(), "{\"a\":\"\u{1f600}\"}");
    }

    #[test]
    fn json_has_the_value_of_its_yaml() {
        let long = format!("{{\"{}\": 1}}", "k".repeat(600));
        let texts = [
            r#"{"a": 1, "b": [true, null, "x: y", {}, []], "c": {"d": "- e # f", "g": "0x1F"}}"#,
            "{\"a\":-5,\n  \"b\":\"line\\nbreak \\\" \\\\ \\t\",\n\"c\":{}}\n",
            r#"{"yes": "no", "on": 9223372036854775807, "~": "null", "1": "2001-01-01", "-0": 0}"#,
            r#"{"&a": "*b", "!c": "%d", "?": ":", "": " ", "'": "@`"}"#,
        ];
        for text in texts {
            let json = json_as_yaml(text).expect(text);
            assert!(
                json.strict_eq(&from_yaml_with_duplicates(text).unwrap().0),
                "{text}"
            );
        }
        let others = [
            r#"{"a": 1.0}"#,
            r#"{"a": 1e3}"#,
            r#"{"a": -0}"#,
            r#"{"a": 9223372036854775808}"#,
            r#"{"a": "\u00e4"}"#,
            r#"{"a": "\/"}"#,
            r#"{"a": "ä"}"#,
            "{\t\"a\": 1}",
            r#"{"a": 1, "a": 2}"#,
            r#"{"<<": {"a": 1}}"#,
            "{a: 1}",
            "a: 1",
            "[]",
            &long,
        ];
        for text in others {
            assert!(json_as_yaml(text).is_none(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn json_of_any_value_has_the_value_of_its_yaml(text in "\\{\"[ -~]{0,12}\": ?(\"[ -~]{0,12}\"|-?[0-9]{1,3}|\\[\\]|\\{\"[ -~]{0,5}\":null\\})\\}") {
            if let Some(json) = json_as_yaml(&text) {
                proptest::prop_assert!(json.strict_eq(&from_yaml_with_duplicates(&text).unwrap().0), "{}", text);
            }
        }
    }
}
