//! Parsing of schema documents. This validates them like the meta-schema, but by hand, so that every error reports its
//! location and the accepted input.

use ahash::RandomState;
use fieldmanager_value::{Map, Str, Value};
use hashbrown::HashSet;

use crate::definition::{
    AtomDef, FieldDef, ListDef, MapDef, Relationship, Scalar, TypeDef, TypeRef, Union, UnionField,
};
use crate::error::Fault;
use crate::nested::Nested;
use crate::place::{Location, LocationStep};

/// Parses definitions and collects errors.
#[derive(Default)]
pub(crate) struct DefinitionReader {
    pub(crate) faults: Vec<Fault>,
    place: Location,
    type_name: Option<Str>,
}

impl DefinitionReader {
    pub(crate) fn schema(&mut self, document: &Value) -> Vec<TypeDef> {
        let Some(map) = self.map(document, &["types"]) else {
            return Vec::new();
        };
        self.at(LocationStep::Text(".types"), |r| {
            r.named_list(map.get("types"), Self::type_def)
        })
    }

    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Fault {
            type_name: self.type_name.as_ref().map(|name| name.to_string()),
            path: self.place.to_string(),
            message: message.into(),
        });
    }

    /// Runs `f` one step deeper in the document.
    fn at<T>(&mut self, step: LocationStep, f: impl FnOnce(&mut Self) -> T) -> T {
        let depth = self.place.depth();
        self.place.push(step);
        let out = f(self);
        self.place.truncate(depth);
        out
    }

    /// Returns the value as a map with the given fields; null is an empty map.
    fn map(&mut self, value: &Value, known: &[&str]) -> Option<Map> {
        let map = match value {
            Value::Null => Map::new(),
            Value::Map(map) => map.clone(),
            other => {
                self.fault(format!("expected map, got {}", other.kind()));
                return None;
            }
        };

        for (name, _) in &map {
            if !known.contains(&name.as_str()) {
                self.at(LocationStep::Field(name.clone()), |r| {
                    r.fault(format!("unknown field, accepted are {}", known.join(", ")));
                });
            }
        }

        Some(map)
    }

    /// Returns the items of a list; null and absent are an empty list.
    fn list(&mut self, value: Option<&Value>) -> Vec<Value> {
        match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::List(list)) => list.iter().cloned().collect(),
            Some(other) => {
                self.fault(format!("expected list, got {}", other.kind()));
                Vec::new()
            }
        }
    }

    /// Parses a list whose items are identified by their `name`.
    fn named_list<T: NamedDefinition>(
        &mut self,
        value: Option<&Value>,
        read: impl Fn(&mut Self, &Value) -> Option<T>,
    ) -> Vec<T> {
        let items = self.list(value);
        let mut out: Vec<T> = Vec::with_capacity(items.len());
        let mut seen: HashSet<Str, RandomState> = HashSet::default();
        for (i, item) in items.iter().enumerate() {
            let step = match item.get(T::KEY) {
                Some(Value::String(name)) => LocationStep::Item(T::KEY, name.into()),
                _ => LocationStep::Index(i),
            };
            self.at(step, |r| {
                let Some(read) = read(r, item) else { return };
                if read.name().is_empty() {
                    r.fault(format!("field `{}` is missing or empty", T::KEY));
                } else if !seen.insert(read.name().clone()) {
                    r.fault(format!("duplicate {}", T::KEY));
                }
                out.push(read);
            });
        }

        out
    }

    fn string(&mut self, map: &Map, name: &str) -> Option<Str> {
        match map.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.into()),
            other => {
                let kind = other.kind();
                self.at(LocationStep::Field(name.into()), |r| {
                    r.fault(format!("expected string, got {kind}"))
                });
                None
            }
        }
    }

    fn flag(&mut self, map: &Map, name: &str) -> bool {
        match map.get(name) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                let kind = other.kind();
                self.at(LocationStep::Field(name.into()), |r| {
                    r.fault(format!("expected boolean, got {kind}"))
                });
                false
            }
        }
    }

    fn strings(&mut self, map: &Map, name: &str) -> Vec<Str> {
        self.at(LocationStep::Field(name.into()), |r| {
            let items = r.list(map.get(name));
            let mut out = Vec::with_capacity(items.len());
            for (i, item) in items.into_iter().enumerate() {
                match item {
                    Value::String(text) => out.push(text.into()),
                    other => r.at(LocationStep::Index(i), |r| {
                        r.fault(format!("expected string, got {}", other.kind()));
                    }),
                }
            }

            out
        })
    }

    fn relationship(&mut self, map: &Map) -> Option<Relationship> {
        let text = self.string(map, "elementRelationship")?;
        if text.is_empty() {
            return None;
        }
        let found = Relationship::ALL.into_iter().find(|r| text == r.name());

        if found.is_none() {
            self.at(LocationStep::Text(".elementRelationship"), |r| {
                r.fault(format!(
                    "unknown relationship `{text}`, accepted are associative, atomic and separable"
                ));
            });
        }

        found
    }

    fn type_def(&mut self, value: &Value) -> Option<TypeDef> {
        // Faults in the definition carry its name. Afterwards the name of the outer one is restored.
        let outer = self.type_name.take();
        self.type_name = match value.get("name") {
            Some(Value::String(name)) => Some(name.into()),
            _ => None,
        };
        let map = self.map(value, &["name", "scalar", "list", "map", "untyped"]);
        let def = map.map(|map| TypeDef {
            name: self.string(&map, "name").unwrap_or_default(),
            atom: self.atom(&map),
        });
        self.type_name = outer;

        def
    }

    /// Parses the kinds of a type definition or reference. `untyped` is accepted and ignored, as in the Go package.
    fn atom(&mut self, map: &Map) -> AtomDef {
        let scalar = self.string(map, "scalar").and_then(|text| {
            let found = Scalar::ALL.into_iter().find(|s| text == s.name());
            if found.is_none() {
                self.at(LocationStep::Text(".scalar"), |r| {
                    r.fault(format!(
                        "unknown scalar `{text}`, accepted are numeric, string, boolean and untyped"
                    ));
                });
            }
            found
        });
        let list = map.get("list").filter(|v| !v.is_null());

        let list = list.and_then(|v| self.at(LocationStep::Text(".list"), |r| r.list_def(v)));
        let fields = map.get("map").filter(|v| !v.is_null());
        let fields = fields.and_then(|v| self.at(LocationStep::Text(".map"), |r| r.map_def(v)));
        AtomDef {
            scalar,
            list: list.map(Nested::from),
            map: fields.map(Nested::from),
        }
    }

    fn type_ref(&mut self, map: &Map, name: &str) -> Option<TypeRef> {
        let value = map.get(name)?.clone();
        self.at(LocationStep::Field(name.into()), |r| {
            let known = [
                "namedType",
                "scalar",
                "list",
                "map",
                "untyped",
                "elementRelationship",
                "nullable",
            ];
            let map = r.map(&value, &known)?;
            let found = TypeRef {
                named: r.string(&map, "namedType"),
                inlined: r.atom(&map),
                relationship: r.relationship(&map),
                nullable: r.flag(&map, "nullable"),
            };

            if found.named.is_some() && !found.inlined.is_empty() {
                r.fault("expected either namedType or an inlined type, got both");
            }

            // An empty reference is the same as `None`.
            (found != TypeRef::default()).then_some(found)
        })
    }

    fn list_def(&mut self, value: &Value) -> Option<ListDef> {
        let map = self.map(value, &["elementType", "elementRelationship", "keys"])?;
        Some(ListDef {
            element: self.type_ref(&map, "elementType").unwrap_or_default(),
            relationship: self.relationship(&map),
            keys: self.strings(&map, "keys"),
        })
    }

    fn map_def(&mut self, value: &Value) -> Option<MapDef> {
        let map = self.map(
            value,
            &["fields", "unions", "elementType", "elementRelationship"],
        )?;
        Some(MapDef {
            fields: self.at(LocationStep::Text(".fields"), |r| {
                r.named_list(map.get("fields"), Self::field_def)
            }),
            unions: self.at(LocationStep::Text(".unions"), |r| {
                let items = r.list(map.get("unions"));
                let each = items.iter().enumerate();
                each.filter_map(|(i, item)| r.at(LocationStep::Index(i), |r| r.union_def(item)))
                    .collect()
            }),
            element: self.type_ref(&map, "elementType"),
            relationship: self.relationship(&map),
        })
    }

    fn field_def(&mut self, value: &Value) -> Option<FieldDef> {
        let map = self.map(value, &["name", "type", "default"])?;
        Some(FieldDef {
            name: self.string(&map, "name").unwrap_or_default(),
            ty: self.type_ref(&map, "type").unwrap_or_default(),
            default: map.get("default").filter(|v| !v.is_null()).cloned(),
        })
    }

    fn union_def(&mut self, value: &Value) -> Option<Union> {
        let known = [
            "discriminator",
            "deduceInvalidDiscriminator",
            "fields",
            "emptyMembers",
            "closed",
            "required",
        ];
        let map = self.map(value, &known)?;

        Some(Union {
            discriminator: self.string(&map, "discriminator"),
            deduce: self.flag(&map, "deduceInvalidDiscriminator"),
            fields: self.at(LocationStep::Text(".fields"), |r| {
                r.named_list(map.get("fields"), Self::union_field)
            }),
            empty_members: self.strings(&map, "emptyMembers"),
            closed: self.flag(&map, "closed"),
            required: self.flag(&map, "required"),
        })
    }

    fn union_field(&mut self, value: &Value) -> Option<UnionField> {
        let map = self.map(value, &["fieldName", "discriminatorValue", "optional"])?;
        Some(UnionField {
            field: self.string(&map, "fieldName").unwrap_or_default(),
            value: self.string(&map, "discriminatorValue").unwrap_or_default(),
            optional: self.flag(&map, "optional"),
        })
    }
}

/// A definition that is identified by one of its fields within a list.
trait NamedDefinition {
    const KEY: &'static str;
    fn name(&self) -> &Str;
}

impl NamedDefinition for TypeDef {
    const KEY: &'static str = "name";
    fn name(&self) -> &Str {
        &self.name
    }
}

impl NamedDefinition for FieldDef {
    const KEY: &'static str = "name";
    fn name(&self) -> &Str {
        &self.name
    }
}

impl NamedDefinition for UnionField {
    const KEY: &'static str = "fieldName";
    fn name(&self) -> &Str {
        &self.field
    }
}
