//! What expressions see of a schema.

use fieldmanager_structural::Structural;
use fieldmanager_value::internal::level;

/// Whether CEL has a type for a schema. The API server ignores the rules of others.
///
/// ```
/// use fieldmanager_cel::internal::is_exposed;
/// use fieldmanager_structural::Structural;
/// assert!(!is_exposed(&Structural::default()));
/// ```
pub fn is_exposed(schema: &Structural) -> bool {
    level(|| match schema.generic.type_name.as_str() {
        _ if schema.extensions.int_or_string => true,
        "array" => schema.items.as_ref().is_some_and(is_exposed),
        "object" => match schema
            .additional_properties
            .as_ref()
            .and_then(|all| all.schema())
        {
            Some(inner) => is_exposed(inner),
            None => true,
        },
        "string" | "boolean" | "number" | "integer" => true,
        _ => false,
    })
}
