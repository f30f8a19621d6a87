//! Prunes the defaults of a schema.

use fieldmanager_value::internal::level;
use fieldmanager_value::{List, Map, Str, Value};

use super::{AdditionalProperties, Error, Node, Structural};
use crate::FieldPath;

impl Structural {}

/// Prunes the defaults of the schema and coerces their metadata, as `PruneDefaults` in the API server does before
/// it uses a schema. A default that becomes empty is removed.
///
/// Each default is pruned inside an object that contains it at its path: as the value of the field `*` under
/// `additionalProperties`, and as the only item of a list. An unchanged schema is returned as the same allocation.
///
/// # Errors
///
/// [`Error::RootDefault`], [`Error::TooDeep`].
///
/// ```
/// use fieldmanager_structural::internal::prune_defaults;
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("
/// type: object
/// properties:
///   a: {type: object, properties: {b: {type: string}}, default: {b: x, c: y}}
/// ")?)?;
/// let pruned = prune_defaults(&schema)?;
/// let default = pruned.properties.get("a").and_then(|a| a.generic.default.clone());
/// assert_eq!(default, Some(Value::from_yaml("{b: x}")?));
/// assert!(prune_defaults(&pruned)?.ptr_eq(&pruned));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prune_defaults(schema: &Structural) -> Result<Structural, Error> {
    let mut pruner = Pruner {
        root: schema,
        steps: Vec::new(),
    };
    Ok(pruner
        .node(schema)?
        .map_or_else(|| schema.clone(), Structural::new))
}

enum Step {
    Field(Str),
    Item,
}

struct Pruner<'a> {
    root: &'a Structural,
    /// The steps from the root to the position of the walk.
    steps: Vec<Step>,
}

impl Pruner<'_> {
    /// The node with its own and all nested defaults pruned; `None` if it is unchanged.
    fn node(&mut self, node: &Structural) -> Result<Option<Node>, Error> {
        level(|| {
            // The node is copied at the first change only, so an unchanged schema stays the same allocation.
            let mut out: Option<Node> = None;
            if let Some(default) = &node.generic.default {
                let pruned = self.prune(default)?;
                if !pruned.as_ref().is_some_and(|pruned| pruned.ptr_eq(default)) {
                    out.get_or_insert_with(|| (**node).clone()).generic.default = pruned;
                }
            }

            if let Some(AdditionalProperties::Schema(schema)) = &node.additional_properties
                && let Some(pruned) = self.below(Step::Field("*".into()), schema)?
            {
                out.get_or_insert_with(|| (**node).clone())
                    .additional_properties = Some(AdditionalProperties::Schema(pruned));
            }

            if let Some(items) = &node.items
                && let Some(pruned) = self.below(Step::Item, items)?
            {
                out.get_or_insert_with(|| (**node).clone()).items = Some(pruned);
            }

            // Edits of properties are collected, so that a new map is made once.
            let mut edits = Vec::new();
            for (name, property) in node.properties.iter() {
                if let Some(pruned) = self.below(Step::Field(name.clone()), property)? {
                    edits.push((name.clone(), Some(pruned)));
                }
            }

            if !edits.is_empty() {
                out.get_or_insert_with(|| (**node).clone()).properties =
                    node.properties.with_edits(edits);
            }
            Ok(out)
        })
    }

    fn below(&mut self, step: Step, node: &Structural) -> Result<Option<Structural>, Error> {
        self.steps.push(step);
        let pruned = self.node(node);
        self.steps.pop();
        Ok(pruned?.map(Structural::new))
    }

    /// The pruned default at the position of the walk.
    fn prune(&self, default: &Value) -> Result<Option<Value>, Error> {
        if self.steps.is_empty() && default.as_map().is_none() {
            return Err(Error::RootDefault);
        }
        // Pruning depends on the schemas above, so the default is put into an object that has only the path to it.
        let object = self
            .steps
            .iter()
            .rev()
            .fold(default.clone(), |inner, step| match step {
                Step::Field(name) => Map::single(name, inner).into(),
                Step::Item => List::from_iter([inner]).into(),
            });

        // The object around a default in items of the root is a list.
        if object.as_map().is_none() {
            return Err(Error::RootDefault);
        }
        // Pruning does not descend into metadata, which is coerced instead.
        let object = self
            .root
            .coerce_metadata(&FieldPath::default(), &object, true, true)?
            .object;
        let object = self.root.prune(&object, true)?.object;
        let mut found = Some(&object);

        for step in &self.steps {
            found = found.and_then(|found| match step {
                Step::Field(name) => found.get(name),
                Step::Item => found.as_list()?.get(0),
            });
        }

        // A null default is equivalent to an absent one.
        Ok(found.filter(|found| !found.is_null()).cloned())
    }
}
