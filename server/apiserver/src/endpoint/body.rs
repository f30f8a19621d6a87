//! Bodies that are not objects to store.

use fieldmanager_handlers::internal::Media;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

use super::{Call, Failure};

/// A body that is not an object to store: the options of a deletion, a review, a binding. In protobuf, a body that names no
/// kind has the given one.
pub(super) fn read_body(call: &Call<'_>, kind: &GroupVersionKind) -> Result<Value, Failure> {
    fn malformed(error: impl ToString) -> Failure {
        Failure::bad_request(error.to_string())
    }
    let text = || std::str::from_utf8(call.body).map_err(malformed);
    match Media::of(call.content_type, true)? {
        Media::Json => Value::from_json(text()?).map_err(malformed),
        Media::Yaml => Value::from_yaml(text()?).map_err(malformed),
        Media::Protobuf => fieldmanager_builtin::from_protobuf(call.body, kind).map_err(malformed),
    }
}
