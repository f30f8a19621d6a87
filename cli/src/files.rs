//! Reading objects and schemas from files.

use std::io::Read;
use std::path::Path;

use fieldmanager_value::Value;

use crate::error::Failure;

/// How a file is called in messages.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() }
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let read = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    read.map_err(|error| Failure::input(name(path), format!("cannot be read: {error}")))
}

/// The one document of a file.
pub(crate) fn value(path: &Path) -> Result<Value, Failure> {
    Value::from_yaml(&text(path)?).map_err(|error| Failure::input(name(path), error))
}

/// The documents of a file, without empty ones.
pub(crate) fn documents(path: &Path) -> Result<Vec<Value>, Failure> {
    let text = text(path)?;
    // OpenAPI documents are large, and JSON is read much faster than YAML.
    if text.trim_start().starts_with('{')
        && let Ok(document) = Value::from_json(&text)
    {
        return Ok(vec![document]);
    }
    let documents = Value::all_from_yaml(&text).map_err(|error| Failure::input(name(path), error))?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}
