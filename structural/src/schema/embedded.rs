//! The fields that every embedded resource has.

use std::sync::Arc;

use fieldmanager_value::{Map, Str, Value};

use super::{Generic, Node, Structural};

const API_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

impl Structural {
    /// Sets `apiVersion`, `kind` and `metadata` in every resource with `x-kubernetes-embedded-resource`, replacing the
    /// declared properties, and requires the first two. `metadata` is an object without further constraints.
    ///
    /// This is the form in which the API server publishes embedded resources, except that its `metadata` is a
    /// reference, which [`to_published_value`](Structural::to_published_value) can write.
    ///
    /// ```
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    /// let schema = Structural::from_value(&Value::from_yaml("
    /// {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
    /// ")?)?;
    /// let unfolded = schema.unfold_embedded();
    /// assert_eq!(unfolded.properties.get("kind").unwrap().generic.type_name.as_str(), "string");
    /// assert_eq!(unfolded.value_validation.required, ["kind", "apiVersion"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn unfold_embedded(&self) -> Structural {
        self.map_nodes(&|node| {
            if !node.extensions.embedded_resource {
                return None;
            }
            let mut out = node.clone();
            for (name, type_name, description) in [
                ("apiVersion", "string", API_VERSION),
                ("kind", "string", KIND),
                ("metadata", "object", METADATA),
            ] {
                let generic = Generic {
                    type_name: type_name.into(),
                    description: description.into(),
                    ..Generic::default()
                };
                let property = Structural::new(Node { generic, ..Node::default() });
                out.properties.insert(name.into(), property);
            }
            let required = with_kind(&out.value_validation.required);
            Arc::make_mut(&mut out.value_validation).required = required;
            (out != *node).then_some(out)
        })
    }
}

/// The properties and the required fields of an embedded resource, given its own.
pub(super) fn publish(mut properties: Map, required: &[Str], metadata: &Value) -> (Map, Vec<Str>) {
    for (name, description) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        properties.insert(name, Map::from_iter([("description", description), ("type", "string")]));
    }
    properties.insert("metadata", metadata.clone());
    (properties, with_kind(required))
}

fn with_kind(required: &[Str]) -> Vec<Str> {
    let mut out = required.to_vec();
    for name in ["kind", "apiVersion"] {
        if !required.iter().any(|other| *other == name) {
            out.push(name.into());
        }
    }
    out
}
