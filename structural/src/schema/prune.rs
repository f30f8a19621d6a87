//! Prunes fields that the schema does not declare.

use fieldmanager_value::Value;
use fieldmanager_value::internal::{level, proceed};

use super::trail::Trail;
use super::walk::{Edit, Field, check, edit_items, edit_map, is_meta};
use super::{Error, Structural};
use crate::FieldPath;

/// An object after [pruning](Structural::prune).
///
/// ```
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: object, properties: {a: {type: string}}}")?)?;
/// let pruned = schema.prune(&Value::from_yaml("{a: x, b: y}")?, false)?;
/// assert_eq!((pruned.object.to_json().as_str(), pruned.paths.as_slice()), (r#"{"a":"x"}"#, &["b".to_owned()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pruned {
    /// The pruned object.
    pub object: Value,
    /// The paths of the removed fields, such as `spec.items[0].colour`, sorted. The removal of `apiVersion`, `kind` or
    /// `metadata` from the root is not reported.
    pub paths: Vec<String>,
}

impl Structural {
    /// Removes the fields that the schema does not declare, as `PruneWithOptions` in the API server.
    ///
    /// Keeps the fields in `properties`, all fields of a map with `additionalProperties` (even `false`), all unknown
    /// fields under `x-kubernetes-preserve-unknown-fields`, and `apiVersion`, `kind` and `metadata` of an embedded
    /// resource without descending into them. With `is_resource_root`, the object itself is such a resource. A value
    /// whose type differs from the schema is not an error.
    ///
    /// If nothing is removed, nothing is allocated and the same object is returned.
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
    ///   list: {type: array, items: {type: object, properties: {a: {type: string}}}}
    /// ")?)?;
    /// let object = Value::from_yaml("{kind: A, list: [{a: x}, {b: y}]}")?;
    /// let pruned = schema.prune(&object, true)?;
    /// assert_eq!(pruned.object.to_json(), r#"{"kind":"A","list":[{"a":"x"},{}]}"#);
    /// assert_eq!(pruned.paths, ["list[1].b"]);
    /// let again = schema.prune(&pruned.object, true)?;
    /// assert!(again.object.ptr_eq(&pruned.object));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prune(&self, object: &Value, is_resource_root: bool) -> Result<Pruned, Error> {
        let mut walk = Walk { paths: Vec::new() };
        let root = FieldPath::default();
        let root = Trail::Root(&root);
        // The caller knows whether the root is a resource, which its schema need not say.
        let mut mode = Mode::for_schema(Some(self));
        mode.is_resource |= is_resource_root;
        let edit = walk.value(object, Some(self), mode, &root, 0)?;
        walk.paths.sort_unstable();

        Ok(Pruned {
            object: edit.unwrap_or_else(|| object.clone()),
            paths: walk.paths,
        })
    }
}

struct Walk {
    paths: Vec<String>,
}

/// The mode of the walk at a value.
#[derive(Clone, Copy, PartialEq)]
struct Mode {
    /// Whether `apiVersion`, `kind` and `metadata` of the value are kept.
    is_resource: bool,
    /// Whether unknown fields of the value are kept.
    keeps_unknown: bool,
}

impl Mode {
    fn for_schema(schema: Option<&Structural>) -> Mode {
        Mode {
            is_resource: schema.is_some_and(|schema| schema.extensions.embedded_resource),
            keeps_unknown: schema.is_some_and(|schema| schema.extensions.preserve_unknown_fields),
        }
    }
}

impl Walk {
    fn value(
        &mut self,
        value: &Value,
        schema: Option<&Structural>,
        mode: Mode,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Result<Edit, Error> {
        level(|| {
            match value {
                _ if !proceed(1) => Ok(None),
                Value::Map(map) => {
                    check(depth)?;
                    let mut edits = Vec::new();
                    for (name, value) in map {
                        if mode.is_resource && is_meta(name) {
                            continue;
                        }
                        let here = Trail::Child(trail, name);
                        match schema.map_or(Field::Unknown, |schema| schema.field(name)) {
                            Field::Unknown if mode.keeps_unknown => {}
                            Field::Unknown => {
                                if !(is_meta(name) && matches!(trail, Trail::Root(_))) {
                                    self.paths.push(here.path().to_string());
                                }
                                edits.push((name.clone(), None));
                            }
                            field => {
                                let schema = field.schema();
                                if let Some(value) = self.value(
                                    value,
                                    schema,
                                    Mode::for_schema(schema),
                                    &here,
                                    depth + 1,
                                )? {
                                    edits.push((name.clone(), Some(value)));
                                }
                            }
                        }
                    }

                    Ok(edit_map(map, edits))
                }
                Value::List(list) => {
                    check(depth)?;
                    let items = schema.and_then(|schema| schema.items.as_ref());
                    if mode.keeps_unknown && items.is_none() {
                        return Ok(None);
                    }
                    let mut below = Mode::for_schema(items);

                    // If a list keeps unknown fields, its items keep them too.
                    below.keeps_unknown |= mode.keeps_unknown;
                    edit_items(list, |at, item| {
                        self.value(item, items, below, &Trail::Index(trail, at), depth + 1)
                    })
                }
                _ => Ok(None),
            }
        })
    }
}
