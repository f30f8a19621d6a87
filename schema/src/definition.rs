//! The definitions of a schema, as they are written in a file.

use fieldmanager_value::{Str, Value};

/// A named type. Every name occurs once in a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeDef {
    /// The name by which references find the type.
    pub name: Str,
    /// What the type may be.
    pub atom: AtomDef,
}

/// What a type may be: any of the kinds that are set. Without any, no value fits the type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtomDef {
    /// A scalar.
    pub scalar: Option<Scalar>,
    /// A list.
    pub list: Option<Box<ListDef>>,
    /// A map.
    pub map: Option<Box<MapDef>>,
}

impl AtomDef {
    /// Whether no kind is set.
    pub fn is_empty(&self) -> bool {
        self.scalar.is_none() && self.list.is_none() && self.map.is_none()
    }
}

/// The kinds of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// An integer or a float.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of them.
    Untyped,
}

impl Scalar {
    /// All kinds.
    pub const ALL: [Scalar; 4] = [Scalar::Numeric, Scalar::String, Scalar::Boolean, Scalar::Untyped];

    /// The name in schema files.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Numeric => "numeric",
            Scalar::String => "string",
            Scalar::Boolean => "boolean",
            Scalar::Untyped => "untyped",
        }
    }
}

/// How the parts of a list or map relate to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relationship {
    /// Items of a list are matched by key or value. On a map it means the same as separable.
    Associative,
    /// The whole has one set of owners, like a scalar.
    Atomic,
    /// Every entry of a map has its own owners; the default for maps.
    Separable,
}

impl Relationship {
    /// All relationships.
    pub const ALL: [Relationship; 3] =
        [Relationship::Associative, Relationship::Atomic, Relationship::Separable];

    /// The name in schema files.
    pub fn name(self) -> &'static str {
        match self {
            Relationship::Associative => "associative",
            Relationship::Atomic => "atomic",
            Relationship::Separable => "separable",
        }
    }
}

/// A reference to a named type, or a type in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeRef {
    /// The name of the type; then `inlined` is empty.
    pub named: Option<Str>,
    /// The type in place.
    pub inlined: AtomDef,
    /// Overrides the relationship of the type that is referred to: of its map, or else of its list.
    pub relationship: Option<Relationship>,
    /// Whether null is a valid value, as `nullable` in OpenAPI. Kept; like the Go package, this library
    /// accepts null everywhere.
    pub nullable: bool,
}

/// A list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListDef {
    /// The type of the items.
    pub element: TypeRef,
    /// Atomic or associative; there is no default.
    pub relationship: Option<Relationship>,
    /// For an associative list of maps, the fields whose values identify an item.
    pub keys: Vec<Str>,
}

/// A map, or a struct: the fields that are known and the type of all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapDef {
    /// The fields, each name once.
    pub fields: Vec<FieldDef>,
    /// Groups of fields of which one may be set.
    pub unions: Vec<Union>,
    /// The type of fields that are not listed; without it no other field is accepted.
    pub element: Option<TypeRef>,
    /// Separable unless set.
    pub relationship: Option<Relationship>,
}

/// A field of a struct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldDef {
    /// The name in objects.
    pub name: Str,
    /// The type of the value.
    pub ty: TypeRef,
    /// The value that an object without the field is taken to have. Only that of a list key matters here.
    pub default: Option<Value>,
}

/// A group of fields of a struct of which one may be set ("oneOf").
///
/// The Go package's format, extended so that the forms of KEP-1027 survive a round trip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Union {
    /// The field whose value names the member that is set.
    pub discriminator: Option<Str>,
    /// `deduceInvalidDiscriminator`: the discriminator follows the member that is set. A union without a
    /// discriminator deduces anyway.
    pub deduce: bool,
    /// The members.
    pub fields: Vec<UnionField>,
    /// Values of the discriminator that select no member. Extension.
    pub empty_members: Vec<Str>,
    /// Whether other values of the discriminator are invalid. Extension.
    pub closed: bool,
    /// Whether exactly one member must be set. Extension.
    pub required: bool,
}

impl Union {
    /// Whether the discriminator follows the member that is set. Otherwise the discriminator is respected
    /// as it is.
    pub fn is_deducing(&self) -> bool {
        self.deduce || self.discriminator.is_none()
    }

    /// The member that a value of the discriminator selects.
    pub fn selected_by(&self, value: &str) -> Option<&UnionField> {
        self.fields.iter().find(|field| field.value == value)
    }

    /// Whether a value of the discriminator is one that the union declares: it selects a member, or says
    /// that there is none.
    pub fn knows(&self, value: &str) -> bool {
        self.selected_by(value).is_some() || self.empty_members.iter().any(|known| *known == value)
    }

    /// The values of the discriminator that the union declares, those that select members first.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| &field.value).chain(&self.empty_members).map(Str::as_str)
    }
}

/// A member of a union.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnionField {
    /// The name of the field.
    pub field: Str,
    /// The value of the discriminator that selects it.
    pub value: Str,
    /// Whether the value may select it without its being set. Extension.
    pub optional: bool,
}
