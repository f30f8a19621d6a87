//! Finds and reads files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fieldmanager_value::{Error as ValueError, TextPosition, Value};
use flate2::read::MultiGzDecoder;
use walkdir::WalkDir;

use crate::Error;
use crate::documents::{self, Document, Language};
use crate::origin::Origin;

/// The default limit on the size of a file: 64 MiB. The OpenAPI document of Kubernetes has 5 MB, the largest bundles of
/// custom resource definitions have 20 MB, and an API server accepts objects of up to 3 MB.
pub const MAX_INPUT: u64 = 64 << 20;

const EXTENSIONS: [&str; 4] = ["json", "jsonl", "yaml", "yml"];

/// The files of a folder that may be YAML or JSON, sorted. Hidden files and folders are skipped.
///
/// # Errors
///
/// Of a folder that cannot be read, in its place.
pub fn in_folder(folder: &Path) -> impl Iterator<Item = Result<PathBuf, Error>> {
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    let visible = walk.into_iter().filter_entry(|entry| {
        entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.')
    });
    visible.filter_map(|entry| match entry {
        Ok(entry) if entry.file_type().is_file() && extension(entry.path()).is_some() => {
            Some(Ok(entry.into_path()))
        }
        Ok(_) => None,
        Err(error) => Some(Err(Error::Io {
            file: error.path().unwrap_or(Path::new("")).into(),
            source: Arc::new(error.into()),
        })),
    })
}

/// The extension that determines the language of a file, without `.gz`.
fn extension(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let (_, found) = name.rsplit_once('.')?;
    EXTENSIONS.into_iter().find(|known| *known == found)
}

/// An error of reading input.
///
/// ```
/// use fieldmanager_harness::internal::read_input;
/// let error = read_input(std::io::repeat(0), 1024).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "has more than 1024 bytes, the limit on input: `--max-input` of the command or `Loader::max_input` raises it",
/// );
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be opened, read or decompressed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The input exceeds the size limit, either compressed or decompressed.
    #[error(
        "has more than {limit} bytes, the limit on input: `--max-input` of the command or `Loader::max_input` raises it"
    )]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The bytes are not UTF-8.
    #[error("not valid UTF-8 at {position}")]
    NotUtf8 {
        /// The position of the first invalid byte.
        position: TextPosition,
    },
}

/// Reads a string up to a size limit in bytes, and decompresses gzip. The limit applies to both forms. A byte order
/// mark is removed.
///
/// # Errors
///
/// [`InputError`].
///
/// ```
/// use fieldmanager_harness::MAX_INPUT;
/// use fieldmanager_harness::internal::read_input;
/// assert_eq!(read_input("a: 1".as_bytes(), MAX_INPUT)?, "a: 1");
/// # Ok::<(), fieldmanager_harness::internal::InputError>(())
/// ```
pub fn read_input(reader: impl Read, limit: u64) -> Result<String, InputError> {
    let mut bytes = bytes_up_to(reader, limit)?;
    // The first bytes identify gzip, regardless of the file name.
    if bytes.starts_with(&[0x1f, 0x8b]) {
        bytes = bytes_up_to(MultiGzDecoder::new(bytes.as_slice()), limit)?;
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let end = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(error.as_bytes().get(..end).unwrap_or_default());
        let line = valid.rsplit('\n').next().unwrap_or_default();
        let (line, column) = (valid.matches('\n').count() + 1, line.chars().count() + 1);
        InputError::NotUtf8 {
            position: TextPosition { line, column },
        }
    })?;

    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

fn bytes_up_to(reader: impl Read, limit: u64) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    let read = reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    match u64::try_from(read) {
        Ok(read) if read <= limit => Ok(bytes),
        _ => Err(InputError::TooLarge { limit }),
    }
}

/// Reads a file with [`read_input`].
pub(crate) fn text(path: &Path, limit: u64) -> Result<String, Error> {
    let read = File::open(path)
        .map_err(InputError::from)
        .and_then(|file| read_input(file, limit));
    read.map_err(|error| match error {
        InputError::Io(source) => Error::Io {
            file: path.into(),
            source: Arc::new(source),
        },
        InputError::TooLarge { limit } => Error::TooLarge {
            file: path.into(),
            limit,
        },
        InputError::NotUtf8 { position } => Error::Text {
            origin: Origin {
                file: Some(path.into()),
                position: Some(position),
            },
            message: "expected UTF-8, found other bytes".into(),
        },
    })
}

/// Refuses a FIFO, a device or a socket, whose content may have no end or never begin. For files that the user did not
/// name, such as those that other files name: a FIFO such as that of `<(..)` can be an argument.
///
/// # Errors
///
/// There is no such file, or it is not a regular one.
pub fn require_regular(path: &Path) -> io::Result<()> {
    match path.metadata()? {
        found if found.is_file() => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        )),
    }
}

/// The documents of a file that a scenario names, at least one.
pub(crate) fn values(path: &Path, limit: u64) -> Result<Vec<Value>, Error> {
    require_regular(path).map_err(|source| Error::Io {
        file: path.into(),
        source: Arc::new(source),
    })?;
    let text = text(path, limit)?;
    let found = documents(&text, path)?;
    if found.is_empty() {
        return Err(Error::Empty { file: path.into() });
    }
    Ok(found.into_iter().map(|document| document.value).collect())
}

/// The documents of `text`, the content of the file at the path.
pub(crate) fn documents<'t>(text: &'t str, path: &Path) -> Result<Vec<Document<'t>>, Error> {
    let language = match extension(path) {
        Some("json" | "jsonl") => Language::Json,
        _ => Language::Any,
    };
    documents::parse(text, language).map_err(|error| unreadable(error, Some(path)))
}

/// The error of a file that is neither JSON nor YAML.
pub(crate) fn unreadable(error: ValueError, file: Option<&Path>) -> Error {
    let (position, message) = match error {
        ValueError::Json { position, message } => {
            (Some(position), format!("expected JSON: {message}"))
        }
        ValueError::Yaml { position, message } => (position, format!("expected YAML: {message}")),
        other => (None, other.to_string()),
    };
    let start = TextPosition { line: 1, column: 1 };
    let position = Some(position.unwrap_or(start));

    Error::Text {
        origin: Origin {
            file: file.map(Into::into),
            position,
        },
        message,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn extension_determines_the_language() {
        for (name, expected) in [
            ("a.json", Some("json")),
            ("a.b.jsonl.gz", Some("jsonl")),
            ("a.yml.gz", Some("yml")),
            ("a.gz", None),
            ("a.txt", None),
            ("yaml", None),
        ] {
            assert_eq!(extension(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn input_is_limited_before_and_after_decompression() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b' '; 1_000_000]).unwrap();
        let compressed = encoder.finish().unwrap();
        assert!(compressed.len() < 10_000);
        let error = read_input(compressed.as_slice(), 100_000).unwrap_err();
        assert!(
            matches!(error, InputError::TooLarge { limit: 100_000 }),
            "{error}"
        );
        assert_eq!(
            read_input(compressed.as_slice(), 1_000_000).unwrap().len(),
            1_000_000
        );

        assert!(matches!(
            read_input(io::repeat(0), 10),
            Err(InputError::TooLarge { limit: 10 })
        ));
        assert_eq!(
            read_input("0123456789".as_bytes(), 10).unwrap(),
            "0123456789"
        );
        assert!(read_input("0123456789".as_bytes(), 9).is_err());
        assert!(read_input("0".as_bytes(), u64::MAX).is_ok());
    }
}
