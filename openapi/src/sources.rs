//! Files with types: one document of any kind, or any number of custom resource definitions.

use std::collections::BTreeMap;
use std::fmt;

use fieldmanager_schema::Schema;
use fieldmanager_schema::internal::{TypeDef, resolve_definitions, type_definitions};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::{Str, Value};

use crate::types::types_of;
use crate::{Imported, Importer, LoadError, Types};

/// The kinds of documents with types.
///
/// ```
/// use fieldmanager_openapi::internal::SourceKind;
/// use fieldmanager_value::Value;
/// let kind = SourceKind::detect(&Value::from_yaml("{openapi: 3.0.0, components: {schemas: {}}}")?);
/// assert_eq!(kind, Some(SourceKind::OpenApi));
/// assert_eq!(kind.unwrap().to_string(), "an OpenAPI document");
/// assert_eq!(SourceKind::detect(&Value::from_yaml("{apiVersion: v1, kind: Pod}")?), None);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A schema in the format of structured-merge-diff.
    Schema,
    /// An OpenAPI document, version 2 or 3, or a JSON schema with `$defs`.
    OpenApi,
    /// A `CustomResourceDefinition`.
    CustomResource,
}

impl SourceKind {
    /// The kind of a document; `None` if it is not a source of types.
    pub fn detect(document: &Value) -> Option<Self> {
        let document = document.as_map()?;
        let has = |name: &str| document.contains(name);
        if document.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
            Some(SourceKind::CustomResource)
        } else if has("types") {
            Some(SourceKind::Schema)
        } else if ["swagger", "openapi", "definitions", "components", "$defs"]
            .into_iter()
            .any(has)
        {
            Some(SourceKind::OpenApi)
        } else {
            None
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SourceKind::Schema => "a schema",
            SourceKind::OpenApi => "an OpenAPI document",
            SourceKind::CustomResource => "a CustomResourceDefinition",
        })
    }
}

/// An error of loading types from documents.
///
/// ```
/// use fieldmanager_openapi::{Importer, Types};
/// use fieldmanager_value::Value;
/// let error = Types::load_all(&[], &Importer::new()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "expected a schema, an OpenAPI document or a CustomResourceDefinition, found no document",
/// );
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// None of the documents has types.
    #[error("expected a schema, an OpenAPI document or a CustomResourceDefinition, found {found}")]
    NoSource {
        /// A description of the documents.
        found: String,
    },
    /// Several documents, and not all of them are custom resource definitions.
    #[error("{first} and {second} in one file: only custom resource definitions may share a file")]
    Several {
        /// The kind of the first document.
        first: SourceKind,
        /// The kind of another document.
        second: SourceKind,
    },
    /// A schema or an OpenAPI document has faults.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A custom resource definition has faults.
    #[error("{}", each_line(name, source))]
    CustomResource {
        /// The name of the definition, if it has one.
        name: String,
        /// The fault.
        source: Box<LoadError>,
    },
    /// Two custom resource definitions define different types with the same name.
    #[error("type `{name}` is defined twice, and differently")]
    Differs {
        /// The name of the type.
        name: String,
    },
}

fn each_line(name: &str, source: &LoadError) -> String {
    let text = source.to_string();
    let lines: Vec<String> = text.lines().map(|line| format!("{name}: {line}")).collect();
    lines.join("\n")
}

/// Returns the documents of a file that contain types. A list is replaced by its objects, and all other Kubernetes
/// objects are skipped.
///
/// ```
/// use fieldmanager_openapi::internal::sources;
/// use fieldmanager_value::Value;
/// let file = [Value::from_yaml("{kind: List, items: [{kind: CustomResourceDefinition}, {kind: Pod}]}")?];
/// assert_eq!(sources(&file).len(), 1);
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn sources(documents: &[Value]) -> Vec<Value> {
    let mut out = Vec::new();
    for document in documents {
        // The definitions of a list, as clients print it, count one by one.
        match document.get("items") {
            Some(Value::List(items)) if is_list(document) => {
                out.extend(
                    items
                        .iter()
                        .filter(|item| SourceKind::detect(item).is_some())
                        .cloned(),
                );
            }
            _ if SourceKind::detect(document).is_some() => out.push(document.clone()),
            _ => {}
        }
    }

    out
}

fn is_list(document: &Value) -> bool {
    document
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.ends_with("List"))
}

impl Types {
    /// Loads types from the documents of a file: a schema, an OpenAPI document, or any number of custom resource
    /// definitions, whose types are combined. Documents that [`sources`] skips are ignored.
    ///
    /// # Errors
    ///
    /// [`SourceError`].
    ///
    /// ```
    /// use fieldmanager_openapi::{GroupVersionKind, Importer, Types};
    /// use fieldmanager_value::Value;
    /// let file = ["Shop", "Market"].map(|kind| Value::from_yaml(&format!("
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// spec:
    ///   group: example.com
    ///   names: {{kind: {kind}, plural: places}}
    ///   scope: Cluster
    ///   versions: [{{name: v1, served: true, storage: true}}]
    /// ")).unwrap());
    /// let types = Types::load_all(&file, &Importer::new())?.types;
    /// assert!(types.for_kind(&GroupVersionKind::from_api_version_kind("example.com/v1", "Market")).is_ok());
    /// # Ok::<(), fieldmanager_openapi::SourceError>(())
    /// ```
    pub fn load_all(documents: &[Value], importer: &Importer) -> Result<Imported, SourceError> {
        let sources = sources(documents);
        let kinds: Vec<SourceKind> = sources.iter().filter_map(SourceKind::detect).collect();
        // A schema or an OpenAPI document stands alone; only custom resource definitions share a file.
        match (sources.as_slice(), kinds.as_slice()) {
            ([], _) | (_, []) => Err(SourceError::NoSource {
                found: found(documents),
            }),
            ([document], [SourceKind::Schema]) => Ok(Imported::from(Types::load(document)?)),
            ([document], [SourceKind::OpenApi]) => Ok(importer.document(document)?),
            (all, kinds) => match kinds
                .iter()
                .position(|kind| *kind != SourceKind::CustomResource)
            {
                None => custom_resources(all, importer),
                Some(other) => {
                    let at = |i: usize| kinds.get(i).copied().unwrap_or(SourceKind::Schema);
                    let (a, b) = if other == 0 { (0, 1) } else { (0, other) };
                    Err(SourceError::Several {
                        first: at(a),
                        second: at(b),
                    })
                }
            },
        }
    }
}

impl From<Types> for Imported {
    fn from(types: Types) -> Self {
        Imported {
            types,
            warnings: Vec::new(),
            unions: Vec::new(),
            faults: Vec::new(),
        }
    }
}

fn found(documents: &[Value]) -> String {
    match documents {
        [] => "no document".to_owned(),
        [document, ..] => match document.complete_kind() {
            Some(kind) => format!("{} {}", kind.api_version(), kind.kind),
            None => format!("a {} without them", document.kind()),
        },
    }
}

/// Combines the types of custom resource definitions.
fn custom_resources(documents: &[Value], importer: &Importer) -> Result<Imported, SourceError> {
    let mut types: BTreeMap<Str, TypeDef> = BTreeMap::new();
    let mut kinds: Vec<(GroupVersionKind, Str)> = Vec::new();
    let mut all = Imported::from(Types::from(Schema::deduced().schema().clone()));
    for document in documents {
        let name = document.name().unwrap_or("a definition without a name");
        let imported =
            custom_resource(document, importer).map_err(|source| SourceError::CustomResource {
                name: name.to_owned(),
                source: Box::new(source),
            })?;

        // All definitions bring the untyped types, and versions may share others. One name must have one meaning.
        for def in type_definitions(imported.types.schema()) {
            match types.get(&def.name) {
                Some(known) if known != def => {
                    return Err(SourceError::Differs {
                        name: def.name.to_string(),
                    });
                }
                Some(_) => {}
                None => {
                    types.insert(def.name.clone(), def.clone());
                }
            }
        }

        for (kind, names) in imported.types.kinds() {
            kinds.extend(names.iter().map(|name| (kind.clone(), name.clone())));
        }
        all.warnings.extend(imported.warnings);
        all.unions.extend(imported.unions);
        all.faults.extend(imported.faults);
    }

    // The schema is resolved again, because the types of all definitions are in it.
    let schema = resolve_definitions(types.into_values().collect()).map_err(LoadError::Schema)?;
    all.types = types_of(schema, kinds);
    Ok(all)
}

fn custom_resource(document: &Value, importer: &Importer) -> Result<Imported, LoadError> {
    Ok(importer.custom_resource(&CustomResource::from_value(document)?)?)
}
