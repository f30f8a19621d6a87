//! What expressions see of a schema: resources declare their metadata.

use std::sync::Arc;

use super::{Node, Structural};

/// The length of a name. A generated suffix has at least one byte.
const NAMES: [(&str, i64); 2] = [("name", 253), ("generateName", 252)];

impl Structural {}

/// The schema in which resources, the root if it `is_resource` and those that are embedded, declare `apiVersion`, `kind`
/// and the names in `metadata`. Other schemas are shared.
///
/// Behaviour: `WithTypeAndObjectMeta` of `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model`.
///
/// ```
/// use fieldmanager_structural::internal::declare_metadata;
/// use fieldmanager_structural::Structural;
/// use fieldmanager_value::Value;
/// let schema = Structural::from_value(&Value::from_yaml("{type: object}")?)?;
/// assert!(declare_metadata(&schema, true).properties.get("kind").is_some());
/// assert!(declare_metadata(&schema, false).ptr_eq(&schema));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn declare_metadata(schema: &Structural, is_resource: bool) -> Structural {
    let below = schema.map_nodes(&|node| {
        let declares = node.extensions.embedded_resource && !declares_metadata(node);
        declares.then(|| declare_in(node))
    });
    if is_resource && !declares_metadata(&below) {
        Structural::new(declare_in(&below))
    } else {
        below
    }
}

fn declares_metadata(node: &Node) -> bool {
    let is = |property: Option<&Structural>, name: &str| {
        property.is_some_and(|property| property.generic.type_name.as_str() == name)
    };
    let metadata = node.properties.get("metadata");
    let of_metadata = |name: &str| metadata.and_then(|metadata| metadata.properties.get(name));
    is(node.properties.get("kind"), "string")
        && is(node.properties.get("apiVersion"), "string")
        && is(metadata, "object")
        && NAMES
            .iter()
            .all(|(name, _)| is(of_metadata(name), "string"))
}

/// A resource that declares its metadata in place of what it declared of it. Shorter limits of names stay.
fn declare_in(node: &Node) -> Node {
    let declared = node.properties.get("metadata");
    let names = NAMES.into_iter().map(|(name, most)| {
        let own = declared.and_then(|metadata| metadata.properties.get(name));
        let own = own.and_then(|own| own.value_validation.max_length);
        let most = own.map_or(most, |own| own.min(most));
        (name.into(), text(Some(most)))
    });
    let mut metadata = of_type("object");
    metadata.properties = names.collect();

    let edits = [
        ("apiVersion", text(None)),
        ("kind", text(None)),
        ("metadata", Structural::new(metadata)),
    ];
    let edits = edits.map(|(name, property)| (name.into(), Some(property)));
    Node {
        properties: node.properties.with_edits(edits.into()),
        ..node.clone()
    }
}

fn of_type(name: &'static str) -> Node {
    let mut node = Node::default();
    node.generic.type_name = name.into();
    node
}

fn text(max_length: Option<i64>) -> Structural {
    let mut node = of_type("string");
    if max_length.is_some() {
        Arc::make_mut(&mut node.value_validation).max_length = max_length;
    }
    Structural::new(node)
}
