//! The objects: five, with kinds and sizes that are typical of a cluster. Every call returns equal objects.

mod catalog;
mod definition;
mod endpoints;
mod node;
mod words;

use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// The types of Pod, Node, Endpoints and CustomResourceDefinition.
pub const KUBERNETES: &str = include_str!("../../schemas/kubernetes.yaml");
/// The type of the large custom resource.
pub const CATALOG: &str = include_str!("../../schemas/catalog.yaml");

/// The names of the objects, from small to large.
pub const OBJECTS: [&str; 5] = ["Pod", "Node", "CRD", "Endpoints", "Catalog"];

/// An object and its type.
#[derive(Clone, Debug)]
pub struct Object {
    /// The name that tables use.
    pub name: &'static str,
    /// The object.
    pub json: String,
    /// The name of the file of the schema.
    pub schema: &'static str,
    /// The name of its type.
    pub type_name: &'static str,
}

/// An object by its name; `None` if there is no such object.
pub fn object(name: &str) -> Option<Object> {
    let api =
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1beta1.CustomResourceDefinition";
    let (name, json, schema, type_name) = match name {
        "Pod" => ("Pod", pod(), "kubernetes", "io.k8s.api.core.v1.Pod"),
        "Node" => (
            "Node",
            node::node().to_string(),
            "kubernetes",
            "io.k8s.api.core.v1.Node",
        ),
        "CRD" => (
            "CRD",
            definition::definition().to_string(),
            "kubernetes",
            api,
        ),
        "Endpoints" => (
            "Endpoints",
            endpoints::endpoints().to_string(),
            "kubernetes",
            "io.k8s.api.core.v1.Endpoints",
        ),
        "Catalog" => (
            "Catalog",
            catalog::catalog().to_string(),
            "catalog",
            "com.example.catalog.v1.Catalog",
        ),
        _ => return None,
    };
    Some(Object {
        name,
        json,
        schema,
        type_name,
    })
}

fn pod() -> String {
    Value::from_yaml(include_str!("../../objects/pod.yaml"))
        .unwrap()
        .to_json()
}

/// The content of a schema by the name of its file.
pub fn schema_text(name: &str) -> &'static str {
    match name {
        "kubernetes" => KUBERNETES,
        "catalog" => CATALOG,
        _ => crate::sizes::SCHEMA,
    }
}

impl Object {
    /// Its type.
    pub fn ty(&self) -> Type {
        Schema::from_yaml(schema_text(self.schema))
            .unwrap()
            .type_named(self.type_name)
            .unwrap()
    }

    /// Parses the object again. The result shares nothing with other results.
    pub fn read(&self, ty: &Type, duplicates: Duplicates) -> TypedValue {
        typed(&self.json, ty, duplicates)
    }
}

/// Parses JSON as a value of a type.
pub fn typed(json: &str, ty: &Type, duplicates: Duplicates) -> TypedValue {
    TypedValue::new(Value::from_json(json).unwrap(), ty.clone(), duplicates).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes that the documentation names.
    #[test]
    fn objects_have_the_documented_types_and_sizes() {
        let sizes = [
            ("Pod", 2.7),
            ("Node", 10.0),
            ("CRD", 114.0),
            ("Endpoints", 180.0),
            ("Catalog", 370.0),
        ];
        for (name, kilobytes) in sizes {
            let object = object(name).unwrap();
            object.read(&object.ty(), Duplicates::Refuse);
            let length = object.json.len() as f64 / 1000.0;
            assert!(
                (length - kilobytes).abs() / kilobytes < 0.05,
                "{name} has {length} KB"
            );
        }
    }
}
