//! The typed value.

use std::fmt;

use fieldmanager_schema::Type;
use fieldmanager_schema::internal::has_unions;
use fieldmanager_value::Value;

use crate::error::{Error, ValidationErrors};
use crate::validate::{self, Duplicates};

/// A value that is valid for a type. Cloning is O(1).
///
/// A typed value is always validated: [`new`](Self::new) validates, and values derived from typed values are valid by
/// construction. The exception, inherited from the Go package, is that removing a key field of an item by its path
/// leaves the item without its key; merging or comparing such a value is an error.
///
/// ```
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::{Duplicates, TypedValue};
/// let typed = TypedValue::new(1.into(), Schema::deduced(), Duplicates::Refuse)?;
/// assert_eq!(typed.ty(), &Schema::deduced());
/// assert_eq!(typed.value().as_i64(), Some(1));
/// assert_eq!(typed.into_value(), 1.into());
/// # Ok::<(), fieldmanager_typed::ValidationErrors>(())
/// ```
#[derive(Clone)]
pub struct TypedValue {
    pub(crate) value: Value,
    pub(crate) ty: Type,
    pub(crate) known: KnownProperties,
}

/// The known properties of the lists and unions of a value, which determine the parts that walks may skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownProperties {
    /// Every item has its key.
    pub(crate) keyed: bool,
    /// The keys in each list are unique. Always correct to be false.
    pub(crate) unique: bool,
    /// The unions are normalized: normalizing an unchanged value has no effect.
    pub(crate) normalized: bool,
}

impl KnownProperties {
    pub(crate) const GOOD: KnownProperties = KnownProperties {
        keyed: true,
        unique: true,
        normalized: true,
    };

    pub(crate) fn and(self, other: KnownProperties) -> KnownProperties {
        KnownProperties {
            keyed: self.keyed && other.keyed,
            unique: self.unique && other.unique,
            normalized: self.normalized && other.normalized,
        }
    }
}

impl TypedValue {
    /// Validates a value against a type.
    ///
    /// # Errors
    ///
    /// Every fault of the value: wrong kinds, undeclared fields (with similar declared ones), list items without keys,
    /// and duplicates unless they are allowed.
    ///
    /// Behaviour: `AsTyped` of `sigs.k8s.io/structured-merge-diff/v6/typed`.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::{Duplicates, TypedValue};
    /// use fieldmanager_value::Value;
    ///
    /// let schema = Schema::from_yaml("
    /// types:
    /// - {name: app, map: {fields: [{name: replicas, type: {scalar: numeric}}]}}
    /// ")?;
    /// let value = Value::from_yaml("{replicas: two, replica: 1}")?;
    /// let app = schema.type_named("app").unwrap();
    /// let errors = TypedValue::new(value, app, Duplicates::Refuse).unwrap_err();
    /// assert_eq!(
    ///     errors.to_string(),
    ///     ".replica: field not declared in schema, the nearest declared are `replicas`\n\
    ///      .replicas: expected numeric, got \"two\"",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        value: Value,
        ty: Type,
        duplicates: Duplicates,
    ) -> Result<TypedValue, ValidationErrors> {
        let unique = validate::validate(&value, &ty, duplicates)?;
        let normalized = !has_unions(ty.schema(), ty.id());
        Ok(TypedValue {
            value,
            ty,
            known: KnownProperties {
                keyed: true,
                unique,
                normalized,
            },
        })
    }

    /// Null, the object before its creation. It is valid for every type.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::TypedValue;
    /// let object = TypedValue::null(Schema::deduced());
    /// assert!(object.value().is_null() && object.field_set().is_empty());
    /// ```
    pub fn null(ty: Type) -> TypedValue {
        TypedValue {
            value: Value::Null,
            ty,
            known: KnownProperties::GOOD,
        }
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the value without its type.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Checks that another value has the same type of the same or an equal schema.
    pub(crate) fn check_type(&self, other: &TypedValue) -> Result<(), Error> {
        let same = self.ty == other.ty
            || (self.ty.id() == other.ty.id() && self.ty.schema() == other.ty.schema());
        if same {
            return Ok(());
        }
        Err(Error::TypesDiffer {
            left: self.ty.name().into(),
            right: other.ty.name().into(),
        })
    }
}

/// Whether every item of an associative list is known to have its keys. Removing a key field by its path leaves an
/// item without it; operations on such a value differ in the faults that they detect.
///
/// ```
/// use fieldmanager_typed::internal::has_all_keys;
/// use fieldmanager_schema::Schema;
/// use fieldmanager_typed::TypedValue;
/// assert!(has_all_keys(&TypedValue::null(Schema::deduced())));
/// ```
pub fn has_all_keys(typed: &TypedValue) -> bool {
    typed.known.keyed
}

impl fmt::Debug for TypedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.ty, self.value)
    }
}
