//! The schema of a scenario.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ahash::HashMap;
use fieldmanager_openapi::internal::{SourceKind, sources};
use fieldmanager_openapi::{Importer, SourceError, Types, builtin};
use fieldmanager_patch::PatchTypes;
use fieldmanager_value::Value;

use crate::Error;
use crate::files;

/// The schema of a scenario: `schema` in the file.
///
/// An invalid schema is a failure of the scenarios that use it; only a schema file that cannot be read prevents the
/// scenarios from being loaded.
#[derive(Clone, Debug)]
pub enum SchemaSource {
    /// The schema itself.
    Inline(Value),
    /// In a file, which is read with the scenario. A schema shared by several scenarios is resolved once.
    File {
        /// The path, relative to the working folder.
        path: PathBuf,
        /// The documents in the file.
        documents: Arc<[Value]>,
        /// The types in the file.
        types: Result<Types, SchemaError>,
        /// The merge strategies in the file, if it is an OpenAPI document.
        strategies: Option<PatchTypes>,
    },
    /// A bundled schema, `builtin:NAME`.
    Builtin(String),
}

/// The name of the bundled schema of Kubernetes.
const KUBERNETES: &str = "kubernetes";

impl SchemaSource {
    /// The types of a schema in the format of structured-merge-diff, of an OpenAPI document or of custom resource
    /// definitions, or the bundled types.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if the schema is none of these or has faults.
    ///
    /// ```
    /// use fieldmanager_harness::internal::SchemaSource;
    /// use fieldmanager_value::Value;
    ///
    /// let document = Value::from_yaml("types: [{name: app, scalar: text}]")?;
    /// let error = SchemaSource::Inline(document).types().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "type `app`: .types[name=\"app\"].scalar: unknown scalar `text`, \
    ///      accepted are numeric, string, boolean and untyped",
    /// );
    /// assert!(SchemaSource::Builtin("kubernetes".into()).types().is_ok());
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn types(&self) -> Result<Types, SchemaError> {
        match self {
            // An inline schema may omit even its types.
            SchemaSource::Inline(document) if SourceKind::detect(document).is_none() => {
                Types::load(&with_types(document)).map_err(|error| SchemaError::new(None, error))
            }
            SchemaSource::Inline(document) => read(std::slice::from_ref(document), None),
            SchemaSource::File { types, .. } => types.clone(),
            SchemaSource::Builtin(name) if name == KUBERNETES => Ok(builtin::types()),
            SchemaSource::Builtin(name) => Err(SchemaError::Unknown { name: name.clone() }),
        }
    }

    /// The CustomResourceDefinitions of the schema, for a server; none for the bundled schema.
    ///
    /// # Errors
    ///
    /// A message if the schema is of another kind.
    pub fn definitions(&self) -> Result<&[Value], String> {
        let documents = match self {
            SchemaSource::Builtin(_) => return Ok(&[]),
            SchemaSource::Inline(document) => std::slice::from_ref(document),
            SchemaSource::File { documents, .. } => documents,
        };
        let is_definition = |document: &Value| {
            document.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition")
        };

        if documents.iter().all(is_definition) {
            Ok(documents)
        } else {
            Err("the schema is not one that a server can serve: expected CustomResourceDefinitions, or \
                          `builtin:kubernetes`"
                    .to_owned())
        }
    }

    /// The strategies for strategic merge patches, from an OpenAPI document or the bundled ones. `None` for custom
    /// resource definitions and schemas in the format of structured-merge-diff.
    ///
    /// ```
    /// use fieldmanager_harness::internal::SchemaSource;
    /// use fieldmanager_value::Value;
    ///
    /// assert!(SchemaSource::Builtin("kubernetes".into()).strategies().is_some());
    /// let schema = Value::from_yaml("types: [{name: app, scalar: string}]")?;
    /// assert!(SchemaSource::Inline(schema).strategies().is_none());
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn strategies(&self) -> Option<PatchTypes> {
        match self {
            SchemaSource::Inline(document) => strategies(std::slice::from_ref(document)),
            SchemaSource::File { strategies, .. } => strategies.clone(),
            SchemaSource::Builtin(name) if name == KUBERNETES => {
                Some(fieldmanager_patch::builtin::types().clone())
            }
            SchemaSource::Builtin(_) => None,
        }
    }
}

/// Adds `types` to a map without them, so that faults are reported for its other fields.
fn with_types(document: &Value) -> Value {
    let mut document = document.clone();
    if let Value::Map(map) = &mut document {
        map.insert("types", Value::Null);
    }
    document
}

/// An error of a schema.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is not valid.
    #[error("{}{source}", file.as_ref().map(|f| format!("{}: ", f.display())).unwrap_or_default())]
    Invalid {
        /// The file of the schema, if it has one.
        file: Option<PathBuf>,
        /// The fault.
        source: Box<SourceError>,
    },
    /// There is no bundled schema with this name.
    #[error("there is no schema `builtin:{name}`, the only one is `builtin:{KUBERNETES}`")]
    Unknown {
        /// The requested name.
        name: String,
    },
}

impl SchemaError {
    fn new(file: Option<&Path>, source: impl Into<SourceError>) -> Self {
        SchemaError::Invalid {
            file: file.map(Into::into),
            source: Box::new(source.into()),
        }
    }
}

fn read(documents: &[Value], file: Option<&Path>) -> Result<Types, SchemaError> {
    let imported = Types::load_all(documents, &Importer::new());
    imported
        .map(|imported| imported.types)
        .map_err(|error| SchemaError::new(file, error))
}

/// The merge strategies of documents with types. Only OpenAPI documents have strategies.
fn strategies(documents: &[Value]) -> Option<PatchTypes> {
    let found = sources(documents);
    let document = found
        .iter()
        .find(|document| SourceKind::detect(document) == Some(SourceKind::OpenApi))?;
    PatchTypes::from_openapi(document).ok()
}

/// Whether a document is a schema of any kind. Folders of scenarios also contain their schemas.
pub(crate) fn is_schema(document: &Value) -> bool {
    match SourceKind::detect(document) {
        Some(SourceKind::Schema) => document
            .get("types")
            .is_some_and(|types| types.as_list().is_some()),
        other => other.is_some(),
    }
}

/// Reads each schema file once.
pub(crate) struct SchemaFiles {
    known: HashMap<PathBuf, SchemaSource>,
    /// The documents of files that are part of the program.
    embedded: HashMap<PathBuf, Vec<Value>>,
    max_input: u64,
}

impl SchemaFiles {
    pub(crate) fn new(max_input: u64) -> Self {
        SchemaFiles {
            known: HashMap::default(),
            embedded: HashMap::default(),
            max_input,
        }
    }

    /// Adds a file that is part of the program.
    pub(crate) fn embed(&mut self, path: &Path, documents: Vec<Value>) {
        self.embedded.insert(path.into(), documents);
    }

    /// The schema of a file; an error if its documents cannot be read.
    pub(crate) fn schema(&mut self, path: &Path) -> Result<SchemaSource, Error> {
        if let Some(known) = self.known.get(path) {
            return Ok(known.clone());
        }
        let documents: Arc<[Value]> = match self.embedded.get(&without_parents(path)) {
            Some(documents) => documents.as_slice().into(),
            None => files::values(path, self.max_input)?.into(),
        };
        let source = SchemaSource::File {
            path: path.into(),
            documents: Arc::clone(&documents),
            types: read(&documents, Some(path)),
            strategies: strategies(&documents),
        };
        self.known.insert(path.into(), source.clone());

        Ok(source)
    }
}

/// The path without its `..`, since files that are part of the program have no folders to follow.
fn without_parents(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
