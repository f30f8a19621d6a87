//! Shared parts of the walks over objects.

use fieldmanager_value::{List, MAX_DEPTH, Map, Str, Value};

use super::{Error, Node, Structural};

/// Returns an error if a list or map at `depth`, counted from 0, is too deep.
pub(super) fn check(depth: usize) -> Result<(), Error> {
    if depth < MAX_DEPTH {
        Ok(())
    } else {
        Err(Error::TooDeep)
    }
}

/// Returns an error if the value nests too deeply at its position.
pub(super) fn check_value(value: &Value, depth: usize) -> Result<(), Error> {
    match value {
        Value::List(list) => {
            check(depth)?;
            list.iter()
                .try_for_each(|item| check_value(item, depth + 1))
        }
        Value::Map(map) => {
            check(depth)?;
            map.iter()
                .try_for_each(|(_, value)| check_value(value, depth + 1))
        }
        _ => Ok(()),
    }
}

/// The result of a walk for a value: the new value, or `None` if it is unchanged. An unchanged value allocates nothing.
pub(super) type Edit = Option<Value>;

/// The map with its edits; `None` without edits.
pub(super) fn edit_map(map: &Map, edits: Vec<(Str, Option<Value>)>) -> Edit {
    (!edits.is_empty()).then(|| Value::Map(map.with_edits(edits)))
}

/// Applies a function of index and item to each item.
pub(super) fn edit_items(
    list: &List,
    mut item_edit: impl FnMut(usize, &Value) -> Result<Edit, Error>,
) -> Result<Edit, Error> {
    let mut edits = Vec::new();
    for (at, item) in list.iter().enumerate() {
        if let Some(edited) = item_edit(at, item)? {
            edits.push((at, edited));
        }
    }
    Ok((!edits.is_empty()).then(|| Value::List(list.with_edits(edits, Vec::new()))))
}

/// The schema that applies to a field.
pub(super) enum Field<'a> {
    /// The field is one of the properties.
    Property(&'a Structural),
    /// `additionalProperties` applies to the field. A boolean has no schema.
    Additional(Option<&'a Structural>),
    /// The field is undeclared.
    Unknown,
}

impl Node {
    /// The declared property with a name.
    pub(crate) fn property(&self, name: &str) -> Option<&Structural> {
        let (_, property) = self.properties.get_named(name)?;
        Some(property)
    }

    pub(super) fn field(&self, name: &str) -> Field<'_> {
        if let Some(property) = self.property(name) {
            return Field::Property(property);
        }
        match &self.additional_properties {
            Some(additional) => Field::Additional(additional.schema()),
            None => Field::Unknown,
        }
    }
}

impl<'a> Field<'a> {
    /// The schema, if there is one.
    pub(super) fn schema(self) -> Option<&'a Structural> {
        match self {
            Field::Property(schema) => Some(schema),
            Field::Additional(schema) => schema,
            Field::Unknown => None,
        }
    }
}

/// Whether a field is one of the three fields of every resource.
pub(super) fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}
