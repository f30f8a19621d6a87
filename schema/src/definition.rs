//! Definitions of a schema, structured like a schema file.

use fieldmanager_value::{Str, Value};

use crate::nested::Nested;

/// A named type. Names are unique within a schema.
///
/// ```
/// use fieldmanager_schema::internal::{AtomDef, Scalar, TypeDef, resolve_definitions};
/// use fieldmanager_schema::Schema;
/// let atom = AtomDef { scalar: Some(Scalar::Numeric), ..AtomDef::default() };
/// let schema = resolve_definitions(vec![TypeDef { name: "count".into(), atom }])?;
/// assert_eq!(schema.to_value().to_json(), r#"{"types":[{"name":"count","scalar":"numeric"}]}"#);
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeDef {
    /// The name used in references to the type.
    pub name: Str,
    /// The accepted kinds.
    pub atom: AtomDef,
}

/// The kinds accepted by a type: any of those that are set. If none is set, no value is valid.
///
/// ```
/// use fieldmanager_schema::internal::{AtomDef, MapDef, Scalar};
/// // A number or a map: both `resources: 1` and `resources: {}` are valid.
/// let either = AtomDef {
///     scalar: Some(Scalar::Numeric),
///     map: Some(MapDef::default().into()),
///     ..AtomDef::default()
/// };
/// assert!(!either.is_empty() && AtomDef::default().is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtomDef {
    /// A scalar.
    pub scalar: Option<Scalar>,
    /// A list.
    pub list: Option<Nested<ListDef>>,
    /// A map.
    pub map: Option<Nested<MapDef>>,
}

impl AtomDef {
    /// Whether no kind is set.
    pub fn is_empty(&self) -> bool {
        self.scalar.is_none() && self.list.is_none() && self.map.is_none()
    }
}

/// The kinds of scalars.
///
/// ```
/// use fieldmanager_schema::internal::Scalar;
/// let names = Scalar::ALL.map(Scalar::name);
/// assert_eq!(names, ["numeric", "string", "boolean", "untyped"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// An integer or a float.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of these.
    Untyped,
}

impl Scalar {
    /// All kinds.
    pub const ALL: [Scalar; 4] = [
        Scalar::Numeric,
        Scalar::String,
        Scalar::Boolean,
        Scalar::Untyped,
    ];

    /// The name used in schema files.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Numeric => "numeric",
            Scalar::String => "string",
            Scalar::Boolean => "boolean",
            Scalar::Untyped => "untyped",
        }
    }
}

/// The ownership relationship between the parts of a list or map.
///
/// ```
/// use fieldmanager_schema::internal::Relationship;
/// let names = Relationship::ALL.map(Relationship::name);
/// assert_eq!(names, ["associative", "atomic", "separable"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relationship {
    /// List items are identified by key or value. For a map, equivalent to `Separable`.
    Associative,
    /// The list or map has one set of owners, like a scalar.
    Atomic,
    /// Each map entry has its own owners; the default for maps.
    Separable,
}

impl Relationship {
    /// All relationships.
    pub const ALL: [Relationship; 3] = [
        Relationship::Associative,
        Relationship::Atomic,
        Relationship::Separable,
    ];

    /// The name used in schema files.
    pub fn name(self) -> &'static str {
        match self {
            Relationship::Associative => "associative",
            Relationship::Atomic => "atomic",
            Relationship::Separable => "separable",
        }
    }
}

/// A reference to a named type, or an inlined type.
///
/// ```
/// use fieldmanager_schema::internal::{Relationship, TypeRef};
/// // The labels of a selector: the type is granular, but atomic in this field.
/// let selector = TypeRef {
///     named: Some("labels".into()),
///     relationship: Some(Relationship::Atomic),
///     ..TypeRef::default()
/// };
/// assert!(selector.inlined.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeRef {
    /// The name of the referenced type; `inlined` is empty in this case.
    pub named: Option<Str>,
    /// The inlined type.
    pub inlined: AtomDef,
    /// Overrides the relationship of the referenced type: that of its map or, if it has none, of its list.
    pub relationship: Option<Relationship>,
    /// Whether null is valid, as with `nullable` in OpenAPI. Preserved but not enforced: like the Go package, this
    /// library accepts null everywhere.
    pub nullable: bool,
}

/// A list.
///
/// ```
/// use fieldmanager_schema::internal::{ListDef, Relationship, TypeRef};
/// let containers = ListDef {
///     element: TypeRef { named: Some("container".into()), ..TypeRef::default() },
///     relationship: Some(Relationship::Associative),
///     keys: vec!["name".into()],
/// };
/// assert_eq!(containers.keys, ["name"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListDef {
    /// The type of the items.
    pub element: TypeRef,
    /// Atomic or associative. Required.
    pub relationship: Option<Relationship>,
    /// For an associative list of maps, the fields that identify an item.
    pub keys: Vec<Str>,
}

/// A map or a struct: declared fields and the type of all others.
///
/// ```
/// use fieldmanager_schema::internal::{AtomDef, FieldDef, MapDef, Scalar, TypeRef};
/// let inlined = AtomDef { scalar: Some(Scalar::Numeric), ..AtomDef::default() };
/// let replicas = FieldDef {
///     name: "replicas".into(),
///     ty: TypeRef { inlined, ..TypeRef::default() },
///     default: Some(1.into()),
/// };
/// // A struct: without `element`, undeclared fields are invalid.
/// let spec = MapDef { fields: vec![replicas], ..MapDef::default() };
/// assert!(spec.element.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapDef {
    /// The declared fields, with unique names.
    pub fields: Vec<FieldDef>,
    /// Groups of fields of which at most one may be set.
    pub unions: Vec<Union>,
    /// The type of undeclared fields. If `None`, undeclared fields are invalid.
    pub element: Option<TypeRef>,
    /// The relationship; separable if `None`.
    pub relationship: Option<Relationship>,
}

/// A field of a struct.
///
/// ```
/// use fieldmanager_schema::internal::type_definitions;
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types:
/// - name: port
///   map: {fields: [{name: protocol, type: {scalar: string}, default: TCP}]}
/// ")?;
/// let port = type_definitions(&schema)[0].atom.map.as_ref().unwrap();
/// assert_eq!(port.fields[0].default, Some("TCP".into()));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldDef {
    /// The name used in objects.
    pub name: Str,
    /// The type of the value.
    pub ty: TypeRef,
    /// The value assumed for an object without the field. Only the defaults of list keys have an effect.
    pub default: Option<Value>,
}

/// A group of fields of a struct of which at most one may be set ("oneOf").
///
/// This is the format of the Go package, with extensions so that the declarations of KEP-1027 round-trip.
///
/// ```
/// use fieldmanager_schema::internal::{Union, UnionField};
/// let field = |field: &str, value: &str| UnionField {
///     field: field.into(),
///     value: value.into(),
///     optional: false,
/// };
/// let strategy = Union {
///     discriminator: Some("type".into()),
///     fields: vec![field("rollingUpdate", "RollingUpdate")],
///     empty_members: vec!["Recreate".into()],
///     closed: true,
///     ..Union::default()
/// };
/// assert!(!strategy.deduce && !strategy.required);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Union {
    /// The field whose value names the selected member.
    pub discriminator: Option<Str>,
    /// `deduceInvalidDiscriminator`: the discriminator follows the member that is set. A union without a discriminator
    /// is always deduced.
    pub deduce: bool,
    /// The members.
    pub fields: Vec<UnionField>,
    /// Discriminator values that select no member. Extension.
    pub empty_members: Vec<Str>,
    /// Whether undeclared discriminator values are invalid. Extension.
    pub closed: bool,
    /// Whether exactly one member must be set. Extension.
    pub required: bool,
}

impl Union {
    /// Whether the discriminator follows the member that is set. Otherwise the value of the discriminator takes
    /// precedence.
    ///
    /// ```
    /// use fieldmanager_schema::internal::Union;
    /// assert!(Union::default().is_deducing());
    /// let respecting = Union { discriminator: Some("type".into()), ..Union::default() };
    /// assert!(!respecting.is_deducing());
    /// ```
    pub fn is_deducing(&self) -> bool {
        self.deduce || self.discriminator.is_none()
    }

    /// The member selected by a value of the discriminator.
    ///
    /// ```
    /// use fieldmanager_schema::internal::{Union, UnionField};
    /// let member = UnionField { field: "exec".into(), value: "Exec".into(), optional: false };
    /// let union = Union { fields: vec![member.clone()], ..Union::default() };
    /// assert_eq!(union.selected_by("Exec"), Some(&member));
    /// assert_eq!(union.selected_by("exec"), None);
    /// ```
    pub fn selected_by(&self, value: &str) -> Option<&UnionField> {
        self.fields.iter().find(|field| field.value == value)
    }

    /// Whether the union declares a value of the discriminator, either for a member or as an empty member.
    ///
    /// ```
    /// use fieldmanager_schema::internal::Union;
    /// let union = Union { empty_members: vec!["None".into()], ..Union::default() };
    /// assert!(union.declares("None") && !union.declares("Exec"));
    /// ```
    pub fn declares(&self, value: &str) -> bool {
        self.selected_by(value).is_some() || self.empty_members.iter().any(|known| *known == value)
    }

    /// The declared values of the discriminator: those of members first, then the empty members.
    ///
    /// ```
    /// use fieldmanager_schema::internal::{Union, UnionField};
    /// let member = UnionField { field: "exec".into(), value: "Exec".into(), optional: false };
    /// let union = Union { fields: vec![member], empty_members: vec!["None".into()], ..Union::default() };
    /// assert_eq!(union.values().collect::<Vec<_>>(), ["Exec", "None"]);
    /// ```
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.fields
            .iter()
            .map(|field| &field.value)
            .chain(&self.empty_members)
            .map(Str::as_str)
    }
}

/// A member of a union.
///
/// ```
/// use fieldmanager_schema::internal::UnionField;
/// // Selected by `type: RollingUpdate`, which is valid even if the field is not set.
/// let member = UnionField {
///     field: "rollingUpdate".into(),
///     value: "RollingUpdate".into(),
///     optional: true,
/// };
/// assert_eq!(member.field, "rollingUpdate");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnionField {
    /// The name of the field.
    pub field: Str,
    /// The value of the discriminator that selects the member.
    pub value: Str,
    /// Whether the member may be selected without being set. Extension.
    pub optional: bool,
}
