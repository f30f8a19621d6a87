//! The generator's own model of a schema.
//!
//! It has only the parts that are needed to write a schema and to generate valid objects. It is deliberately separate
//! from the library's schema, so that a fault there is not hidden from the comparison.

use std::collections::BTreeMap;

use serde_json::{Map as JsonMap, Value, json};

/// The name of the type that allows any object and deduces its structure.
pub(crate) const DEDUCED: &str = "__untyped_deduced_";
/// The name of the type that allows any value as one unit.
pub(crate) const ATOMIC: &str = "__untyped_atomic_";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    String,
    Boolean,
    Untyped,
}

impl Scalar {
    fn text(self) -> &'static str {
        match self {
            Self::Numeric => "numeric",
            Self::String => "string",
            Self::Boolean => "boolean",
            Self::Untyped => "untyped",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Atomic,
    Associative,
    Separable,
}

impl Relation {
    fn text(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Associative => "associative",
            Self::Separable => "separable",
        }
    }
}

/// The allowed kinds of a value; several kinds may be allowed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atom {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<Box<List>>,
    pub(crate) map: Option<Box<Map>>,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) element: TypeRef,
    pub(crate) relation: Relation,
    pub(crate) keys: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    pub(crate) fields: Vec<Field>,
    pub(crate) element: Option<TypeRef>,
    pub(crate) relation: Option<Relation>,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) type_ref: TypeRef,
    pub(crate) default: Option<Value>,
}

#[derive(Clone, Debug)]
pub(crate) enum Base {
    Named(String),
    Inline(Atom),
}

#[derive(Clone, Debug)]
pub(crate) struct TypeRef {
    pub(crate) base: Base,
    /// Overrides the relationship of the type that is referred to.
    pub(crate) relation: Option<Relation>,
    pub(crate) nullable: bool,
}

impl TypeRef {
    pub(crate) fn named(name: &str) -> Self {
        Self { base: Base::Named(name.to_owned()), relation: None, nullable: false }
    }

    pub(crate) fn inline(atom: Atom) -> Self {
        Self { base: Base::Inline(atom), relation: None, nullable: false }
    }

    pub(crate) fn scalar(scalar: Scalar) -> Self {
        Self::inline(Atom::scalar(scalar))
    }
}

impl Atom {
    pub(crate) fn scalar(scalar: Scalar) -> Self {
        Self { scalar: Some(scalar), ..Self::default() }
    }

    pub(crate) fn list(list: List) -> Self {
        Self { list: Some(Box::new(list)), ..Self::default() }
    }

    pub(crate) fn map(map: Map) -> Self {
        Self { map: Some(Box::new(map)), ..Self::default() }
    }
}

impl Map {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(crate) fn is_atomic(&self) -> bool {
        self.relation == Some(Relation::Atomic)
    }

    /// The type of the value at a key, if the key is allowed.
    pub(crate) fn type_of(&self, key: &str) -> Option<&TypeRef> {
        self.field(key).map(|field| &field.type_ref).or(self.element.as_ref())
    }
}

/// The names of fields that differ at a version.
pub(crate) type Names = BTreeMap<String, String>;

/// A set of named types with one that the scenario's object has.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    pub(crate) definitions: Vec<(String, Atom)>,
    pub(crate) root: String,
}

impl Types {
    pub(crate) fn root_ref(&self) -> TypeRef {
        TypeRef::named(&self.root)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Atom> {
        self.definitions.iter().find(|(defined, _)| defined == name).map(|(_, atom)| atom)
    }

    /// The atom of a reference, with the override of the reference applied to its map or else to its list, as in the
    /// reference implementation.
    pub(crate) fn resolve(&self, type_ref: &TypeRef) -> Atom {
        let mut atom = match &type_ref.base {
            Base::Named(name) => self.find(name).cloned().unwrap_or_default(),
            Base::Inline(atom) => atom.clone(),
        };
        if let Some(relation) = type_ref.relation {
            if let Some(map) = &mut atom.map {
                map.relation = Some(relation);
            } else if let Some(list) = &mut atom.list {
                list.relation = relation;
            }
        }
        atom
    }

    /// Whether a list can be associative: its items must be scalars, or must have keys.
    pub(crate) fn can_associate(&self, list: &List) -> bool {
        if !list.keys.is_empty() {
            return true;
        }
        let element = self.resolve(&list.element);
        element.scalar.is_some() && element.list.is_none() && element.map.is_none()
    }

    /// The definitions as the members of a schema's `types`, with the names of the types and fields at one version.
    pub(crate) fn write(&self, suffix: &str, names: &Names) -> Vec<Value> {
        let writer = Writer { suffix, names };
        self.definitions
            .iter()
            .map(|(name, atom)| {
                let mut members = writer.atom(atom);
                members.insert("name".to_owned(), json!(writer.type_name(name)));
                Value::Object(members)
            })
            .collect()
    }
}

/// The name of a type at a version; the deduced types have one name at all versions.
pub(crate) fn type_name(name: &str, suffix: &str) -> String {
    if name == DEDUCED || name == ATOMIC { name.to_owned() } else { format!("{name}{suffix}") }
}

struct Writer<'a> {
    suffix: &'a str,
    names: &'a Names,
}

impl Writer<'_> {
    fn type_name(&self, name: &str) -> String {
        type_name(name, self.suffix)
    }

    fn field_name(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn atom(&self, atom: &Atom) -> JsonMap<String, Value> {
        let mut out = JsonMap::new();
        if let Some(scalar) = atom.scalar {
            out.insert("scalar".to_owned(), json!(scalar.text()));
        }
        if let Some(list) = &atom.list {
            let mut members = JsonMap::new();
            members.insert("elementType".to_owned(), self.type_ref(&list.element));
            members.insert("elementRelationship".to_owned(), json!(list.relation.text()));
            if !list.keys.is_empty() {
                let keys: Vec<_> = list.keys.iter().map(|key| self.field_name(key)).collect();
                members.insert("keys".to_owned(), json!(keys));
            }
            out.insert("list".to_owned(), Value::Object(members));
        }
        if let Some(map) = &atom.map {
            let mut members = JsonMap::new();
            if !map.fields.is_empty() {
                let fields = map.fields.iter().map(|field| self.field(field)).collect();
                members.insert("fields".to_owned(), Value::Array(fields));
            }
            if let Some(element) = &map.element {
                members.insert("elementType".to_owned(), self.type_ref(element));
            }
            if let Some(relation) = map.relation {
                members.insert("elementRelationship".to_owned(), json!(relation.text()));
            }
            out.insert("map".to_owned(), Value::Object(members));
        }
        out
    }

    fn field(&self, field: &Field) -> Value {
        let mut out = json!({"name": self.field_name(&field.name), "type": self.type_ref(&field.type_ref)});
        if let (Some(default), Some(members)) = (&field.default, out.as_object_mut()) {
            members.insert("default".to_owned(), default.clone());
        }
        out
    }

    fn type_ref(&self, type_ref: &TypeRef) -> Value {
        let mut out = match &type_ref.base {
            Base::Named(name) => {
                let mut members = JsonMap::new();
                members.insert("namedType".to_owned(), json!(self.type_name(name)));
                members
            }
            Base::Inline(atom) => self.atom(atom),
        };
        if let Some(relation) = type_ref.relation {
            out.insert("elementRelationship".to_owned(), json!(relation.text()));
        }
        if type_ref.nullable {
            out.insert("nullable".to_owned(), json!(true));
        }
        Value::Object(out)
    }
}
