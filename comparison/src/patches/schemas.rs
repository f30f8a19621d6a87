//! Random types with merge strategies.

use serde_json::{Map, Value as Json, json};

use crate::generate::random::Random;
use crate::json::set;

/// The type of a field of a generated type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ty {
    Text,
    Number,
    /// A map from names to strings.
    Labels,
    Struct(usize),
    Texts,
    Numbers,
    /// Items by their `name` or `port`.
    Items(usize),
    /// Any value.
    Any,
}

#[derive(Clone)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) ty: Ty,
    pub(super) strategy: &'static str,
    pub(super) key: &'static str,
}

impl Field {
    /// Whether it contains no objects of a type.
    pub(super) fn is_flat(&self) -> bool {
        !matches!(self.ty, Ty::Struct(_) | Ty::Items(_))
    }
}

#[derive(Default)]
pub(super) struct Types {
    pub(super) structs: Vec<Vec<Field>>,
    pub(super) v2: bool,
}

const NAMES: [&str; 8] = ["a", "b", "c", "list", "items", "spec", "set", "x"];

impl Types {
    pub(super) fn generate(random: &mut Random) -> Self {
        let mut types = Types {
            structs: Vec::new(),
            v2: random.chance(40),
        };
        let count = random.between(1, 4);

        for at in 0..count {
            let plain = |name, ty| Field {
                name,
                ty,
                strategy: "",
                key: "",
            };
            // Every struct has the fields that can be merge keys.
            let mut fields = vec![plain("name", Ty::Text), plain("port", Ty::Number)];

            for name in NAMES {
                if random.chance(if at == 0 { 75 } else { 45 }) {
                    fields.push(field(random, name, count));
                }
            }
            types.structs.push(fields);
        }

        types
    }

    pub(super) fn fields(&self, at: usize) -> &[Field] {
        self.structs.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn definitions(&self) -> Json {
        let mut definitions = Map::new();
        for (at, fields) in self.structs.iter().enumerate() {
            let mut properties = Map::new();
            for field in fields {
                properties.insert(field.name.to_owned(), self.property(field));
            }
            definitions.insert(
                format!("t{at}"),
                json!({"type": "object", "properties": properties}),
            );
        }

        Json::Object(definitions)
    }

    fn property(&self, field: &Field) -> Json {
        let text = json!({"type": "string"});
        let mut property = match field.ty {
            Ty::Text => text,
            Ty::Number => json!({"type": "integer"}),
            Ty::Labels => json!({"type": "object", "additionalProperties": text}),
            Ty::Struct(at) if self.v2 => self.reference(at),
            Ty::Struct(at) => json!({"allOf": [self.reference(at)]}),
            Ty::Texts => json!({"type": "array", "items": text}),
            Ty::Numbers => json!({"type": "array", "items": {"type": "integer"}}),
            Ty::Items(at) => json!({"type": "array", "items": self.reference(at)}),
            Ty::Any => json!({}),
        };

        // OpenAPI documents have the strategies as extensions, which are absent where a field has none.
        for (name, value) in [("strategy", field.strategy), ("merge-key", field.key)] {
            if !value.is_empty() {
                set(&mut property, &format!("x-kubernetes-patch-{name}"), value);
            }
        }
        property
    }

    fn reference(&self, at: usize) -> Json {
        // The two versions of OpenAPI keep their definitions in different places.
        let folder = if self.v2 {
            "#/definitions"
        } else {
            "#/components/schemas"
        };
        json!({"$ref": format!("{folder}/t{at}")})
    }
}

fn field(random: &mut Random, name: &'static str, structs: usize) -> Field {
    let ty = random.weighted(
        &[
            (3, Ty::Text),
            (2, Ty::Number),
            (2, Ty::Labels),
            (5, Ty::Struct(0)),
            (3, Ty::Texts),
            (3, Ty::Numbers),
            (7, Ty::Items(0)),
            (1, Ty::Any),
        ],
        Ty::Text,
    );

    // The weights choose a form of types; the struct that it refers to is any of them, also its own.
    let target = random.below(structs);
    let (ty, strategies): (Ty, &[(u32, &'static str)]) = match ty {
        Ty::Struct(_) => (
            Ty::Struct(target),
            &[
                (5, ""),
                (2, "replace"),
                (4, "retainKeys"),
                (1, "merge"),
                (1, "odd"),
            ],
        ),
        Ty::Items(_) => (
            Ty::Items(target),
            &[
                (2, ""),
                (6, "merge"),
                (4, "merge,retainKeys"),
                (1, "replace"),
                (1, "retainKeys,merge"),
            ],
        ),
        Ty::Texts | Ty::Numbers => (ty, &[(2, ""), (5, "merge"), (1, "replace")]),
        Ty::Labels => (ty, &[(5, ""), (1, "replace"), (1, "retainKeys")]),
        other => (other, &[(1, "")]),
    };

    // No type of Kubernetes has a strategy that contradicts itself, so it is rare.
    let mut strategy = random.weighted(strategies, "");
    if random.chance(1) {
        strategy = "merge,replace";
    }
    let mut key = "";

    // Maps in a list are merged by their key, so a list that is merged without one is a fault of the schema.
    if matches!(ty, Ty::Items(_))
        && (strategy.contains("merge") || random.chance(20))
        && !random.chance(2)
    {
        key = random.weighted(&[(6, "name"), (2, "port")], "name");
    }

    Field {
        name,
        ty,
        strategy,
        key,
    }
}
