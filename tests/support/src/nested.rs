//! Schemas and objects with a given nesting depth.

use fieldmanager_value::{MAX_DEPTH, Map, Value};

/// Creates a map with these entries.
pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().collect::<Map>())
}

/// The way in which a schema contains another one.
#[derive(Clone, Copy, Debug)]
pub enum NestedSchema {
    /// As the schema of a property.
    Properties,
    /// As the schema of the values of a map.
    Additional,
    /// As the schema of the items of a list.
    Items,
    /// As the schema of a property of an embedded resource.
    Resources,
}

impl NestedSchema {
    /// All variants.
    pub const ALL: [NestedSchema; 4] = [
        NestedSchema::Properties,
        NestedSchema::Additional,
        NestedSchema::Items,
        NestedSchema::Resources,
    ];

    fn wrap(self, below: Value) -> Value {
        match self {
            NestedSchema::Properties => map([
                ("type", "object".into()),
                (
                    "properties",
                    map([
                        ("a", below),
                        (
                            "b",
                            map([("default", 1.into()), ("type", "integer".into())]),
                        ),
                    ]),
                ),
            ]),
            NestedSchema::Additional => {
                map([("type", "object".into()), ("additionalProperties", below)])
            }
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

    /// A string schema nested in the given number of levels.
    pub fn schema(self, levels: usize) -> Value {
        (0..levels).fold(map([("type", "string".into())]), |below, _| {
            self.wrap(below)
        })
    }

    /// An object that matches [`schema`](Self::schema) with the given number of levels.
    pub fn object(self, levels: usize) -> Value {
        (0..levels).fold("x".into(), |below, _| match self {
            NestedSchema::Items => Value::from(vec![below]),
            NestedSchema::Resources => map([
                ("a", below),
                ("apiVersion", "v1".into()),
                ("kind", "X".into()),
                (
                    "metadata",
                    map([("name", "x".into()), ("unknown", 1.into())]),
                ),
            ]),
            _ => map([("a", below), ("unknown", 1.into())]),
        })
    }

    /// Returns the result of `read` for the deepest accepted schema.
    ///
    /// # Panics
    ///
    /// If no schema is accepted.
    pub fn deepest<T>(self, read: impl Fn(&Value) -> Option<T>) -> T {
        (1..=MAX_DEPTH)
            .rev()
            .find_map(|levels| read(&self.schema(levels)))
            .expect("a schema is accepted")
    }
}

/// A `CustomResourceDefinition` of `Shop` with a single version that has this schema.
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
