//! Decodes custom resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_structural::crd::{CrdError, CustomResource};
use fieldmanager_structural::internal::{go_type, prune_defaults};
use fieldmanager_structural::{Error, FieldPath, Structural};
use fieldmanager_value::{Map, Str, Value};

use crate::go_value::accessor_error;

/// Decodes the objects of a custom resource at one version: prunes unknown fields, drops nulls that are not allowed,
/// coerces metadata and fills in defaults.
///
/// Behaviour: `customresource_handler.go` of `k8s.io/apiextensions-apiserver/pkg/apiserver`. All operations share the
/// unchanged parts of an object with the original.
///
/// ```
/// use fieldmanager_handlers::custom::Decoder;
/// use fieldmanager_structural::crd::CustomResource;
/// use fieldmanager_value::Value;
///
/// let shop = CustomResource::from_value(&Value::from_yaml("
/// apiVersion: apiextensions.k8s.io/v1
/// kind: CustomResourceDefinition
/// metadata: {name: shops.example.com}
/// spec:
///   group: example.com
///   names: {kind: Shop, plural: shops}
///   scope: Namespaced
///   versions:
///   - name: v1
///     served: true
///     storage: true
///     schema:
///       openAPIV3Schema:
///         type: object
///         properties:
///           spec:
///             type: object
///             properties: {color: {type: string}, replicas: {type: integer, default: 1}}
/// ")?)?;
/// let decoder = Decoder::new(&shop, "v1")?;
/// let object = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, spec: {color: null, colour: red}}")?;
/// let decoded = decoder.decode(&object)?;
/// assert_eq!(decoded.object.to_json(), r#"{"apiVersion":"example.com/v1","kind":"Shop","spec":{"replicas":1}}"#);
/// assert_eq!(decoded.unknown, ["spec.colour"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder {
    definition: Arc<Definition>,
    /// The version of requests.
    version: Str,
    fills_defaults: bool,
}

/// The parts of a definition that decoding needs.
#[derive(Debug)]
struct Definition {
    group: Str,
    kind: Str,
    preserves_unknown: bool,
    storage_version: Str,
    /// The schemas by version, with pruned defaults.
    schemas: BTreeMap<Str, Structural>,
}

/// A decoded object.
///
/// ```
/// # use fieldmanager_handlers::custom::Decoder;
/// # use fieldmanager_structural::crd::CustomResource;
/// # use fieldmanager_value::Value;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// let object = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, color: red}}")?;
/// let decoded = Decoder::new(&shop, "v1")?.decode(&object)?;
/// assert_eq!(decoded.unknown, ["metadata.color"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The object.
    pub object: Value,
    /// The paths of the fields that were dropped because they are unknown, as in the errors of strict decoding
    /// (`unknown field "spec.colour"`): first those of `metadata`, then those of the object, then those of the metadata
    /// of embedded resources.
    pub unknown: Vec<String>,
}

/// An error of decoding a custom resource. The texts are those of the API server.
///
/// ```
/// # use fieldmanager_handlers::custom::Decoder;
/// # use fieldmanager_structural::crd::CustomResource;
/// # use fieldmanager_value::Value;
/// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
/// let error = Decoder::new(&shop, "v1")?.decode(&Value::from_yaml("{kind: 1}")?).unwrap_err();
/// assert_eq!(error.to_string(), ".kind accessor error: 1 is of the type int64, expected string");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The object is not a map.
    #[error("expected map, got {0}")]
    NotMap(fieldmanager_value::Kind),
    /// `kind` or `apiVersion` is not a string.
    #[error("{0}")]
    TypeMeta(String),
    /// `metadata` does not fit its Go type.
    #[error("{0}")]
    Metadata(String),
    /// The `apiVersion` or the metadata of an embedded resource is malformed, the object nests too deeply, or its
    /// defaults are too large.
    #[error(transparent)]
    Object(#[from] Error),
}

/// The origin of an object: requests and stored objects are repaired differently.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Request,
    Storage,
}

impl Decoder {
    /// Prepares the decoding of objects at a version.
    ///
    /// # Errors
    ///
    /// [`CrdError::UnknownVersion`]; [`CrdError::Fields`] if a schema is not structural.
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Decoder;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// assert!(Decoder::new(&shop, "v1").is_ok());
    /// assert!(Decoder::new(&shop, "v2").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(custom: &CustomResource, version: &str) -> Result<Decoder, CrdError> {
        custom.version(version)?;
        let mut schemas = BTreeMap::new();

        // All versions are prepared: a request may name another one, and an object may be stored at another one.
        for (at, version) in custom.versions.iter().enumerate() {
            let Some(schema) = &version.schema else {
                continue;
            };
            let path = || {
                let path = FieldPath::root("spec").child("versions").index(at);
                path.child("schema").child("openAPIV3Schema")
            };
            schemas.insert(
                version.name.clone(),
                structural(schema, custom.preserve_unknown_fields, path)?,
            );
        }

        let stored = custom.versions.iter().find(|version| version.storage);
        let definition = Definition {
            group: custom.group.clone(),
            kind: custom.names.kind.clone(),
            preserves_unknown: custom.preserve_unknown_fields,
            storage_version: stored.map_or_else(|| version.into(), |version| version.name.clone()),
            schemas,
        };

        Ok(Decoder {
            definition: Arc::new(definition),
            version: version.into(),
            fills_defaults: true,
        })
    }

    /// A decoder for requests at another version of the same definition.
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Decoder;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let versions = "[{name: v1, served: true, storage: true}, {name: v2, served: true}]";
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
    /// let v2 = Decoder::new(&shop, "v1")?.at_version("v2");
    /// let stored = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop}")?;
    /// assert_eq!(v2.read_stored(&stored)?.to_json(), r#"{"apiVersion":"example.com/v2","kind":"Shop"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn at_version(&self, version: &str) -> Decoder {
        Decoder {
            version: version.into(),
            ..self.clone()
        }
    }

    /// Decodes the object of a request: prunes it, drops nulls, coerces its metadata, and fills in defaults, by the
    /// schema of the version that the object names. An object of another kind keeps its fields.
    ///
    /// Also for the object that a JSON patch or a merge patch made.
    ///
    /// # Errors
    ///
    /// [`DecodeError`].
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Decoder;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// let object = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, metadata: {name: a, labels: {}}}")?;
    /// let decoded = Decoder::new(&shop, "v1")?.decode(&object)?;
    /// assert_eq!(decoded.object.get("metadata"), Some(&Value::from_yaml("{name: a}")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(&self, object: &Value) -> Result<Decoded, DecodeError> {
        let coerced = self.coerce(object, Source::Request)?;
        Ok(Decoded {
            object: self.default(&coerced.object)?,
            unknown: coerced.unknown,
        })
    }

    /// Reads a stored object, at the version of the decoder. What the schema of the stored version does not allow any
    /// more is dropped: unknown fields, and malformed fields of metadata. Defaults of the stored version are filled in.
    ///
    /// # Errors
    ///
    /// [`DecodeError`], if the object was not stored by an API server.
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Decoder;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// let stored = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, metadata: {name: 5}}")?;
    /// let object = Decoder::new(&shop, "v1")?.read_stored(&stored)?;
    /// assert_eq!(object.get("metadata"), Some(&Value::from_yaml("{generation: 1}")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_stored(&self, stored: &Value) -> Result<Value, DecodeError> {
        // The schema at the version of the request may lack fields of the stored version, so it prunes once more.
        self.pruned(&self.converted(&self.stored(stored)?, &self.version))
    }

    /// A stored object at its own version, as [`read_stored`](Self::read_stored) has it before it is converted.
    ///
    /// # Errors
    ///
    /// [`DecodeError`], if the object was not stored by an API server.
    pub fn stored(&self, stored: &Value) -> Result<Value, DecodeError> {
        self.default(&self.coerce(stored, Source::Storage)?.object)
    }

    /// An object after its conversion, with the fields that the version has which it names, and without defaults.
    ///
    /// # Errors
    ///
    /// [`DecodeError`].
    pub fn pruned(&self, object: &Value) -> Result<Value, DecodeError> {
        Ok(self.coerce(object, Source::Request)?.object)
    }

    /// The object to store: converted to the storage version and pruned by its schema.
    ///
    /// An API server answers a request with [`read_stored`](Self::read_stored) of this.
    ///
    /// # Errors
    ///
    /// [`DecodeError`].
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Decoder;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let versions = "[{name: v1, served: true, storage: true}, {name: v2, served: true}]";
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop(versions))?;
    /// let object = Value::from_yaml("{apiVersion: example.com/v2, kind: Shop}")?;
    /// let stored = Decoder::new(&shop, "v2")?.to_stored(&object)?;
    /// assert_eq!(stored.get("apiVersion"), Some(&Value::from("example.com/v1")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_stored(&self, object: &Value) -> Result<Value, DecodeError> {
        self.pruned(&self.converted(object, &self.definition.storage_version))
    }

    /// Fills in the defaults of the version that the object names, as after an apply.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Object`].
    ///
    /// ```
    /// # use fieldmanager_handlers::custom::Decoder;
    /// # use fieldmanager_structural::crd::CustomResource;
    /// # use fieldmanager_value::Value;
    /// # let shop = CustomResource::from_value(&fieldmanager_testing::shop_with_scale())?;
    /// let object = Value::from_yaml("{apiVersion: example.com/v1, kind: Shop}")?;
    /// assert!(Decoder::new(&shop, "v1")?.default(&object)?.ptr_eq(&object));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn default(&self, object: &Value) -> Result<Value, DecodeError> {
        let schema = self
            .own_version(object)
            .and_then(|version| self.definition.schemas.get(version));
        match schema.filter(|_| self.fills_defaults) {
            Some(schema) => Ok(schema.default_object(object)?),
            None => Ok(object.clone()),
        }
    }

    /// The schema of the version, with pruned defaults; `None` if it has none.
    pub(crate) fn schema(&self) -> Option<&Structural> {
        self.definition.schemas.get(&self.version)
    }

    /// The decoder that fills in defaults or does not.
    pub(crate) fn with_defaults(self, on: bool) -> Self {
        Decoder {
            fills_defaults: on,
            ..self
        }
    }

    /// The version of an object of this kind.
    fn own_version<'v>(&self, object: &'v Value) -> Option<&'v str> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = group_version(text("apiVersion"))?;
        (self.definition.group == group && text("kind") == self.definition.kind.as_str())
            .then_some(version)
    }

    /// The object at another version. As in the API server without a conversion webhook, only `apiVersion` differs.
    fn converted(&self, object: &Value, version: &str) -> Value {
        let api_version = format!("{}/{version}", self.definition.group);
        match object {
            Value::Map(map)
                if map.get("apiVersion").and_then(Value::as_str) != Some(&api_version) =>
            {
                let edit = ("apiVersion".into(), Some(Value::from(api_version)));
                Value::Map(map.with_edits(vec![edit]))
            }
            other => other.clone(),
        }
    }

    /// Behaviour: `unstructuredSchemaCoercer`.
    fn coerce(&self, object: &Value, source: Source) -> Result<Decoded, DecodeError> {
        let Value::Map(map) = object else {
            return Err(DecodeError::NotMap(object.kind()));
        };
        for name in ["kind", "apiVersion"] {
            if let Some(other) = map.get(name).filter(|value| value.as_str().is_none()) {
                return Err(DecodeError::TypeMeta(accessor_error(
                    &[name],
                    other,
                    "string",
                )));
            }
        }

        // Repairing a stored object drops malformed fields of its metadata; other values than maps have none to keep.
        let drops_invalid = source == Source::Storage;
        if let Some(other) = map.get("metadata")
            && drops_invalid
            && !matches!(other, Value::Map(_) | Value::Null)
        {
            let fault = format!("invalid metadata: expected object, got {}", go_type(other));
            return Err(DecodeError::Metadata(fault));
        }

        // The metadata of the object has the same type for every kind and version, so no schema is needed for it.
        let root = FieldPath::default();
        let coerced =
            match Structural::default().coerce_metadata(&root, object, true, drops_invalid) {
                Ok(coerced) => coerced,
                Err(Error::Metadata(error)) => return Err(DecodeError::Metadata(error.detail)),
                Err(error) => return Err(error.into()),
            };
        let (mut object, mut unknown) = (coerced.object, coerced.unknown);
        let api_version = map
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();

        if group_version(api_version).is_none() {
            let fault = format!("unexpected GroupVersion string: {api_version}");
            return Err(DecodeError::TypeMeta(fault));
        }

        // An object of another kind or group keeps its fields, since no schema is known for it.
        let Some(version) = self.own_version(&object) else {
            return Ok(Decoded { object, unknown });
        };

        let empty = Structural::default();
        let schema = self.definition.schemas.get(version).unwrap_or(&empty);
        if !self.definition.preserves_unknown {
            let pruned = schema.prune(&object, true)?;
            unknown.extend(pruned.paths);
            object = schema.drop_nulls(&pruned.object)?;
        }

        // Embedded resources are next, so that their unknown fields follow those of the object.
        let embedded = schema.coerce_metadata(&root, &object, false, drops_invalid)?;
        unknown.extend(embedded.unknown);
        object = embedded.object;
        if source == Source::Storage {
            object = with_generation(object);
        }
        Ok(Decoded { object, unknown })
    }
}

/// The structural schema that an API server uses to serve a version.
pub(super) fn structural(
    schema: &Value,
    preserves_unknown: bool,
    path: impl Fn() -> FieldPath,
) -> Result<Structural, CrdError> {
    let structural = Structural::from_value(schema);
    let pruned = match structural {
        Ok(schema) if !preserves_unknown => prune_defaults(&schema),
        Ok(schema) => Ok(schema),
        // Such a definition may have a schema that is not structural, and its objects are not pruned.
        Err(_) if preserves_unknown => Ok(Structural::default()),
        Err(error) => Err(error),
    };

    pruned.map_err(|error| {
        let invalid = fieldmanager_structural::FieldError::invalid(path(), "", error.to_string());
        CrdError::Fields(vec![invalid])
    })
}

/// The group and the version of an `apiVersion`; `None` if it has two slashes.
fn group_version(api_version: &str) -> Option<(&str, &str)> {
    match api_version.split_once('/') {
        None => Some(("", api_version)),
        Some((_, version)) if version.contains('/') => None,
        Some((group, version)) => Some((group, version)),
    }
}

/// The object with a generation, which very old ones lack.
fn with_generation(object: Value) -> Value {
    let Value::Map(map) = &object else {
        return object;
    };
    let Some(Value::Map(metadata)) = map.get("metadata") else {
        return object;
    };
    if metadata.contains("generation") {
        return object;
    }
    let metadata: Map = metadata.with_edits(vec![("generation".into(), Some(Value::Int(1)))]);

    Value::Map(map.with_edits(vec![("metadata".into(), Some(metadata.into()))]))
}
