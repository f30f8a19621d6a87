//! Converts one OpenAPI schema to a type.

use std::collections::BTreeSet;
use std::fmt::Write;

use fieldmanager_schema::internal::{
    AtomDef, FieldDef, ListDef, MapDef, Relationship, Scalar, TypeDef, TypeRef, type_definitions,
};
use fieldmanager_schema::{Schema, UNTYPED_ATOMIC, UNTYPED_DEDUCED};
use fieldmanager_value::internal::level;
use fieldmanager_value::{MAX_DEPTH, Map, Str, Value};

use super::extensions::{self, ExtensionFault, PRESERVE};
use super::fault::Fault;
use super::imported::UnionOrigin;
use super::options::Importer;
use super::targets::{DefinitionRole, Targets, last_segment};
use super::{kinds, unions};
use crate::GroupVersionKind;

/// These types are recognized by name: the schema of a quantity allows several types, and the schema of a raw extension
/// does not describe it.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// The maximum number of faults with a suggestion of a similar name.
const HINTS: usize = 20;

/// Converts definitions and collects their faults.
pub(super) struct Converter<'i> {
    importer: &'i Importer,
    targets: Targets<'i>,
    untyped_atomic: Str,
    untyped_deduced: Str,
    definition: Str,
    path: String,
    depth: usize,
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
    pub(super) unions: Vec<UnionOrigin>,
    pub(super) kinds: Vec<(GroupVersionKind, Str)>,
}

impl<'i> Converter<'i> {
    pub(super) fn new(
        importer: &'i Importer,
        all: &[(&'i Str, &'i Value)],
        dropped: &BTreeSet<Str>,
    ) -> Self {
        Converter {
            importer,
            targets: Targets::new(all, dropped),
            untyped_atomic: UNTYPED_ATOMIC.into(),
            untyped_deduced: UNTYPED_DEDUCED.into(),
            definition: Str::default(),
            path: String::new(),
            depth: 0,
            faults: Vec::new(),
            warnings: Vec::new(),
            unions: Vec::new(),
            kinds: Vec::new(),
        }
    }

    /// The types of all definitions, followed by the two untyped ones.
    pub(super) fn all(&mut self, definitions: &[(&'i Str, &'i Value)]) -> Vec<TypeDef> {
        let mut out = Vec::with_capacity(definitions.len() + 2);
        for (name, schema) in definitions {
            self.definition = (*name).clone();
            let own = match self.targets.get(name) {
                Some(DefinitionRole::Dropped) | None => continue,
                Some(DefinitionRole::Alias(next)) => self.alias(next),
                Some(DefinitionRole::Type) => {
                    let atom = self.definition(schema);
                    out.push(TypeDef {
                        name: (*name).clone(),
                        atom,
                    });
                    Some((*name).clone())
                }
            };

            if let (Value::Map(schema), Some(own)) = (schema, own) {
                match kinds::kinds(schema) {
                    Ok(found) => self
                        .kinds
                        .extend(found.into_iter().map(|kind| (kind, own.clone()))),
                    Err(message) => self.at(&[".", kinds::EXTENSION], |c| c.fault(message)),
                }
            }
        }

        // A document may define the untyped types itself.
        let own: BTreeSet<&Str> = definitions.iter().map(|(name, _)| *name).collect();
        out.extend(untyped().filter(|def| !own.contains(&def.name)));
        out
    }

    fn definition(&mut self, schema: &Value) -> AtomDef {
        // These types accept more than their schemas say: a quantity may be a number, and a raw extension anything.
        match self.definition.as_str() {
            QUANTITY => AtomDef {
                scalar: Some(Scalar::Untyped),
                ..AtomDef::default()
            },
            RAW_EXTENSION => untyped()
                .find(|def| def.name == UNTYPED_ATOMIC)
                .map(|def| def.atom)
                .unwrap_or_default(),
            _ => self.schema(schema, self.importer.preserve_unknown_fields),
        }
    }

    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Fault {
            definition: self.definition.to_string(),
            path: self.path.clone(),
            message: message.into(),
        });
    }

    /// Runs `f` at a deeper path of the definition.
    fn at<T>(&mut self, steps: &[&str], f: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.extend(steps.iter().copied());
        let out = f(self);
        self.path.truncate(length);
        out
    }

    /// Returns the value of an extension, or adds a fault and returns a default.
    fn extension<T>(&mut self, found: Result<T, ExtensionFault>, instead: T) -> T {
        found.unwrap_or_else(|(name, message)| {
            self.at(&[".", name], |c| c.fault(message));
            instead
        })
    }

    /// Converts an inline schema. `preserve` is whether an enclosing schema keeps unknown fields.
    fn schema(&mut self, schema: &Value, preserve: bool) -> AtomDef {
        level(|| {
            let Value::Map(schema) = schema else {
                self.fault(format!("a schema must be a map, got {}", schema.kind()));
                return AtomDef::default();
            };
            if self.depth >= MAX_DEPTH {
                self.fault(format!("nesting is deeper than {MAX_DEPTH} levels"));
                return AtomDef::default();
            }

            // Callers have already handled a reference that is a string.
            if let Some(other) = schema
                .get("$ref")
                .filter(|other| !other.is_null() && other.as_str().is_none())
            {
                let message = format!("expected string, got {}", other.kind());
                self.at(&[".$ref"], |c| c.fault(message));
                // Keywords beside a broken reference do not apply.
                return AtomDef::default();
            }

            // The flag applies to everything below the schema.
            let preserve = match schema.get(PRESERVE) {
                None | Some(Value::Null) => preserve,
                Some(Value::Bool(flag)) => preserve | *flag,
                Some(other) => {
                    let message = format!("expected boolean, got {}", other.kind());
                    self.at(&[".", PRESERVE], |c| c.fault(message));
                    preserve
                }
            };
            self.depth += 1;
            // A schema without a type accepts every kind.
            let atom = match self.type_name(schema) {
                "" => AtomDef {
                    scalar: Some(Scalar::Untyped),
                    list: Some(self.list(schema, preserve, false).into()),
                    map: Some(self.map(schema, preserve).into()),
                },
                "object" => AtomDef {
                    map: Some(self.map(schema, preserve).into()),
                    ..AtomDef::default()
                },
                "array" => AtomDef {
                    list: Some(self.list(schema, preserve, true).into()),
                    ..AtomDef::default()
                },
                name => AtomDef {
                    scalar: Some(self.scalar(name, schema)),
                    ..AtomDef::default()
                },
            };
            self.depth -= 1;

            atom
        })
    }

    /// The declared type of a schema; the first one of several, as in Go.
    fn type_name<'v>(&mut self, schema: &'v Map) -> &'v str {
        let named = match schema.get("type") {
            None | Some(Value::Null) => return "",
            Some(Value::List(names)) => match names.get(0) {
                None => return "",
                Some(name) => name,
            },
            Some(name) => name,
        };

        match named {
            Value::String(name) => name,
            other => {
                let message = format!("expected string or a list of strings, got {}", other.kind());
                self.at(&[".type"], |c| c.fault(message));
                ""
            }
        }
    }

    fn scalar(&mut self, name: &str, schema: &Map) -> Scalar {
        match name {
            "integer" | "number" => Scalar::Numeric,
            "boolean" => Scalar::Boolean,
            // A string with a format may be serialized as another type, as in `int-or-string`.
            "string" => match schema.get("format") {
                None | Some(Value::Null) => Scalar::String,
                Some(Value::String(format)) if format.is_empty() || *format == "byte" => {
                    Scalar::String
                }
                Some(Value::String(_)) => Scalar::Untyped,
                Some(other) => {
                    let message = format!("expected string, got {}", other.kind());
                    self.at(&[".format"], |c| c.fault(message));
                    Scalar::Untyped
                }
            },
            other => {
                let message = format!(
                    "unrecognized type `{other}`: array, boolean, integer, number, object and string are accepted"
                );
                self.at(&[".type"], |c| c.fault(message));
                Scalar::Untyped
            }
        }
    }

    fn list(&mut self, schema: &Map, preserve: bool, typed: bool) -> ListDef {
        let (relationship, keys) =
            self.extension(extensions::list(schema), (Relationship::Atomic, Vec::new()));
        // Items without a schema may be anything.
        let element = match schema.get("items") {
            None | Some(Value::Null) => {
                if typed {
                    self.fault("`items` must be specified on arrays");
                }
                type_ref_to(self.untyped_atomic.clone())
            }
            Some(Value::List(_)) => {
                self.at(&[".items"], |c| {
                    c.fault("expected one schema for all items, got a list of schemas")
                });
                type_ref_to(self.untyped_deduced.clone())
            }
            Some(items) => self.at(&[".items"], |c| c.type_ref(items, preserve)),
        };

        ListDef {
            element,
            relationship: Some(relationship),
            keys,
        }
    }

    fn map(&mut self, schema: &Map, preserve: bool) -> MapDef {
        let properties = match schema.get("properties") {
            None | Some(Value::Null) => None,
            Some(Value::Map(properties)) => Some(properties),
            Some(other) => {
                let message = format!("expected a map of schemas, got {}", other.kind());
                self.at(&[".properties"], |c| c.fault(message));
                None
            }
        };
        let mut fields = Vec::with_capacity(properties.map_or(0, Map::len));

        for (name, property) in properties.into_iter().flatten() {
            let ty = self.at(&[".properties.", name.as_str()], |c| {
                c.type_ref(property, preserve)
            });
            let default = property
                .get("default")
                .filter(|default| !default.is_null())
                .cloned();
            fields.push(FieldDef {
                name: name.clone(),
                ty,
                default,
            });
        }

        let deduced = || Some(type_ref_to(self.untyped_deduced.clone()));
        let element = match schema.get("additionalProperties") {
            // A map without declared fields accepts any; a map with declared fields accepts no others.
            None | Some(Value::Null) if preserve || fields.is_empty() => deduced(),
            None | Some(Value::Null | Value::Bool(false)) => None,
            Some(Value::Bool(true)) => deduced(),
            Some(schema) => {
                Some(self.at(&[".additionalProperties"], |c| c.type_ref(schema, preserve)))
            }
        };
        let found = unions::read_struct(schema, properties, self.importer.unions);
        for (path, message) in found.faults {
            self.at(&[&path], |c| c.fault(message));
        }

        for (path, message) in found.warnings {
            let path = format!("{}{path}", self.path);
            self.warnings.push(Fault {
                definition: self.definition.to_string(),
                path,
                message,
            });
        }

        for ((path, form), union) in found.origins.into_iter().zip(&found.unions) {
            self.unions.push(UnionOrigin {
                definition: self.definition.to_string(),
                path: format!("{}{path}", self.path),
                form,
                discriminator: union.discriminator.clone(),
                members: union
                    .fields
                    .iter()
                    .map(|member| member.field.clone())
                    .collect(),
            });
        }

        let relationship = self.extension(extensions::map(schema), None);
        MapDef {
            fields,
            unions: found.unions,
            element,
            relationship,
        }
    }

    /// Converts a property, an item or an additional property: a reference to a definition, or an inline type.
    fn type_ref(&mut self, schema: &Value, preserve: bool) -> TypeRef {
        let Value::Map(map) = schema else {
            self.fault(format!("a schema must be a map, got {}", schema.kind()));
            return TypeRef::default();
        };
        let nullable = match map.get("nullable") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(nullable)) => *nullable,
            Some(other) => {
                let message = format!("expected boolean, got {}", other.kind());
                self.at(&[".nullable"], |c| c.fault(message));
                false
            }
        };

        let Some(reference) = self.reference(map) else {
            return TypeRef {
                inlined: self.schema(schema, preserve),
                nullable,
                ..TypeRef::default()
            };
        };

        // Beside a reference, only the relationship of the map applies.
        let relationship = self.extension(extensions::map(map), None);
        match self.target(reference) {
            Some(name) => TypeRef {
                nullable,
                relationship,
                ..type_ref_to(name)
            },
            None => TypeRef {
                nullable,
                ..type_ref_to(self.untyped_deduced.clone())
            },
        }
    }

    /// The name that a schema refers to, directly or by an `allOf` with a single reference.
    fn reference<'v>(&mut self, schema: &'v Map) -> Option<&'v str> {
        let is_reference =
            |reference: &&Value| !reference.is_null() && reference.as_str() != Some("");
        if let Some(reference) = schema.get("$ref").filter(is_reference) {
            // A reference that is not a string is reported when the schema itself is converted.
            return reference
                .as_str()
                .map(last_segment)
                .filter(|name| !name.is_empty());
        }

        // A reference has no keywords beside it, so documents wrap it in `allOf` to add some.
        let Value::List(all) = schema.get("allOf")? else {
            return None;
        };
        let only = if all.len() == 1 {
            all.get(0)?.get("$ref").filter(is_reference)?
        } else {
            return None;
        };
        if only.as_str().is_none() {
            let message = format!("expected string, got {}", only.kind());
            self.at(&[".allOf[0].$ref"], |c| c.fault(message));
        }

        only.as_str()
            .map(last_segment)
            .filter(|name| !name.is_empty())
    }

    /// Resolves the current definition, which only refers to `next`, to the name of its type.
    fn alias(&mut self, next: &str) -> Option<Str> {
        let found = self.target(next);
        if found.is_none() && self.targets.is_circle(&self.definition) {
            self.fault(format!("definition `{}` refers to itself", self.definition));
        }
        found
    }

    /// Resolves a name to the name of its type. Returns `None` for an unknown name, which is a fault of the reference,
    /// and for a name that leads to a definition with a fault, which is reported there.
    fn target(&mut self, name: &str) -> Option<Str> {
        if self.targets.get(name).is_none() {
            let mut message = format!("there is no definition `{name}`");
            // The search for a similar name is expensive, so only the first faults have a suggestion.
            if self.faults.len() < HINTS
                && let Some(near) = self.targets.nearest(name)
            {
                let _ = write!(message, ", did you mean `{near}`");
            }
            self.at(&[".$ref"], |c| c.fault(message));
        }

        self.targets.leads_to(name)
    }
}

fn type_ref_to(name: Str) -> TypeRef {
    TypeRef {
        named: Some(name),
        ..TypeRef::default()
    }
}

/// The definitions of the two untyped types that end every import.
fn untyped() -> impl Iterator<Item = TypeDef> {
    let deduced = Schema::deduced();
    let definitions: Vec<TypeDef> = type_definitions(deduced.schema()).to_vec();
    definitions.into_iter()
}
