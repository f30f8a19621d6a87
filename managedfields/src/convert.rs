//! Conversion of objects between versions.

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_merge::{ConvertError, Converter};
use fieldmanager_openapi::{GroupVersionKind, KindError, Types};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::Value;

/// Converts objects between the versions of a kind.
///
/// ```
/// use fieldmanager_fieldpath::ApiVersion;
/// use fieldmanager_managedfields::{ConvertError, ObjectConverter};
/// use fieldmanager_value::{Map, Value};
///
/// /// `replicas` at v2 was `size` at v1.
/// struct Shops;
///
/// impl ObjectConverter for Shops {
///     fn convert(&self, object: &Value, version: &ApiVersion) -> Result<Value, ConvertError> {
///         let (from, to) = match version.as_str() {
///             "example.com/v1" => ("replicas", "size"),
///             "example.com/v2" => ("size", "replicas"),
///             _ => return Err(ConvertError::MissingVersion { version: version.clone() }),
///         };
///         let mut fields = object.as_map().cloned().unwrap_or_default();
///         if let Some(value) = fields.remove(from) {
///             fields.insert(to, value);
///         }
///         fields.insert("apiVersion", version.as_str());
///         Ok(Value::Map(fields))
///     }
/// }
/// let v1 = Value::from_json(r#"{"apiVersion":"example.com/v1","size":1}"#)?;
/// let v2 = Shops.convert(&v1, &"example.com/v2".into())?;
/// assert_eq!(v2.to_json(), r#"{"apiVersion":"example.com/v2","replicas":1}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ObjectConverter: Send + Sync {
    /// The object at a version. It is never called for the object's own version.
    ///
    /// # Errors
    ///
    /// [`ConvertError::MissingVersion`] if the version no longer exists: entries at it are dropped. Any other error fails
    /// the request.
    fn convert(&self, object: &Value, version: &ApiVersion) -> Result<Value, ConvertError>;
}

/// A converter for kinds whose versions differ only in `apiVersion`, such as custom resources without a conversion
/// webhook.
///
/// ```
/// use fieldmanager_managedfields::{ObjectConverter, SameFields};
/// use fieldmanager_value::Value;
/// let v1 = Value::from_json(r#"{"apiVersion":"v1","data":{}}"#)?;
/// let v2 = SameFields.convert(&v1, &"v2".into())?;
/// assert_eq!(v2.to_json(), r#"{"apiVersion":"v2","data":{}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SameFields;

impl ObjectConverter for SameFields {
    fn convert(&self, object: &Value, version: &ApiVersion) -> Result<Value, ConvertError> {
        let Value::Map(fields) = object else {
            return Ok(object.clone());
        };
        let edit = ("apiVersion".into(), Some(version.as_str().into()));
        Ok(Value::Map(fields.with_edits(vec![edit])))
    }
}

/// Determines the type of the objects of a kind.
#[derive(Clone, Debug)]
pub(crate) enum Typing {
    /// The type of a schema.
    Types(Types),
    /// The type is deduced from the object: maps are granular, lists atomic.
    Deduced,
}

impl Typing {
    pub(crate) fn for_kind(&self, kind: &GroupVersionKind) -> Result<Type, KindError> {
        match self {
            Typing::Types(types) => types.for_kind(kind),
            Typing::Deduced => Ok(Schema::deduced()),
        }
    }
}

/// The object at a version.
pub(crate) fn at_version(
    converter: &dyn ObjectConverter,
    object: &Value,
    version: &ApiVersion,
) -> Result<Value, ConvertError> {
    match object.get("apiVersion").and_then(Value::as_str) {
        Some(own) if own == version.as_str() => Ok(object.clone()),
        // An object without a version is taken to be at the requested one.
        None | Some("") => SameFields.convert(object, version),
        Some(_) => converter.convert(object, version),
    }
}

/// Converts typed values between versions through the hub.
pub(crate) struct ByHub {
    pub(crate) converter: std::sync::Arc<dyn ObjectConverter>,
    pub(crate) hub: ApiVersion,
    pub(crate) kind: GroupVersionKind,
    pub(crate) typing: Typing,
}

impl Converter for ByHub {
    fn convert(
        &self,
        object: &TypedValue,
        version: &ApiVersion,
    ) -> Result<TypedValue, ConvertError> {
        let value = object.value();
        if value.get("apiVersion").and_then(Value::as_str) == Some(version.as_str()) {
            return Ok(object.clone());
        }

        // As in Go, a version with two slashes cannot be parsed.
        if version.as_str().split('/').nth(2).is_some() {
            return Err(ConvertError::MalformedVersion {
                version: version.clone(),
            });
        }

        // As in an API server, each conversion goes through the hub version.
        let hub = at_version(&*self.converter, value, &self.hub)?;
        let converted = at_version(&*self.converter, &hub, version)?;
        let kind = GroupVersionKind::from_api_version_kind(version.as_str(), &self.kind.kind);

        // A version without a type counts as missing, so that its managers are dropped.
        let ty = match self.typing.for_kind(&kind) {
            Ok(ty) => ty,
            Err(KindError::Ambiguous { .. }) => {
                let message = format!("several types claim {kind}");
                return Err(ConvertError::Failed {
                    version: version.clone(),
                    message,
                });
            }
            Err(_) => {
                return Err(ConvertError::MissingVersion {
                    version: version.clone(),
                });
            }
        };

        // A converted live object may have duplicates, as the live object may.
        TypedValue::new(converted, ty, Duplicates::Allow).map_err(|errors| ConvertError::Failed {
            version: version.clone(),
            message: errors.to_string(),
        })
    }
}
