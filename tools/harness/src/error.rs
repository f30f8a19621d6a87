//! Errors of reading scenario files.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::origin::Origin;

/// An error of reading a file as scenarios: the file, the position in it, and the expected input.
///
/// ```
/// use fieldmanager_harness::Scenario;
///
/// let error = Scenario::from_yaml("
/// name: no manager
/// schema: {types: [{name: app, scalar: numeric}]}
/// types: {v1: app}
/// steps:
/// - apply: {managr: alice, apiVersion: v1, object: 1}
/// ").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 6 column 11: .steps[0].apply: unknown field `managr`, \
///      accepted are manager, apiVersion, object and force",
/// );
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read or decompressed.
    #[error("{}: cannot be read: {source}", file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// The error of the operating system or the decoder.
        source: Arc<std::io::Error>,
    },
    /// A file exceeds the size limit, either compressed or decompressed.
    #[error(
        "{}: has more than {limit} bytes, the limit on input: `--max-input` of the command or `Loader::max_input` \
         raises it",
        file.display()
    )]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file is neither JSON nor YAML.
    #[error("{origin}: {message}")]
    Text {
        /// The position of the syntax error.
        origin: Origin,
        /// The fault.
        message: String,
    },
    /// A document is not a scenario.
    #[error("{origin}: {}{message}", prefix(path))]
    Format {
        /// The position in the file.
        origin: Origin,
        /// The path in the document, in field-path notation.
        path: String,
        /// The expected input.
        message: String,
    },
    /// A file given by name has no documents.
    #[error("{}: expected a document, found none", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
}

fn prefix(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    }
}

/// The errors of all files that could not be read, one line each. Never empty.
///
/// ```
/// let errors = fieldmanager_harness::load(["no/such/file.yaml"]).unwrap_err();
/// assert!(errors.to_string().starts_with("no/such/file.yaml: cannot be read: "));
/// assert_eq!(errors.iter().count(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Errors(pub(crate) Vec<Error>);

impl Errors {
    /// The errors, in the order of the files.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}
