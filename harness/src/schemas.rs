//! Where the schema of a scenario comes from.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fieldmanager_schema::Schema;
use fieldmanager_value::Value;

use crate::Error;
use crate::files;

/// The schema of a scenario: `schema` in the file.
///
/// A schema that is no valid one is a failure of the scenarios that use it; only a file that cannot be
/// read at all keeps them from being loaded.
#[derive(Clone, Debug)]
pub enum SchemaSource {
    /// Written in place.
    Inline(Value),
    /// In a file, read when the scenario is. A schema that scenarios share is resolved once.
    File {
        /// Where, as the scenario is found from.
        path: PathBuf,
        /// The schema.
        schema: Result<Schema, SchemaError>,
    },
    /// One that comes with the library, `builtin:NAME`.
    Builtin(String),
}

impl SchemaSource {
    /// The schema.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if it is not valid, or of a kind that is not supported.
    ///
    /// ```
    /// use fieldmanager_harness::SchemaSource;
    /// use fieldmanager_value::Value;
    ///
    /// let document = Value::from_yaml("types: [{name: app, scalar: text}]")?;
    /// let error = SchemaSource::Inline(document).schema().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "type `app`: .types[name=\"app\"].scalar: unknown scalar `text`, \
    ///      accepted are numeric, string, boolean and untyped",
    /// );
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn schema(&self) -> Result<Schema, SchemaError> {
        match self {
            SchemaSource::Inline(document) => read(document),
            SchemaSource::File { schema, .. } => schema.clone(),
            SchemaSource::Builtin(name) => {
                Err(SchemaError::Unsupported { what: format!("schema `builtin:{name}`") })
            }
        }
    }
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is not valid.
    #[error("{}{source}", file.as_ref().map(|f| format!("{}: ", f.display())).unwrap_or_default())]
    Invalid {
        /// The file that it is in, if it has one of its own.
        file: Option<PathBuf>,
        /// What is wrong with it.
        source: fieldmanager_schema::Error,
    },
    /// It is of a kind that this version cannot use.
    #[error("{what} is not supported yet")]
    Unsupported {
        /// What it is.
        what: String,
    },
}

fn read(document: &Value) -> Result<Schema, SchemaError> {
    if let Some(what) = foreign(document) {
        return Err(SchemaError::Unsupported { what: format!("{what} as schema") });
    }
    Schema::from_value(document).map_err(|source| SchemaError::Invalid { file: None, source })
}

/// The kinds of documents that hold types in another form than the schema's own.
fn foreign(document: &Value) -> Option<&'static str> {
    let kind = document.get("kind").and_then(Value::as_str);
    if document.get("swagger").is_some() {
        Some("an OpenAPI v2 document")
    } else if document.get("openapi").is_some() {
        Some("an OpenAPI v3 document")
    } else if kind == Some("CustomResourceDefinition") {
        Some("a CustomResourceDefinition")
    } else {
        None
    }
}

/// Whether a document is a schema of any kind. They stand beside the scenarios that use them.
pub(crate) fn is_schema(document: &Value) -> bool {
    foreign(document).is_some() || document.get("types").is_some_and(|t| t.as_list().is_some())
}

/// Reads each schema file once.
#[derive(Default)]
pub(crate) struct SchemaFiles(HashMap<PathBuf, Result<Schema, SchemaError>>);

impl SchemaFiles {
    /// The schema of a file; the outer error says that there is no document to be read.
    pub(crate) fn schema(&mut self, path: &Path) -> Result<Result<Schema, SchemaError>, Error> {
        if let Some(known) = self.0.get(path) {
            return Ok(known.clone());
        }
        let schema = read(&files::one_document(path)?).map_err(|error| match error {
            SchemaError::Invalid { source, .. } => SchemaError::Invalid { file: Some(path.into()), source },
            unsupported => unsupported,
        });
        self.0.insert(path.into(), schema.clone());
        Ok(schema)
    }
}
