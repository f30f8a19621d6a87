//! The tokens of the pages of a list, `continue`, in the form of kube-apiserver.

use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};
use fieldmanager_structural::internal::json_kind;
use fieldmanager_value::Value;
use fieldmanager_value::internal::go_json;

use super::Failure;
use crate::store::{Key, Revision};

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// Base64 as Go reads it: without padding, and with any bits after the last byte.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// The token of the page after a key, at a revision or, with -1, at the current one.
pub(super) fn token(after: &Key, revision: i64, prefix: &str) -> String {
    let prefix = prefix.trim_end_matches('/');
    let start = after.as_str().strip_prefix(prefix).unwrap_or_default();
    let start = Value::from(format!("{start}\0")).to_json();
    ENGINE.encode(format!(
        r#"{{"v":"{TOKEN_VERSION}","rv":{revision},"start":{start}}}"#
    ))
}

/// The key and the revision of a token; no revision stands for the current one.
///
/// Behaviour: `DecodeContinue` of `k8s.io/apiserver/pkg/storage`.
///
/// # Errors
///
/// 400.
pub(super) fn read_token(token: &str, prefix: &str) -> Result<(Key, Option<Revision>), Failure> {
    let refused = |detail: &str| {
        Failure::bad_request(format!(
            "invalid continue token: continue key is not valid: {detail}"
        ))
    };
    let bytes = ENGINE.decode(token).map_err(|error| {
        let at = first_fault(token, &error);
        refused(&format!("illegal base64 data at input byte {at}"))
    })?;
    let (version, revision, start) = fields(&bytes).map_err(|error| refused(&error))?;

    if version != TOKEN_VERSION {
        let detail = format!("server does not recognize this encoded version {version}");
        return Err(refused(detail.as_str()));
    }
    let fault = match (revision, start.as_str()) {
        (0, _) => "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        (_, "") => "encoded start key empty (version meta.k8s.io/v1)",
        _ => "",
    };
    if !fault.is_empty() {
        return Err(refused(fault));
    }

    // The key is that of the last item, and a zero byte.
    let name = start.strip_prefix('/').unwrap_or(&start);
    let prefix = prefix.trim_end_matches('/');
    let key = format!("{prefix}/{}", name.trim_end_matches('\0')).parse();
    let key: Key = key.map_err(|_| refused(&start))?;
    Ok((key, u64::try_from(revision).ok().and_then(Revision::new)))
}

/// The place at which Go finds a fault of base64.
fn first_fault(token: &str, error: &DecodeError) -> usize {
    match *error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
        DecodeError::InvalidLength(length) => length - length % 4,
        DecodeError::InvalidPadding => token.find('=').unwrap_or_default(),
    }
}

/// The version, the revision and the start of a token. The error is a message.
fn fields(bytes: &[u8]) -> Result<(String, i64, String), String> {
    let text = String::from_utf8_lossy(bytes);
    let token = Value::from_json(&text)
        .map_err(|error| go_json::error(&text).unwrap_or_else(|| error.to_string()))?;
    if token.as_map().is_none() && !token.is_null() {
        return Err(format!(
            "json: cannot unmarshal {} into Go value of type storage.continueToken",
            json_kind(&token)
        ));
    }

    let wrong = |name: &str, value: &Value, ty: &str| {
        let kind = json_kind(value);
        format!(
            "json: cannot unmarshal {kind} into Go struct field continueToken.{name} of type {ty}"
        )
    };
    let string = |name: &str| match token.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(other) => Err(wrong(name, other, "string")),
    };
    let revision = match token.get("rv") {
        None | Some(Value::Null) => 0,
        Some(value) => value.as_i64().ok_or_else(|| wrong("rv", value, "int64"))?,
    };
    Ok((string("v")?, revision, string("start")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of kube-apiserver.
    #[test]
    fn malformed_tokens_are_refused_with_words_of_go() {
        let refused = |token: &str| {
            let failure = read_token(token, "/registry/core/configmaps/default").unwrap_err();
            let message = failure.status.message;
            let text = message.strip_prefix("invalid continue token: continue key is not valid: ");
            text.unwrap().to_owned()
        };
        let of = |json: &str| refused(&ENGINE.encode(json));
        assert_eq!(refused("x"), "illegal base64 data at input byte 0");
        assert_eq!(refused("e30="), "illegal base64 data at input byte 3");
        assert_eq!(refused("//79Pz8/"), "illegal base64 data at input byte 0");
        assert_eq!(
            of("abc"),
            "invalid character 'a' looking for beginning of value"
        );
        assert_eq!(of("{}"), "server does not recognize this encoded version ");
        let wrong = r#"{"v":"meta.k8s.io/v1","rv":"x","start":"/c1\u0000"}"#;
        let text =
            "json: cannot unmarshal string into Go struct field continueToken.rv of type int64";
        assert_eq!(of(wrong), text);
        let outside = r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}"#;
        assert_eq!(of(outside), "../x");
    }

    #[test]
    fn a_token_has_the_key_and_the_revision_of_its_page() {
        let key: Key = "/registry/core/configmaps/default/web".parse().unwrap();
        let prefix = "/registry/core/configmaps/default";
        let read = |revision| read_token(&token(&key, revision, prefix), prefix).unwrap();
        assert_eq!(read(7), (key.clone(), Revision::new(7)));
        assert_eq!(read(-1), (key.clone(), None));
    }
}
