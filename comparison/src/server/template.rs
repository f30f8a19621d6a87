//! The placeholder of the name of the object in steps.

use serde_json::Value as Json;

use crate::json::with_strings;

/// The placeholder of the name of the object.
pub(super) const NAME: &str = "%NAME%";

/// A value with the name of the object instead of its placeholder.
pub(super) fn named(value: &Json, name: &str) -> Json {
    with_strings(value, &|text| text.replace(NAME, name))
}
