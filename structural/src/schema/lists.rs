//! Uniqueness in lists of the types set and map.

use fieldmanager_value::internal::{level, proceed};
use fieldmanager_value::{List, Value};

use super::trail::Trail;
use super::walk::{check, check_value};
use super::{Error, Structural, duplicates};
use crate::{FieldError, FieldPath};

impl Structural {
    /// The faults of the object's lists with respect to `x-kubernetes-list-type`, as reported by
    /// `ValidateListSetsAndMaps` in the API server. `path` is the path of the object.
    ///
    /// Each repeated item of a set, and each repeated key of a list of type map, is reported once. Items of a list of
    /// type map must be maps or null. Scalars are compared with their type, so `1` and `1.0` are distinct; lists, maps
    /// and multiple keys are compared by their JSON.
    ///
    /// Errors are in the order of the object; those of the API server are in random order.
    ///
    /// # Errors
    ///
    /// [`Error::TooDeep`].
    ///
    /// ```
    /// use fieldmanager_structural::FieldPath;
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("
    /// type: object
    /// properties:
    ///   tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
    ///   ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port], items: {type: object}}
    /// ")?)?;
    /// let object = Value::from_yaml("{tags: [a, b, a, a], ports: [{port: 80}, {port: 80}]}")?;
    /// let errors = schema.validate_lists(&FieldPath::default(), &object)?;
    /// let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    /// assert_eq!(errors, [r#"ports[1]: Duplicate value: {"port":80}"#, r#"tags[2]: Duplicate value: "a""#]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_lists(
        &self,
        path: &FieldPath,
        object: &Value,
    ) -> Result<Vec<FieldError>, Error> {
        let mut errors = Vec::new();
        // As in the API server, only a map can be the root.
        if matches!(object, Value::Map(_)) {
            value(object, self, &Trail::Root(path), 0, &mut errors)?;
        }
        Ok(errors)
    }
}

fn value(
    object: &Value,
    schema: &Structural,
    trail: &Trail<'_>,
    depth: usize,
    errors: &mut Vec<FieldError>,
) -> Result<(), Error> {
    level(|| {
        match object {
            _ if !proceed(1) => {}
            Value::Map(map) => {
                check(depth)?;
                // As in the API server, a field with a schema in both is checked twice.
                if let Some(schema) = schema
                    .additional_properties
                    .as_ref()
                    .and_then(|additional| additional.schema())
                {
                    for (name, found) in map {
                        value(found, schema, &Trail::Key(trail, name), depth + 1, errors)?;
                    }
                }

                if !schema.properties.is_empty() {
                    for (name, found) in map {
                        if let Some(schema) = schema.property(name) {
                            value(found, schema, &Trail::Child(trail, name), depth + 1, errors)?;
                        }
                    }
                }
            }
            Value::List(list) => {
                check(depth)?;
                match schema.extensions.list_type.as_deref() {
                    Some("set") => set(list, trail, depth, errors)?,
                    Some("map") => map(list, schema, trail, depth, errors)?,
                    _ => {}
                }

                if let Some(items) = &schema.items {
                    for (at, item) in list.iter().enumerate() {
                        value(item, items, &Trail::Index(trail, at), depth + 1, errors)?;
                    }
                }
            }
            _ => {}
        }

        Ok(())
    })
}

/// Comparison walks whole items, so their depth must be checked first.
fn check_items(list: &List, depth: usize) -> Result<(), Error> {
    list.iter()
        .try_for_each(|item| check_value(item, depth + 1))
}

fn set(
    list: &List,
    trail: &Trail<'_>,
    depth: usize,
    errors: &mut Vec<FieldError>,
) -> Result<(), Error> {
    check_items(list, depth)?;
    // Positions are sorted instead of items, since the error names the place of the duplicate.
    let order = |a, b| match (list.get(a), list.get(b)) {
        (Some(a), Some(b)) => duplicates::item_order(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };

    for at in duplicates::positions(list.len(), order) {
        if let Some(item) = list.get(at) {
            errors.push(FieldError::duplicate(
                Trail::Index(trail, at).path(),
                item.clone(),
            ));
        }
    }

    Ok(())
}

fn map(
    list: &List,
    schema: &Structural,
    trail: &Trail<'_>,
    depth: usize,
    errors: &mut Vec<FieldError>,
) -> Result<(), Error> {
    // The keys of items that are not maps cannot be compared, so the list is not checked further.
    for (at, item) in list.iter().enumerate() {
        if !matches!(item, Value::Map(_) | Value::Null) {
            let detail = "must be an object for an array of list-type map";
            errors.push(FieldError::invalid(
                Trail::Index(trail, at).path(),
                item.clone(),
                detail,
            ));
            return Ok(());
        }
    }

    check_items(list, depth)?;
    // The comparison looks up each key in each item, so their product counts as work.
    let keys = schema.extensions.list_map_keys.as_slice();
    if !proceed(list.len().saturating_mul(keys.len()) as u64) {
        return Ok(());
    }
    let order = |a, b| match (list.get(a), list.get(b)) {
        (Some(a), Some(b)) => duplicates::key_order(a, b, keys),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };

    for at in duplicates::positions(list.len(), order) {
        if let Some(item) = list.get(at) {
            errors.push(FieldError::duplicate(
                Trail::Index(trail, at).path(),
                duplicates::keys_of(item, keys),
            ));
        }
    }

    Ok(())
}
