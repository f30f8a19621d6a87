//! Which rules a schema must follow.

/// The rules that the API server leaves out for a definition that violated them before, and what it knows about the
/// schema.
///
/// ```
/// use fieldmanager_structural::internal::{SchemaRules, check_schema};
/// use fieldmanager_structural::FieldPath;
/// use fieldmanager_value::Value;
/// let schema = Value::from_yaml("{type: object, properties: {a: {type: text}}}")?;
/// let all = SchemaRules::default();
/// assert_eq!(check_schema(&schema, &FieldPath::root("schema"), all).len(), 1);
/// let ratcheted = SchemaRules { types: false, ..all };
/// assert_eq!(check_schema(&schema, &FieldPath::root("schema"), ratcheted), []);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SchemaRules {
    /// The subresource `status` is enabled, so that some keywords are forbidden at the root.
    pub beside_status: bool,
    /// Types must be known.
    pub types: bool,
    /// The items of sets must be atomic.
    pub atomic_sets: bool,
    /// The keys of lists of type map must be present and not null.
    pub list_keys: bool,
    /// The schema can be read as a structural one, so that the paths in its validation rules can be followed.
    pub is_readable: bool,
}

impl Default for SchemaRules {
    fn default() -> Self {
        SchemaRules {
            beside_status: false,
            types: true,
            atomic_sets: true,
            list_keys: true,
            is_readable: true,
        }
    }
}
