//! Origins of scenarios.

use std::fmt;
use std::path::PathBuf;

use fieldmanager_value::TextPosition;

/// The origin of a scenario, as far as it is known.
///
/// `Display` formats it as the start of a message: `tests/a.yaml: line 3 column 1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: Option<PathBuf>,
    /// The position in the file.
    pub position: Option<TextPosition>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.position) {
            (Some(file), Some(position)) => write!(f, "{}: {position}", file.display()),
            (Some(file), None) => write!(f, "{}", file.display()),
            (None, Some(position)) => position.fmt(f),
            (None, None) => f.write_str("scenario"),
        }
    }
}
