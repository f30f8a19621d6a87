//! Loads scenarios from files and folders.

use std::path::{Path, PathBuf};

use fieldmanager_value::{Error as ValueError, TextPosition, Value};

use crate::documents::{self, Document, Language};
use crate::files::{self, MAX_INPUT};
use crate::format::Format;
use crate::origin::Origin;
use crate::place::{Fault, notation};
use crate::read::Reader;
use crate::scenario::Scenario;
use crate::schemas::{self, SchemaFiles};
use crate::{Error, Errors};

/// Loads the scenarios of files and folders, in order, with the default limits of a [`Loader`].
///
/// A file contains consecutive JSON documents or a YAML stream, and may be compressed with gzip. In a folder, every
/// file with the extension `.json`, `.yaml`, `.yml` or `.jsonl`, optionally followed by `.gz`, is read recursively;
/// schemas are skipped. A file given by name must contain scenarios.
///
/// # Errors
///
/// [`Errors`] with one error for every file that cannot be read.
///
/// ```no_run
/// let scenarios = fieldmanager_harness::load(["tests/scenarios", "tests/one-more.yaml"])?;
/// # Ok::<(), fieldmanager_harness::Errors>(())
/// ```
pub fn load<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Vec<Scenario>, Errors> {
    Loader::new().load(paths)
}

/// Loads scenarios with a limit on input.
///
/// ```
/// use fieldmanager_harness::Loader;
/// let errors = Loader::new().max_input(10).load(["Cargo.toml"]).unwrap_err();
/// assert!(errors.to_string().starts_with("Cargo.toml: has more than 10 bytes, the limit on input"), "{errors}");
/// ```
#[derive(Clone, Debug)]
pub struct Loader {
    max_input: u64,
}

impl Default for Loader {
    fn default() -> Self {
        Loader {
            max_input: MAX_INPUT,
        }
    }
}

impl Loader {
    /// Creates a loader that reads at most [`MAX_INPUT`] bytes of each file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum size of each file: scenario files, the schemas that they refer to, and files in folders. The
    /// limit applies to compressed files before and after decompression.
    #[must_use]
    pub fn max_input(mut self, bytes: u64) -> Self {
        self.max_input = bytes;
        self
    }

    /// Loads the scenarios of files and folders. See [`load`].
    ///
    /// # Errors
    ///
    /// [`Errors`] with one error for every file that cannot be read.
    pub fn load<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Vec<Scenario>, Errors> {
        let mut loading = Loading::new(self.max_input);
        for path in paths {
            loading.path(path.as_ref());
        }
        if loading.errors.is_empty() {
            Ok(loading.scenarios)
        } else {
            Err(Errors(loading.errors))
        }
    }
}

impl Loader {
    /// Loads the scenarios of files that are part of the program, each with its path and its content. A file may also have
    /// the schema of others.
    ///
    /// # Errors
    ///
    /// [`Errors`] with one error for every file that cannot be read.
    pub fn load_embedded(&self, files: &[(&str, &str)]) -> Result<Vec<Scenario>, Errors> {
        let mut loading = Loading::new(self.max_input);
        // A scenario may use the schema of any other file, so all schemas are known before the first scenario is read.
        let mut scenarios = Vec::new();
        for (path, text) in files {
            let path = Path::new(path);
            match files::documents(text, path) {
                Ok(documents)
                    if documents
                        .iter()
                        .any(|document| document.value.get("steps").is_some()) =>
                {
                    scenarios.push((path, documents));
                }
                Ok(documents) => {
                    let values = documents
                        .into_iter()
                        .map(|document| document.value)
                        .collect();
                    loading.schema_files.embed(path, values);
                }
                Err(error) => loading.errors.push(error),
            }
        }

        // The errors of all files are collected, since they can be corrected together.
        for (path, documents) in scenarios {
            let loaded = loading.of_documents(path, &documents, Schemas::Refuse);
            loading.errors.extend(loaded.err());
        }
        if loading.errors.is_empty() {
            Ok(loading.scenarios)
        } else {
            Err(Errors(loading.errors))
        }
    }
}

impl Scenario {
    /// Reads a scenario from a document. Schema paths are relative to the current folder.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] with the path in the document and the expected input.
    ///
    /// ```
    /// use fieldmanager_harness::Scenario;
    /// use fieldmanager_value::Value;
    ///
    /// let error = Scenario::from_value(&Value::from_json(r#"{"schema": {}, "steps": [{"aply": {}}]}"#)?);
    /// let message = error.unwrap_err().to_string();
    /// assert!(message.starts_with("scenario: .steps[0]: unknown step `aply`, accepted are apply, update,"));
    /// # Ok::<(), fieldmanager_value::Error>(())
    /// ```
    pub fn from_value(document: &Value) -> Result<Scenario, Error> {
        let mut loading = Loading::new(MAX_INPUT);
        loading
            .scenario(document, Path::new(""), 1, Origin::default())
            .map_err(|fault| format_error(fault, Origin::default()))
    }

    /// Reads a scenario from a string with one YAML or JSON document. Schema paths are relative to the current folder.
    ///
    /// # Errors
    ///
    /// [`Error::Text`] if it is neither YAML nor JSON, [`Error::Format`] if it is not a scenario.
    pub fn from_yaml(text: &str) -> Result<Scenario, Error> {
        let unreadable = |error| files::unreadable(error, None);
        let documents = documents::parse(text, Language::Any).map_err(unreadable)?;
        // An empty text is read like null, so that it has the fault of a document that is not a scenario.
        let document = match documents.as_slice() {
            [document] => document,
            [] => &Document::default(),
            several => {
                return Err(unreadable(ValueError::Documents {
                    found: several.len(),
                }));
            }
        };
        let mut loading = Loading::new(MAX_INPUT);

        let read = loading.scenario(&document.value, Path::new(""), 1, Origin::default());
        read.map_err(|fault| {
            let position = Some(document.position(&fault));
            format_error(
                fault,
                Origin {
                    file: None,
                    position,
                },
            )
        })
    }
}

fn format_error(fault: Fault, origin: Origin) -> Error {
    Error::Format {
        origin,
        path: notation(&fault.path),
        message: fault.message,
    }
}

/// How to treat a document that is a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Schemas {
    Refuse,
    PassOver,
}

/// The scenarios loaded so far.
struct Loading {
    scenarios: Vec<Scenario>,
    errors: Vec<Error>,
    schema_files: SchemaFiles,
    max_input: u64,
}

impl Loading {
    fn new(max_input: u64) -> Self {
        Loading {
            scenarios: Vec::new(),
            errors: Vec::new(),
            schema_files: SchemaFiles::new(max_input),
            max_input,
        }
    }

    fn path(&mut self, path: &Path) {
        if !path.is_dir() {
            return self.file(path, Schemas::Refuse);
        }
        for file in files::in_folder(path) {
            match file {
                Ok(file) => self.file(&file, Schemas::PassOver),
                Err(error) => self.errors.push(error),
            }
        }
    }

    /// Loads one file up to its first error.
    fn file(&mut self, path: &Path, schemas: Schemas) {
        let loaded = self.scenarios.len();
        // A file is loaded as a whole or not at all, so the scenarios before its error are removed.
        if let Err(error) = self.documents(path, schemas) {
            self.scenarios.truncate(loaded);
            self.errors.push(error);
        }
    }

    fn documents(&mut self, path: &Path, schemas: Schemas) -> Result<(), Error> {
        let text = files::text(path, self.max_input)?;
        let documents = files::documents(&text, path)?;
        if documents.is_empty() && schemas == Schemas::Refuse {
            return Err(Error::Empty { file: path.into() });
        }
        self.of_documents(path, &documents, schemas)
    }

    fn of_documents(
        &mut self,
        path: &Path,
        documents: &[Document<'_>],
        schemas: Schemas,
    ) -> Result<(), Error> {
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        let origin = |position: TextPosition| Origin {
            file: Some(path.into()),
            position: Some(position),
        };

        for (i, document) in documents.iter().enumerate() {
            // A folder may have schemas beside scenarios. A document that is neither is an error: most likely, `steps`
            // is misspelled, and the scenario would never run.
            if schemas == Schemas::PassOver && document.value.get("steps").is_none() {
                if schemas::is_schema(&document.value) {
                    continue;
                }
                return Err(Error::Format {
                    origin: origin(document.start()),
                    path: String::new(),
                    message:
                        "expected a scenario, which has `steps`, or a schema, which has `types`"
                            .into(),
                });
            }

            let read = self.scenario(&document.value, &folder, i + 1, origin(document.start()));
            let scenario = read.map_err(|fault| {
                let position = document.position(&fault);
                format_error(fault, origin(position))
            })?;
            self.scenarios.push(scenario);
        }

        Ok(())
    }

    fn scenario(
        &mut self,
        document: &Value,
        folder: &Path,
        number: usize,
        origin: Origin,
    ) -> Result<Scenario, Fault> {
        let mut format = Format {
            folder,
            files: &mut self.schema_files,
        };
        format.scenario(&mut Reader::default(), document, number, origin)
    }
}
