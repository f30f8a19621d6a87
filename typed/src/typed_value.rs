//! The typed value.

use std::fmt;

use fieldmanager_schema::Type;
use fieldmanager_value::Value;

use crate::error::{Error, ValidationErrors};
use crate::validate::{self, Duplicates};

/// A value that fits a type. Cloning is O(1).
///
/// It exists only validated: [`new`](Self::new) checks, and what is made from typed values fits by
/// construction. One exception is inherited from the Go package: removing a key field from an item by its
/// path leaves an item without its key; merging or comparing such a value is an error.
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
    pub(crate) known: Known,
}

/// What is known of the lists and unions of a value; it decides which walks may skip what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Every item has its key.
    pub(crate) keyed: bool,
    /// No two items of a list have the same key. Not knowing is no fault.
    pub(crate) unique: bool,
    /// Its unions were normalized: normalizing again, without a change, does nothing.
    pub(crate) normalized: bool,
}

impl Known {
    pub(crate) const GOOD: Known = Known { keyed: true, unique: true, normalized: true };

    pub(crate) fn and(self, other: Known) -> Known {
        Known {
            keyed: self.keyed && other.keyed,
            unique: self.unique && other.unique,
            normalized: self.normalized && other.normalized,
        }
    }
}

impl TypedValue {
    /// A value as one of a type.
    ///
    /// # Errors
    ///
    /// Every place where the value does not fit the type: wrong kinds, fields that are not declared (with
    /// the nearest that are), list items without keys, and duplicates unless they are allowed.
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
    pub fn new(value: Value, ty: Type, duplicates: Duplicates) -> Result<TypedValue, ValidationErrors> {
        let unique = validate::validate(&value, &ty, duplicates)?;
        let normalized = !ty.schema().has_unions(ty.id());
        Ok(TypedValue { value, ty, known: Known { keyed: true, unique, normalized } })
    }

    /// Null, which is the object before there is one. It fits every type.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::TypedValue;
    /// let object = TypedValue::null(Schema::deduced());
    /// assert!(object.value().is_null() && object.field_set().is_empty());
    /// ```
    pub fn null(ty: Type) -> TypedValue {
        TypedValue { value: Value::Null, ty, known: Known::GOOD }
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value, without its type.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Whether every item of an associative list is known to have its keys. Removing a key field by its path
    /// leaves an item without it, and then some operations find a fault that others do not look for.
    ///
    /// ```
    /// use fieldmanager_schema::Schema;
    /// use fieldmanager_typed::TypedValue;
    /// assert!(TypedValue::null(Schema::deduced()).has_all_keys());
    /// ```
    #[doc(hidden)]
    pub fn has_all_keys(&self) -> bool {
        self.known.keyed
    }

    /// The type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Checks that another value is of the same type, that is of the same type of an equal schema.
    pub(crate) fn check_type(&self, other: &TypedValue) -> Result<(), Error> {
        let same =
            self.ty == other.ty || (self.ty.id() == other.ty.id() && self.ty.schema() == other.ty.schema());
        if same {
            return Ok(());
        }
        Err(Error::TypesDiffer { left: self.ty.name().into(), right: other.ty.name().into() })
    }
}

impl fmt::Debug for TypedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.ty, self.value)
    }
}
