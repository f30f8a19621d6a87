//! Drops nulls that are not allowed.

use fieldmanager_value::Value;
use fieldmanager_value::internal::{level, proceed};

use super::walk::{Edit, check, edit_items, edit_map};
use super::{Error, Structural};

impl Structural {
    /// Drops the fields that are null, not nullable and without a default, as `PruneNonNullableNullsWithoutDefaults` in
    /// the API server, which runs before defaulting.
    ///
    /// Null is kept in undeclared fields and in items of lists. If nothing is dropped, nothing is allocated and the
    /// same object is returned.
    ///
    /// # Errors
    ///
    /// [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("
    /// type: object
    /// properties:
    ///   a: {type: string}
    ///   b: {type: string, nullable: true}
    ///   c: {type: string, default: x}
    /// ")?)?;
    /// let object = schema.drop_nulls(&Value::from_yaml("{a: null, b: null, c: null, d: null}")?)?;
    /// assert_eq!(object.to_json(), r#"{"b":null,"c":null,"d":null}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_nulls(&self, object: &Value) -> Result<Value, Error> {
        Ok(value(object, self, 0)?.unwrap_or_else(|| object.clone()))
    }
}

fn value(object: &Value, schema: &Structural, depth: usize) -> Result<Edit, Error> {
    level(|| match object {
        _ if !proceed(1) => Ok(None),
        Value::Map(map) => {
            check(depth)?;
            let mut edits = Vec::new();
            for (name, found) in map {
                let Some(schema) = schema.field(name).schema() else {
                    continue;
                };
                if found.is_null() && !schema.generic.nullable && schema.generic.default.is_none() {
                    edits.push((name.clone(), None));
                } else if let Some(edited) = value(found, schema, depth + 1)? {
                    edits.push((name.clone(), Some(edited)));
                }
            }

            Ok(edit_map(map, edits))
        }
        Value::List(list) => {
            check(depth)?;
            let Some(items) = &schema.items else {
                return Ok(None);
            };
            edit_items(list, |_, item| value(item, items, depth + 1))
        }
        _ => Ok(None),
    })
}
