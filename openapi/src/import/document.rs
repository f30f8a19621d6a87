//! Documents that contain definitions.

use fieldmanager_schema::Schema;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::{CrdError, CustomResource};
use fieldmanager_structural::internal::{ObjectExt as _, is_definition};
use fieldmanager_value::{Map, Str, Value};

use super::fault::Fault;
use super::imported::{ImportError, Imported};
use super::options::Importer;
use crate::Types;
use crate::import::definitions::import_definitions;
use crate::types::types_of;

/// An error of loading types from a document.
///
/// ```
/// use fieldmanager_openapi::{LoadError, Types};
/// use fieldmanager_value::Value;
/// let error = Types::load(&Value::from_yaml("{kind: Pod}")?).unwrap_err();
/// assert!(matches!(error, LoadError::Unknown { .. }));
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The document is not an OpenAPI document.
    #[error(
        "not an OpenAPI document: expected `definitions` (version 2), `components.schemas` (version 3) or `$defs`"
    )]
    NotOpenApi,
    /// The definitions are not a map.
    #[error("{path}: expected a map of schemas, got {found}")]
    NotDefinitions {
        /// The path, in field-path notation.
        path: &'static str,
        /// The kind of the value.
        found: fieldmanager_value::Kind,
    },
    /// The document is not of a supported kind.
    #[error(
        "no schema: expected an OpenAPI document, a CustomResourceDefinition, or a schema with `types`, got {found}"
    )]
    Unknown {
        /// A description of the document.
        found: String,
    },
    /// A document in the format of structured-merge-diff has faults.
    #[error(transparent)]
    Schema(#[from] fieldmanager_schema::Error),
    /// The kinds of a schema have faults.
    #[error(".kinds[{index}]: expected a map with the strings group, version, kind and type")]
    Kinds {
        /// The index of the entry.
        index: usize,
    },
    /// Definitions have faults.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A custom resource definition has faults.
    #[error(transparent)]
    CustomResource(#[from] CrdError),
}

/// The definitions of an OpenAPI document; `None` if the document is not one.
fn definitions(document: &Value) -> Option<Result<&Map, LoadError>> {
    for (path, at) in [
        (
            ".components.schemas",
            document
                .get("components")
                .and_then(|components| components.get("schemas")),
        ),
        (".definitions", document.get("definitions")),
        (".$defs", document.get("$defs")),
    ] {
        match at {
            None => {}
            Some(Value::Map(definitions)) => return Some(Ok(definitions)),
            Some(other) => {
                return Some(Err(LoadError::NotDefinitions {
                    path,
                    found: other.kind(),
                }));
            }
        }
    }

    None
}

/// Whether definitions have a list with several keys, and no field with a default.
fn lacks_defaults(definitions: &Map) -> bool {
    let mut several_keys = false;
    for (_, definition) in definitions {
        for (_, property) in definition
            .get("properties")
            .and_then(Value::as_map)
            .into_iter()
            .flatten()
        {
            if property.get("default").is_some() {
                return false;
            }
            let keys = property
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_list);
            several_keys |= keys.is_some_and(|keys| keys.len() > 1);
        }
    }

    several_keys
}

impl Importer {
    /// Imports an OpenAPI document: the `definitions` of version 2, the `components.schemas` of version 3, or the
    /// `$defs` of a JSON schema.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the document is not an OpenAPI document or has faults.
    ///
    /// # Warnings
    ///
    /// `/openapi/v2` of a running API server has no defaults, so that a port of a Service is found by
    /// `k:{"port":443}` instead of `k:{"port":443,"protocol":"TCP"}`. A document of this kind gets a warning that names
    /// `/openapi/v3`.
    ///
    /// ```
    /// use fieldmanager_openapi::Importer;
    /// use fieldmanager_value::Value;
    /// let document = Value::from_yaml("
    /// swagger: '2.0'
    /// definitions:
    ///   Service:
    ///     type: object
    ///     properties:
    ///       ports:
    ///         type: array
    ///         items: {type: object, properties: {port: {type: integer}, protocol: {type: string}}}
    ///         x-kubernetes-list-type: map
    ///         x-kubernetes-list-map-keys: [port, protocol]
    /// ")?;
    /// let imported = Importer::new().document(&document)?;
    /// assert!(imported.warnings[0].to_string().ends_with("use /openapi/v3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn document(&self, document: &Value) -> Result<Imported, LoadError> {
        let definitions = definitions(document).ok_or(LoadError::NotOpenApi)??;
        let mut imported = import_definitions(self, definitions)?;
        if document.get("swagger").is_some() && lacks_defaults(definitions) {
            let message = "the document has lists with several keys and no defaults, as /openapi/v2 of an API server: \
                           keys with defaults, such as the protocol of a port, are wrong; use /openapi/v3";
            let (definition, path) = (String::new(), String::new());
            imported.warnings.insert(
                0,
                Fault {
                    definition,
                    path,
                    message: message.to_owned(),
                },
            );
        }

        Ok(imported)
    }
}

impl Types {
    /// Loads types from a document of any supported kind, with default options:
    ///
    /// - an OpenAPI document, version 2 or 3 ([`Importer`]);
    /// - a `CustomResourceDefinition` of `apiextensions.k8s.io/v1`, with the types of all its versions;
    /// - a schema in the format of structured-merge-diff: `types`, and optionally `kinds`, a list of `{group, version,
    ///   kind, type}`. Without `kinds`, types are found by name.
    ///
    /// # Errors
    ///
    /// [`LoadError`].
    ///
    /// ```
    /// use fieldmanager_openapi::Types;
    /// use fieldmanager_value::Value;
    /// let types = Types::load(&Value::from_yaml("
    /// types: [{name: shop, map: {elementType: {scalar: string}}}]
    /// kinds: [{group: '', version: v1, kind: Shop, type: shop}]
    /// ")?)?;
    /// let object = Value::from_yaml("{apiVersion: v1, kind: Shop}")?;
    /// assert_eq!(types.for_object(&object)?.name(), "shop");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(document: &Value) -> Result<Types, LoadError> {
        // `types` distinguishes a schema from the other documents.
        if let Value::Map(map) = document
            && map.contains("types")
        {
            return schema_with_kinds(map);
        }

        if is_definition(document) {
            return Ok(Types::from_custom_resource(&CustomResource::from_value(
                document,
            )?)?);
        }

        if definitions(document).is_some() {
            return Ok(Importer::new().document(document)?.types);
        }
        let found = match document.complete_kind() {
            Some(kind) => format!("{} {}", kind.api_version(), kind.kind),
            None => document.kind().to_string(),
        };

        Err(LoadError::Unknown { found })
    }
}

/// Serializes the types as a document that [`load`](Types::load) reads: a schema in the format of
/// structured-merge-diff, with `kinds` beside its `types`, which other readers of that format ignore.
///
/// ```
/// use fieldmanager_openapi::Types;
/// use fieldmanager_openapi::internal::types_document;
/// use fieldmanager_value::Value;
/// let text = r#"{"kinds":[{"group":"","kind":"Shop","type":"shop","version":"v1"}],"types":[{"name":"shop","scalar":"string"}]}"#;
/// assert_eq!(types_document(&Types::load(&Value::from_json(text)?)?).to_json(), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn types_document(types: &Types) -> Value {
    let mut document = types.schema().to_value();
    let mut kinds: Vec<Value> = Vec::new();
    for (kind, names) in types.kinds() {
        for name in names {
            let fields = [
                ("group", &kind.group),
                ("version", &kind.version),
                ("kind", &kind.kind),
                ("type", name),
            ];
            let fields = fields.map(|(name, text)| (Str::from(name), Value::from(text)));
            kinds.push(Value::Map(fields.into_iter().collect()));
        }
    }

    if let Value::Map(map) = &mut document
        && !kinds.is_empty()
    {
        map.insert("kinds", Value::List(kinds.into_iter().collect()));
    }
    document
}

fn schema_with_kinds(document: &Map) -> Result<Types, LoadError> {
    // The schema itself does not accept `kinds`, so they are read apart from it.
    let mut schema = document.clone();
    let kinds = schema.remove("kinds");
    let schema = Schema::from_value(&Value::Map(schema))?;
    let entries = match &kinds {
        None | Some(Value::Null) => return Ok(Types::from(schema)),
        Some(Value::List(entries)) => entries,
        Some(other) => {
            return Err(LoadError::NotDefinitions {
                path: ".kinds",
                found: other.kind(),
            });
        }
    };

    let mut kinds = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let text = |name: &str| match entry.get(name) {
            Some(Value::String(text)) => Ok(Str::from(text)),
            _ => Err(LoadError::Kinds { index }),
        };
        let kind = GroupVersionKind {
            group: text("group")?,
            version: text("version")?,
            kind: text("kind")?,
        };
        kinds.push((kind, text("type")?));
    }

    Ok(types_of(schema, kinds))
}
