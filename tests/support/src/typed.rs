//! Values of deduced types.

use fieldmanager_schema::Schema;
use fieldmanager_typed::{Duplicates, TypedValue, ValidationErrors};
use fieldmanager_value::Value;

/// The value of a YAML document, with deduced types.
///
/// # Errors
///
/// As [`TypedValue::new`].
///
/// # Panics
///
/// If the document is not YAML.
pub fn typed(yaml: &str) -> Result<TypedValue, ValidationErrors> {
    let value = Value::from_yaml(yaml).expect("the document is YAML");
    TypedValue::new(value, Schema::deduced(), Duplicates::Refuse)
}

/// An object that does not exist, of a deduced type.
pub fn nothing() -> TypedValue {
    TypedValue::null(Schema::deduced())
}
