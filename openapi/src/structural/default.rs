//! Filling in defaults.

use std::cmp::Ordering;

use fieldmanager_value::{Map, Str, Value};

use super::walk::{Edit, check, edit_items, edit_map};
use super::{Error, Structural};

impl Structural {
    /// The object with the defaults of the schema filled in, as `Default` in the apiserver.
    ///
    /// A property gets its default where it is missing, or null without being nullable; so does an item, and a value
    /// under `additionalProperties`, that is null. Defaults inside of a default are filled in too. A default in a map
    /// that is missing does not create the map. Values of a wrong type are left alone.
    ///
    /// If nothing is filled in, nothing is allocated and the object is returned as it is. A default that is filled in
    /// is shared with the schema.
    ///
    /// # Errors
    ///
    /// [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_openapi::structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("
    /// type: object
    /// properties:
    ///   ports:
    ///     type: array
    ///     items: {type: object, properties: {protocol: {type: string, default: TCP}}}
    /// ")?)?;
    /// let object = schema.default_object(&Value::from_yaml("{ports: [{port: 80}]}")?)?;
    /// assert_eq!(object.to_json(), r#"{"ports":[{"port":80,"protocol":"TCP"}]}"#);
    /// assert!(schema.default_object(&object)?.ptr_eq(&object));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn default_object(&self, object: &Value) -> Result<Value, Error> {
        Ok(value(object, self, 0)?.unwrap_or_else(|| object.clone()))
    }
}

fn value(object: &Value, schema: &Structural, depth: usize) -> Result<Edit, Error> {
    match object {
        Value::Map(map) => {
            check(depth)?;
            fields(map, schema, depth)
        }
        Value::List(list) => {
            check(depth)?;
            let Some(items) = &schema.items else { return Ok(None) };
            edit_items(list, |_, item| present(item, items, depth))
        }
        _ => Ok(None),
    }
}

/// Goes through the fields and the properties together, both sorted by name.
fn fields(map: &Map, schema: &Structural, depth: usize) -> Result<Edit, Error> {
    let additional = schema.additional_properties.as_ref().and_then(|additional| additional.schema());
    let mut edits: Vec<(Str, Option<Value>)> = Vec::new();
    let mut properties = schema.properties.iter().peekable();
    let mut entries = map.iter().peekable();
    loop {
        let order = match (entries.peek(), properties.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((name, _)), Some((property, _))) => name.cmp(property),
        };
        let entry = if order.is_le() { entries.next() } else { None };
        let property = if order.is_ge() { properties.next() } else { None };
        let (name, edit) = match (entry, property) {
            (Some((name, found)), Some((_, property))) => (name, present(found, property, depth)?),
            (Some((name, found)), None) => match additional {
                Some(additional) => (name, present(found, additional, depth)?),
                None => continue,
            },
            (None, Some((name, property))) => match &property.generic.default {
                Some(default) => (name, Some(filled(default, property, depth)?)),
                None => continue,
            },
            (None, None) => break,
        };
        if let Some(edited) = edit {
            edits.push((name.clone(), Some(edited)));
        }
    }
    Ok(edit_map(map, edits))
}

/// A value that is there: replaced by the default if it is null and may not be.
fn present(found: &Value, schema: &Structural, depth: usize) -> Result<Edit, Error> {
    match &schema.generic.default {
        Some(default) if found.is_null() && !schema.generic.nullable => {
            Ok(Some(filled(default, schema, depth)?))
        }
        _ => value(found, schema, depth + 1),
    }
}

/// A default with the defaults inside of it.
fn filled(default: &Value, schema: &Structural, depth: usize) -> Result<Value, Error> {
    Ok(value(default, schema, depth + 1)?.unwrap_or_else(|| default.clone()))
}
