//! Resolved schemas: references are ids, and field lookups do not allocate.

use std::fmt;
use std::sync::{Arc, LazyLock};

use ahash::RandomState;
use fieldmanager_value::{Str, Value};
use hashbrown::HashMap;

use crate::definition::{Scalar, TypeDef, Union};
use crate::names::FieldNames;
use crate::similar::similar_names;
use crate::write;

/// The id of a type within its schema. Ids of different schemas are unrelated.
///
/// ```
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("types: [{name: node, map: {elementType: {namedType: node}}}]")?;
/// let node = schema.type_named("node").unwrap();
/// // A recursive type refers to its own id.
/// assert_eq!(node.atom().map.as_ref().unwrap().element, Some(node.id()));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub(crate) u32);

/// A schema: named types with all references resolved. Cloning is O(1).
///
/// Two schemas are equal if their definitions are equal.
///
/// ```
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("types: [{name: app, scalar: string}]")?;
/// assert!(schema.clone() == schema);
/// assert_eq!(schema, Schema::from_value(&schema.to_value())?);
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone)]
pub struct Schema(pub(crate) Arc<ResolvedSchema>);

pub(crate) struct ResolvedSchema {
    pub(crate) types: Vec<TypeDef>,
    pub(crate) by_name: HashMap<Str, TypeId, RandomState>,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) plain: bool,
    /// For each atom, whether it or a descendant has a union, excluding atomic parts.
    pub(crate) with_unions: Vec<bool>,
    /// The same, including atomic parts.
    pub(crate) with_atomic_unions: Vec<bool>,
}

/// The kinds accepted by a type, with references resolved. See [`AtomDef`](crate::definition::AtomDef).
///
/// ```
/// use fieldmanager_schema::internal::Scalar;
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("types: [{name: app, scalar: string}]")?;
/// let app = schema.type_named("app").unwrap();
/// assert_eq!(app.atom().scalar, Some(Scalar::String));
/// assert!(app.atom().list.is_none() && app.atom().map.is_none() && !app.atom().inlined);
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Atom {
    /// A scalar.
    pub scalar: Option<Scalar>,
    /// A list.
    pub list: Option<ListType>,
    /// A map.
    pub map: Option<MapType>,
    /// The name of the type, or of the type that contains it.
    pub name: Str,
    /// Whether the type is inlined rather than named.
    pub inlined: bool,
}

/// A list type.
///
/// ```
/// use fieldmanager_schema::internal::Scalar;
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types:
/// - {name: finalizers, list: {elementType: {scalar: string}, elementRelationship: associative}}
/// ")?;
/// let finalizers = schema.type_named("finalizers").unwrap();
/// let list = finalizers.atom().list.as_ref().unwrap();
/// assert!(!list.atomic && list.keys.is_empty());
/// assert_eq!(schema.atom(list.element).scalar, Some(Scalar::String));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ListType {
    /// The type of the items.
    pub element: TypeId,
    /// Whether the list has one set of owners. Otherwise it is associative.
    pub atomic: bool,
    /// For an associative list of maps, the fields that identify an item. Empty for a set.
    pub keys: Vec<KeyField>,
}

/// A field that is part of the key of an item.
///
/// ```
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types:
/// - name: ports
///   list:
///     elementRelationship: associative
///     keys: [protocol]
///     elementType: {map: {fields: [{name: protocol, type: {scalar: string}, default: TCP}]}}
/// ")?;
/// let ports = schema.type_named("ports").unwrap();
/// let key = &ports.atom().list.as_ref().unwrap().keys[0];
/// assert_eq!((key.name.as_str(), &key.default), ("protocol", &Some("TCP".into())));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyField {
    /// The name of the field.
    pub name: Str,
    /// The value assumed for an item without the field.
    pub default: Option<Value>,
}

/// A map or struct type.
///
/// ```
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types:
/// - name: app
///   map:
///     fields: [{name: replicas, type: {scalar: numeric}}, {name: image, type: {scalar: string}}]
/// ")?;
/// let app = schema.type_named("app").unwrap();
/// let map = app.atom().map.as_ref().unwrap();
/// let names: Vec<&str> = map.fields().iter().map(|field| field.name.as_str()).collect();
/// assert_eq!(names, ["image", "replicas"]);
/// assert!(map.field("replicas").is_some() && map.type_of("paused").is_none() && !map.atomic);
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MapType {
    /// The declared fields, sorted by name.
    pub(crate) fields: Vec<Field>,
    pub(crate) names: FieldNames,
    /// The type of undeclared fields. If `None`, undeclared fields are invalid.
    pub element: Option<TypeId>,
    /// Whether the map has one set of owners.
    pub atomic: bool,
    /// Groups of fields of which at most one may be set. Unions whose discriminator is not a field of the struct or
    /// does not accept strings are omitted, since they have no effect.
    pub unions: Vec<Union>,
    /// Whether the type declares no fields and accepts any, like an object without a schema.
    pub untyped: bool,
}

/// A declared field of a struct.
///
/// ```
/// use fieldmanager_schema::internal::Scalar;
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types: [{name: app, map: {fields: [{name: replicas, type: {scalar: numeric}, default: 1}]}}]
/// ")?;
/// let app = schema.type_named("app").unwrap();
/// let replicas = app.atom().map.as_ref().unwrap().field("replicas").unwrap();
/// assert_eq!(schema.atom(replicas.ty).scalar, Some(Scalar::Numeric));
/// assert_eq!(replicas.default, Some(1.into()));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Field {
    /// The name of the field.
    pub name: Str,
    /// The type of the value.
    pub ty: TypeId,
    /// The value assumed for an object without the field.
    pub default: Option<Value>,
}

impl MapType {
    /// The declared field with a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(self.position(name)?)
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.names.find(name, |at| Some(&self.fields.get(at)?.name))
    }

    /// The declared fields, sorted by name.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The type of the field with a name, declared or not. Returns `None` if the field is not accepted.
    ///
    /// ```
    /// use fieldmanager_schema::internal::Scalar;
    /// use fieldmanager_schema::Schema;
    /// let schema = Schema::from_yaml("
    /// types: [{name: m, map: {fields: [{name: a, type: {scalar: string}}], elementType: {scalar: numeric}}}]
    /// ")?;
    /// let ty = schema.type_named("m").unwrap();
    /// let map = ty.atom().map.as_ref().unwrap();
    /// let scalar = |name| schema.atom(map.type_of(name).unwrap()).scalar;
    /// assert_eq!((scalar("a"), scalar("any")), (Some(Scalar::String), Some(Scalar::Numeric)));
    /// # Ok::<(), fieldmanager_schema::Error>(())
    /// ```
    pub fn type_of(&self, name: &str) -> Option<TypeId> {
        self.field(name).map(|field| field.ty).or(self.element)
    }

    /// Returns at most three declared fields with similar names, the most similar first, for error messages about
    /// undeclared fields.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// let schema = Schema::from_yaml("
    /// types: [{name: app, map: {fields: [{name: replicas, type: {scalar: numeric}}]}}]
    /// ")?;
    /// let app = schema.type_named("app").unwrap();
    /// let map = app.atom().map.as_ref().unwrap();
    /// assert_eq!(map.nearest_fields("Replica"), ["replicas"]);
    /// assert!(map.nearest_fields("image").is_empty());
    /// # Ok::<(), fieldmanager_schema::Error>(())
    /// ```
    pub fn nearest_fields(&self, name: &str) -> Vec<&str> {
        let names = self.fields.iter().map(|field| field.name.as_str());
        similar_names(name, names.map(|name| (name, name)), 0.85)
    }
}

impl Schema {
    /// The type with a name.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// let schema = Schema::from_yaml("types: [{name: app, scalar: string}]")?;
    /// assert_eq!(schema.type_named("app").unwrap().name(), "app");
    /// assert!(schema.type_named("App").is_none());
    /// # Ok::<(), fieldmanager_schema::Error>(())
    /// ```
    pub fn type_named(&self, name: &str) -> Option<Type> {
        let id = *self.0.by_name.get(name)?;
        Some(Type {
            schema: self.clone(),
            id,
        })
    }

    /// Iterates over the names of the types, in the order of the schema.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// let schema = Schema::from_yaml("types: [{name: b, scalar: string}, {name: a, scalar: string}]")?;
    /// assert_eq!(schema.type_names().collect::<Vec<_>>(), ["b", "a"]);
    /// # Ok::<(), fieldmanager_schema::Error>(())
    /// ```
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.0.types.iter().map(|def| def.name.as_str())
    }

    /// The kinds accepted by a type.
    ///
    /// For an id of another schema, this returns an unrelated atom or one that accepts no value. It never panics.
    ///
    /// ```
    /// use fieldmanager_schema::internal::Scalar;
    /// use fieldmanager_schema::Schema;
    /// let schema = Schema::from_yaml("types: [{name: app, scalar: string}]")?;
    /// let id = schema.type_named("app").unwrap().id();
    /// assert_eq!(schema.atom(id).scalar, Some(Scalar::String));
    /// # Ok::<(), fieldmanager_schema::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn atom(&self, id: TypeId) -> &Atom {
        usize::try_from(id.0)
            .ok()
            .and_then(|at| self.0.atoms.get(at))
            .unwrap_or(&NOTHING)
    }

    /// Returns the schema as a document in the format of the Go package.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// let schema = Schema::from_yaml("types: [{name: app, scalar: string, map: null}]")?;
    /// assert_eq!(schema.to_value().to_json(), r#"{"types":[{"name":"app","scalar":"string"}]}"#);
    /// # Ok::<(), fieldmanager_schema::Error>(())
    /// ```
    pub fn to_value(&self) -> Value {
        write::schema(&self.0.types)
    }

    /// Whether both schemas share one allocation, so that ids are valid for both.
    pub(crate) fn ptr_eq(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The definitions of the schema.
///
/// ```
/// use fieldmanager_schema::internal::{Scalar, type_definitions};
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("types: [{name: app, scalar: string}]")?;
/// assert_eq!(type_definitions(&schema)[0].atom.scalar, Some(Scalar::String));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
pub fn type_definitions(schema: &Schema) -> &[TypeDef] {
    &schema.0.types
}

/// Whether a value of a type may contain a struct with a union outside of atomic lists and maps. If not, walks that
/// handle unions can skip it.
///
/// ```
/// use fieldmanager_schema::internal::has_unions;
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types:
/// - name: probe
///   map:
///     fields: [{name: exec, type: {scalar: string}}]
///     unions: [{fields: [{fieldName: exec}]}]
/// - {name: text, scalar: string}
/// ")?;
/// let has = |name| has_unions(&schema, schema.type_named(name).unwrap().id());
/// assert!(has("probe") && !has("text"));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
pub fn has_unions(schema: &Schema, id: TypeId) -> bool {
    usize::try_from(id.0)
        .ok()
        .and_then(|at| schema.0.with_unions.get(at))
        .copied()
        .unwrap_or_default()
}

/// Whether a value of a type may contain a struct with a union, including atomic lists and maps. Validation uses
/// this.
///
/// ```
/// use fieldmanager_schema::internal::{has_unions, has_unions_anywhere};
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("
/// types:
/// - name: frozen
///   list:
///     elementRelationship: atomic
///     elementType: {map: {fields: [{name: a, type: {scalar: string}}], unions: [{fields: [{fieldName: a}]}]}}
/// ")?;
/// let id = schema.type_named("frozen").unwrap().id();
/// assert!(has_unions_anywhere(&schema, id) && !has_unions(&schema, id));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
pub fn has_unions_anywhere(schema: &Schema, id: TypeId) -> bool {
    let at = usize::try_from(id.0).ok();
    at.and_then(|at| schema.0.with_atomic_unions.get(at))
        .copied()
        .unwrap_or_default()
}

/// Whether no type accepts both maps and associative lists. In this case the field set of a value never needs to be
/// reconciled with the type from which it was derived.
///
/// ```
/// use fieldmanager_schema::internal::has_no_polymorphic_types;
/// use fieldmanager_schema::Schema;
/// assert!(has_no_polymorphic_types(&Schema::deduced().schema()));
/// let schema = Schema::from_yaml("
/// types:
/// - name: either
///   list: {elementType: {scalar: string}, elementRelationship: associative}
///   map: {elementType: {scalar: string}}
/// ")?;
/// assert!(!has_no_polymorphic_types(&schema));
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
pub fn has_no_polymorphic_types(schema: &Schema) -> bool {
    schema.0.plain
}

/// An atom that accepts no value.
pub(crate) static NOTHING: LazyLock<Atom> = LazyLock::new(|| Atom {
    scalar: None,
    list: None,
    map: None,
    name: Str::default(),
    inlined: true,
});

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || self.0.types == other.0.types
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.type_names()).finish()
    }
}

/// A type together with its schema. Cloning is O(1).
///
/// ```
/// use fieldmanager_schema::Schema;
/// let schema = Schema::from_yaml("types: [{name: app, scalar: string}]")?;
/// let app = schema.type_named("app").unwrap();
/// assert_eq!(app.name(), "app");
/// assert!(app.schema() == &schema && app.atom().scalar.is_some());
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
#[derive(Clone)]
pub struct Type {
    pub(crate) schema: Schema,
    pub(crate) id: TypeId,
}

impl Type {
    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The id of the type in its schema.
    #[doc(hidden)]
    pub fn id(&self) -> TypeId {
        self.id
    }

    /// The kinds accepted by the type.
    #[doc(hidden)]
    pub fn atom(&self) -> &Atom {
        self.schema.atom(self.id)
    }

    /// The name of the type.
    pub fn name(&self) -> &str {
        &self.atom().name
    }
}

/// Types are equal if they have the same id in the same allocation of a schema.
impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.schema.ptr_eq(&other.schema)
    }
}

impl Eq for Type {}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
