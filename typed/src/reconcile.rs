//! Adaptation of field sets to changed schemas.

use fieldmanager_fieldpath::internal::SetBuilder;
use fieldmanager_fieldpath::{PathElement, Set};
use fieldmanager_schema::internal::TypeId;
use fieldmanager_schema::{Schema, Type};

use crate::shape::{Shape, shape};

/// Returns the set adapted to the type, or `None` if it needs no change.
///
/// An owner of a part of a list or map that is now atomic becomes an owner of the entire list or map. The opposite
/// change has no effect, as in the Go package: the owner of the entire list or map keeps only that path. Maps without a
/// declared structure are not changed.
///
/// ```
/// use fieldmanager_fieldpath::Set;
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types:
/// - name: root
///   map:
///     fields:
///     - name: selector
///       type: {map: {elementType: {scalar: string}, elementRelationship: atomic}}
/// ")?;
/// let root = schema.type_named("root").unwrap();
/// let granular = Set::from_json(br#"{"f:selector":{"f:app":{}}}"#)?;
/// let atomic = fieldmanager_typed::internal::reconcile(&granular, &root).unwrap();
/// assert_eq!(atomic.to_json(), r#"{"f:selector":{}}"#);
/// assert_eq!(fieldmanager_typed::internal::reconcile(&atomic, &root), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Behaviour: `ReconcileFieldSetWithSchema` of `sigs.k8s.io/structured-merge-diff/v6/typed`.
pub fn reconcile(set: &Set, ty: &Type) -> Option<Set> {
    let below = below(ty.schema(), ty.id())?;
    children(ty.schema(), &below, set)
}

/// The types of the children of a granular type.
enum Below<'s> {
    Fields(&'s fieldmanager_schema::internal::MapType),
    Items(TypeId),
}

/// The types of the children of a type, or `None` if it is atomic, a scalar, or without structure.
fn below(schema: &Schema, ty: TypeId) -> Option<Below<'_>> {
    match shape(schema.atom(ty), None).1 {
        Shape::Map(map) if !map.untyped && !map.atomic => Some(Below::Fields(map)),
        Shape::List(list) if !list.atomic => Some(Below::Items(list.element)),
        _ => None,
    }
}

fn is_atomic(schema: &Schema, ty: TypeId) -> bool {
    match shape(schema.atom(ty), None).1 {
        Shape::Map(map) => !map.untyped && map.atomic,
        Shape::List(list) => list.atomic,
        _ => false,
    }
}

/// Returns the set adapted to the types of its children, or `None` if it needs no change.
fn children(schema: &Schema, types: &Below<'_>, set: &Set) -> Option<Set> {
    let mut edits: Vec<(&PathElement, bool, Set)> = Vec::new();
    for (element, node) in set.nodes() {
        let old = node.children();

        // A path without anything below it is the same in an atomic and in a granular type.
        if old.is_empty() {
            continue;
        }
        let ty = match (types, element) {
            (Below::Fields(map), PathElement::Field(name)) => map.type_of(name),
            (Below::Fields(map), _) => map.element,
            (Below::Items(element), _) => Some(*element),
        };
        let Some(ty) = ty else { continue };

        // The owner of something below a type that is now atomic owns it as a whole.
        if is_atomic(schema, ty) {
            edits.push((element, true, Set::new()));
        } else if let Some(new) = below(schema, ty).and_then(|types| children(schema, &types, old))
        {
            edits.push((element, node.is_member(), new));
        }
    }

    // Most sets need no change, so a new one is built only now.
    if edits.is_empty() {
        return None;
    }
    let mut out = SetBuilder::default();
    let mut edits = edits.into_iter().peekable();

    for (element, node) in set.nodes() {
        match edits.next_if(|(edited, ..)| std::ptr::eq(*edited, element)) {
            Some((_, member, new)) => out.push(element.clone(), member, new),
            None => out.push(element.clone(), node.is_member(), node.children().clone()),
        }
    }
    Some(out.build())
}
