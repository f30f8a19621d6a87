//! Schemas and objects that nest to a given depth.

use fieldmanager_value::{MAX_DEPTH, Map, Value};

/// A map of these entries.
pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().collect::<Map>())
}

/// How a schema contains another one.
#[derive(Clone, Copy, Debug)]
pub enum NestedSchema {
    /// As a property.
    Properties,
    /// As the schema of the values of a map.
    Additional,
    /// As the schema of the items of a list.
    Items,
    /// As a property of an embedded resource.
    Resources,
}

impl NestedSchema {
    /// Each of them.
    pub const ALL: [NestedSchema; 4] =
        [NestedSchema::Properties, NestedSchema::Additional, NestedSchema::Items, NestedSchema::Resources];

    fn wrap(self, below: Value) -> Value {
        match self {
            NestedSchema::Properties => map([
                ("type", "object".into()),
                (
                    "properties",
                    map([("a", below), ("b", map([("default", 1.into()), ("type", "integer".into())]))]),
                ),
            ]),
            NestedSchema::Additional => map([("type", "object".into()), ("additionalProperties", below)]),
            NestedSchema::Items => map([
                ("type", "array".into()),
                ("x-kubernetes-list-type", "set".into()),
                ("nullable", true.into()),
                ("items", below),
            ]),
            NestedSchema::Resources => map([
                ("type", "object".into()),
                ("x-kubernetes-embedded-resource", true.into()),
                ("properties", map([("a", below)])),
            ]),
        }
    }

    /// A schema of strings below that many levels of this form.
    pub fn schema(self, levels: usize) -> Value {
        (0..levels).fold(map([("type", "string".into())]), |below, _| self.wrap(below))
    }

    /// An object of a schema of this form, with that many levels.
    pub fn object(self, levels: usize) -> Value {
        (0..levels).fold("x".into(), |below, _| match self {
            NestedSchema::Items => Value::from(vec![below]),
            NestedSchema::Resources => map([
                ("a", below),
                ("apiVersion", "v1".into()),
                ("kind", "X".into()),
                ("metadata", map([("name", "x".into()), ("unknown", 1.into())])),
            ]),
            _ => map([("a", below), ("unknown", 1.into())]),
        })
    }

    /// The result of `read` for the deepest schema that it accepts.
    ///
    /// # Panics
    ///
    /// If none is.
    pub fn deepest<T>(self, read: impl Fn(&Value) -> Option<T>) -> T {
        (1..=MAX_DEPTH).rev().find_map(|levels| read(&self.schema(levels))).expect("a schema is accepted")
    }
}

/// A `CustomResourceDefinition` for `Shop` with this schema in its one version.
pub fn custom_resource_definition(schema: Value) -> Value {
    let names = map([
        ("plural", "shops".into()),
        ("singular", "shop".into()),
        ("kind", "Shop".into()),
        ("listKind", "ShopList".into()),
    ]);
    let version = map([
        ("name", "v1".into()),
        ("served", true.into()),
        ("storage", true.into()),
        ("schema", map([("openAPIV3Schema", schema)])),
    ]);
    map([
        ("apiVersion", "apiextensions.k8s.io/v1".into()),
        ("kind", "CustomResourceDefinition".into()),
        ("metadata", map([("name", "shops.example.com".into())])),
        (
            "spec",
            map([
                ("group", "example.com".into()),
                ("scope", "Namespaced".into()),
                ("names", names),
                ("versions", Value::from(vec![version])),
            ]),
        ),
    ])
}
