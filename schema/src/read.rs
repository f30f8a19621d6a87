//! Constructors of [`Schema`].

use std::sync::{Arc, LazyLock};

use fieldmanager_value::Value;
use hashbrown::HashMap;

use crate::definition::{AtomDef, ListDef, MapDef, Relationship, Scalar, TypeDef, TypeRef};
use crate::error::Error;
use crate::nested::Nested;
use crate::parse::DefinitionReader;
use crate::resolved::{ResolvedSchema, Schema, Type, TypeId};
use crate::{UNTYPED_ATOMIC, UNTYPED_DEDUCED, build};

impl Schema {
    /// Parses a schema from YAML or JSON in the format of the Go package.
    ///
    /// # Errors
    ///
    /// [`Error::Text`] if the input is not valid YAML, [`Error::Invalid`] with all errors of the schema.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// let schema = Schema::from_yaml("types: [{name: app, map: {elementType: {scalar: string}}}]")?;
    /// assert_eq!(schema.type_names().collect::<Vec<_>>(), ["app"]);
    /// # Ok::<(), fieldmanager_schema::Error>(())
    /// ```
    pub fn from_yaml(text: &str) -> Result<Schema, Error> {
        Self::from_value(&Value::from_yaml(text)?)
    }

    /// Parses a schema from a document in the format of the Go package.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with all errors of the schema: unknown fields and names, duplicates, and the errors of
    /// [`resolve_definitions`].
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_value::Value;
    /// let document = Value::from_yaml("types: [{name: a, map: {elementType: {namedType: b}}}]")?;
    /// let error = Schema::from_value(&document).unwrap_err();
    /// assert!(error.to_string().ends_with("unknown type `b`"));
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn from_value(document: &Value) -> Result<Schema, Error> {
        let mut reader = DefinitionReader::default();
        let types = reader.schema(document);
        if reader.faults.is_empty() {
            resolve_definitions(types)
        } else {
            Err(Error::Invalid(reader.faults))
        }
    }

    /// The type whose structure is deduced from the value: maps are separable, lists are atomic.
    ///
    /// ```
    /// let any = fieldmanager_schema::Schema::deduced();
    /// assert!(any.atom().list.as_ref().unwrap().atomic);
    /// assert!(!any.atom().map.as_ref().unwrap().atomic);
    /// ```
    pub fn deduced() -> Type {
        static DEDUCED: LazyLock<Option<Type>> = LazyLock::new(|| {
            let schema = resolve_definitions(untyped()).ok()?;
            schema.type_named(UNTYPED_DEDUCED)
        });
        DEDUCED.clone().unwrap_or_else(|| Type {
            schema: Schema(Arc::new(ResolvedSchema {
                types: Vec::new(),
                by_name: HashMap::default(),
                atoms: Vec::new(),
                plain: true,
                with_unions: Vec::new(),
                with_atomic_unions: Vec::new(),
            })),
            id: TypeId(0),
        })
    }
}

/// Resolves definitions.
///
/// # Errors
///
/// [`Error::Invalid`] with all errors: references to unknown types, lists without a relationship, associative lists
/// whose keys are not fields of their items, overrides of the relationship of a scalar, and unions that share
/// members or discriminator values.
///
/// ```
/// use fieldmanager_schema::internal::{AtomDef, Scalar, TypeDef, resolve_definitions};
/// use fieldmanager_schema::Schema;
/// let atom = AtomDef { scalar: Some(Scalar::String), ..AtomDef::default() };
/// let schema = resolve_definitions(vec![TypeDef { name: "text".into(), atom }])?;
/// assert!(schema.type_named("text").is_some());
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
pub fn resolve_definitions(types: Vec<TypeDef>) -> Result<Schema, Error> {
    build::schema(types)
}

/// The schema of schema files, which also describes itself. Its type `schema` is that of an entire file.
///
/// # Errors
///
/// None in practice: the document is part of the library and covered by a test.
///
/// ```
/// use fieldmanager_schema::internal::meta_schema;
/// let schemas = meta_schema()?;
/// assert!(schemas.type_named("schema").is_some());
/// # Ok::<(), fieldmanager_schema::Error>(())
/// ```
pub fn meta_schema() -> Result<Schema, Error> {
    Schema::from_yaml(include_str!("meta_schema.yaml"))
}

/// The definitions of the two untyped types.
fn untyped() -> Vec<TypeDef> {
    let reference = |name: &str| TypeRef {
        named: Some(name.into()),
        ..TypeRef::default()
    };
    let def = |name: &str, relationship| TypeDef {
        name: name.into(),
        atom: AtomDef {
            scalar: Some(Scalar::Untyped),
            list: Some(Nested::from(ListDef {
                element: reference(UNTYPED_ATOMIC),
                relationship: Some(Relationship::Atomic),
                keys: Vec::new(),
            })),
            map: Some(Nested::from(MapDef {
                element: Some(reference(name)),
                relationship: Some(relationship),
                ..MapDef::default()
            })),
        },
    };

    vec![
        def(UNTYPED_ATOMIC, Relationship::Atomic),
        def(UNTYPED_DEDUCED, Relationship::Separable),
    ]
}
