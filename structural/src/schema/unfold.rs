//! Unfolds extensions into keywords that any validator understands.

use std::sync::Arc;

use fieldmanager_value::Value;
use fieldmanager_value::internal::level;

use super::validate::{is_all_of_pattern, is_any_of_pattern};
use super::{
    AdditionalProperties, NestedValueValidation, Node, Structural, ValueValidation, union,
};

impl Structural {
    /// Applies a function to each node, from the leaves to the root. The function returns the new node, or `None` if
    /// the node is unchanged. Unchanged nodes are shared.
    pub(super) fn map_nodes(&self, f: &dyn Fn(&Node) -> Option<Node>) -> Structural {
        level(|| {
            // The node is copied when the first part below changes, so unchanged schemas stay shared.
            let mut node: Option<Node> = None;
            if let Some(items) = &self.items {
                let mapped = items.map_nodes(f);
                if !mapped.ptr_eq(items) {
                    node.get_or_insert_with(|| (**self).clone()).items = Some(mapped);
                }
            }

            if let Some(AdditionalProperties::Schema(schema)) = &self.additional_properties {
                let mapped = schema.map_nodes(f);
                if !mapped.ptr_eq(schema) {
                    node.get_or_insert_with(|| (**self).clone())
                        .additional_properties = Some(AdditionalProperties::Schema(mapped));
                }
            }

            let mut edits = Vec::new();
            for (name, property) in self.properties.iter() {
                let mapped = property.map_nodes(f);
                if !mapped.ptr_eq(property) {
                    edits.push((name.clone(), Some(mapped)));
                }
            }

            if !edits.is_empty() {
                node.get_or_insert_with(|| (**self).clone()).properties =
                    self.properties.with_edits(edits);
            }
            // The function sees the node with its new parts, so changes below are kept if it changes the node as well.
            match f(node.as_ref().unwrap_or(self)).or(node) {
                Some(node) => Structural::new(node),
                None => self.clone(),
            }
        })
    }
}

/// Expresses the extensions of the schema in standard keywords as well; the extensions stay.
///
/// - `x-kubernetes-int-or-string` becomes `anyOf: [{type: integer}, {type: string}]`, or a first `allOf` that
///   contains it if there is an `anyOf`, as `Unfold` in the API server does.
/// - A union in list form becomes `oneOf: [{required: [member]}, ..]`, or an `allOf` that contains it if there is a
///   `oneOf` or more than one union. Its discriminator becomes a string with an `enum`, as in the proposal.
/// - A union in the form of a map on the discriminator becomes an `enum` of the discriminator.
///
/// The operation is idempotent. A schema without such extensions is returned as the same allocation.
///
/// ```
/// use fieldmanager_structural::internal::unfold;
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{x-kubernetes-int-or-string: true}")?)?;
/// assert_eq!(
///     unfold(&schema).to_value().to_json(),
///     r#"{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}"#
/// );
/// let schema = Structural::from_value(&Value::from_yaml("
/// type: object
/// x-kubernetes-unions: [{discriminator: kind, fields-to-discriminateBy: {a: A, b: B}}]
/// ")?)?;
/// let unfolded = unfold(&schema).to_value();
/// assert_eq!(unfolded.get("oneOf").unwrap().to_json(), r#"[{"required":["a"]},{"required":["b"]}]"#);
/// assert_eq!(
///     unfolded.get("properties").unwrap().to_json(),
///     r#"{"kind":{"enum":["A","B"],"type":"string"}}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn unfold(schema: &Structural) -> Structural {
    schema.map_nodes(&unfold_node)
}

fn unfold_node(node: &Node) -> Option<Node> {
    // A schema that already has the pattern is not unfolded again, which keeps the operation idempotent.
    let is_int_or_string =
        node.extensions.int_or_string && !is_any_of_pattern(node) && !is_all_of_pattern(node);
    if !is_int_or_string && node.extensions.unions.is_none() {
        return None;
    }
    let mut out = node.clone();

    if is_int_or_string {
        let types = ["integer", "string"]
            .map(NestedValueValidation::with_type)
            .to_vec();
        let validation = Arc::make_mut(&mut out.value_validation);
        if validation.any_of.is_empty() {
            validation.any_of = types;
        } else {
            let types = restriction(ValueValidation {
                any_of: types,
                ..ValueValidation::default()
            });
            validation.all_of.insert(0, types);
        }
    }

    if let Some(unions) = &node.extensions.unions {
        restrict_discriminator(&mut out, union::discriminator_values(unions));
        for union in union::read_list(unions) {
            unfold_union(&mut out, union);
        }
    }
    (out != *node).then_some(out)
}

fn restriction(value_validation: ValueValidation) -> NestedValueValidation {
    let mut out = NestedValueValidation::default();
    out.value_validation = value_validation;
    out
}

fn unfold_union(node: &mut Node, union: union::Union) {
    let required = |member| {
        restriction(ValueValidation {
            required: vec![member],
            ..ValueValidation::default()
        })
    };
    let one_of: Vec<_> = union.members.into_iter().map(required).collect();
    // The union may be unfolded already, in one of the two forms below. Then nothing is added.
    let old = &node.value_validation;
    let and = restriction(ValueValidation {
        one_of: one_of.clone(),
        ..ValueValidation::default()
    });

    if old.one_of != one_of && !old.all_of.contains(&and) {
        let validation = Arc::make_mut(&mut node.value_validation);
        if validation.one_of.is_empty() {
            validation.one_of = one_of;
        } else {
            validation.all_of.push(and);
        }
    }

    // A discriminator without a type or a declaration becomes a string, so that its values are checked.
    let Some(name) = union.discriminator else {
        return;
    };
    let mut discriminator = match node.properties.get(name.as_str()) {
        Some(property) => (**property).clone(),
        None => Node::default(),
    };
    if discriminator.generic.type_name.is_empty() {
        discriminator.generic.type_name = "string".into();
    }
    restrict_discriminator(&mut discriminator, union.values);
    node.properties.insert(name, Structural::new(discriminator));
}

/// Restricts a discriminator to its values.
fn restrict_discriminator(node: &mut Node, values: Vec<Value>) {
    let old = &node.value_validation;
    let and = restriction(ValueValidation {
        enumeration: values.clone(),
        ..ValueValidation::default()
    });
    // The order of values does not matter, so an enumeration in another order is kept.
    let same =
        |old: &[Value]| old.len() == values.len() && values.iter().all(|value| old.contains(value));
    if values.is_empty() || same(&old.enumeration) || old.all_of.contains(&and) {
        return;
    }

    let validation = Arc::make_mut(&mut node.value_validation);
    if validation.enumeration.is_empty() {
        validation.enumeration = values;
    } else {
        validation.all_of.push(and);
    }
}
