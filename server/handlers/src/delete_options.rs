//! The options of a deletion.

use fieldmanager_builtin::Kind;
use fieldmanager_managedfields::Status;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use crate::body::{Media, declared_kind, read_json, read_protobuf, read_yaml};
use crate::kind::builtin::not_registered;

/// Reads the `DeleteOptions` of a body, which may name any group and version. Unknown and repeated fields are not reported,
/// as in Go.
///
/// # Errors
///
/// 400 if the body is malformed or of another kind, 415.
pub fn read_delete_options(content_type: &str, bytes: &[u8]) -> Result<Value, Status> {
    let own = GroupVersionKind::new("meta.k8s.io", "v1", "DeleteOptions");
    let body = match Media::of(content_type, true)? {
        Media::Json => read_json(bytes)
            .map_err(|error| format!("couldn't get version/kind; json parse error: {error}")),
        Media::Yaml => read_yaml(bytes).map_err(|error| format!("yaml: {error}")),
        Media::Protobuf => read_protobuf(bytes, &own).map_err(|error| error.to_string()),
    };
    let body = body.map_err(Status::bad_request)?;

    let declared = declared_kind(&body.value, &own).map_err(Status::bad_request)?;
    let kind = Kind::of(&own).filter(|_| declared.kind == own.kind);
    let kind = kind.ok_or_else(|| Status::bad_request(not_registered(&declared)))?;
    let decoded = kind.decode(&body.value);
    let decoded = decoded.map_err(|error| Status::bad_request(error.to_string()))?;
    Ok(decoded.object)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of kube-apiserver.
    #[test]
    fn options_of_wrong_types_and_other_kinds_are_refused() {
        let refused = |body: &str| {
            let read = read_delete_options("application/json", body.as_bytes());
            read.unwrap_err().message
        };
        assert_eq!(
            refused(r#"{"gracePeriodSeconds":"x"}"#),
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        );
        assert_eq!(
            refused(r#"{"preconditions":{"uid":1}}"#),
            "json: cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID"
        );
        assert_eq!(
            refused(r#"{"dryRun":"All"}"#),
            "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string"
        );
        assert_eq!(
            refused(r#"{"kind":"ConfigMap","apiVersion":"v1"}"#),
            r#"no kind "ConfigMap" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#
        );
        assert_eq!(
            refused("{"),
            "couldn't get version/kind; json parse error: unexpected end of JSON input"
        );
    }

    #[test]
    fn options_may_name_any_group_and_repeat_fields() {
        let bodies = [
            (
                "application/json",
                r#"{"kind":"DeleteOptions","apiVersion":"nope/v1","gracePeriodSeconds":5,"x":1}"#,
            ),
            (
                "application/json",
                r#"{"gracePeriodSeconds":1,"gracePeriodSeconds":5}"#,
            ),
            (
                "application/yaml",
                "gracePeriodSeconds: 1\ngracePeriodSeconds: 5\n",
            ),
        ];
        for (content_type, body) in bodies {
            let options = read_delete_options(content_type, body.as_bytes()).unwrap();
            let grace = options.get("gracePeriodSeconds").and_then(Value::as_i64);
            assert_eq!(grace, Some(5), "{body}");
        }
    }
}
