//! Reads objects and schemas from files.

use std::fs::File;
use std::path::Path;

use fieldmanager_harness::internal::{parse_documents, read_input, require_regular};
use fieldmanager_value::{Error, Value};

use crate::error::Failure;

/// The name of a file for messages.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}

/// Reads files up to a size limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files {
    /// The maximum size of a file in bytes.
    pub(crate) max_input: u64,
}

impl Files {
    /// Reads a file as a string.
    pub(crate) fn text(self, path: &Path) -> Result<String, Failure> {
        let read = if path.as_os_str() == "-" {
            read_input(std::io::stdin().lock(), self.max_input)
        } else {
            File::open(path)
                .map_err(Into::into)
                .and_then(|file| read_input(file, self.max_input))
        };
        read.map_err(|error| Failure::input(name(path), error))
    }

    /// Reads a file that the user did not name, which must be a regular one.
    pub(crate) fn found(self, path: &Path) -> Result<String, Failure> {
        require_regular(path).map_err(|error| Failure::input(name(path), error))?;
        self.text(path)
    }

    /// Reads the documents of a file, without empty ones.
    pub(crate) fn documents(self, path: &Path) -> Result<Vec<Value>, Failure> {
        parse_documents(&self.text(path)?).map_err(|error| Failure::input(name(path), error))
    }

    /// Reads the only document of a file. An empty file is null.
    pub(crate) fn value(self, path: &Path) -> Result<Value, Failure> {
        only(path, self.documents(path)?)
    }

    /// Reads the only document of a file, which must be an object.
    pub(crate) fn object(self, path: &Path) -> Result<Value, Failure> {
        only_object(path, self.documents(path)?)
    }
}

fn only(path: &Path, mut documents: Vec<Value>) -> Result<Value, Failure> {
    match documents.len() {
        0 | 1 => Ok(documents.pop().unwrap_or_default()),
        found => Err(Failure::input(name(path), Error::Documents { found })),
    }
}

/// The only document of a file, which must be an object.
pub(crate) fn only_object(path: &Path, documents: Vec<Value>) -> Result<Value, Failure> {
    let object = only(path, documents)?;
    match object.as_map() {
        Some(_) => Ok(object),
        None => Err(Failure::input(
            name(path),
            format!("expected an object, got {}", object.kind()),
        )),
    }
}
