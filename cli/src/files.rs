//! Reading objects and schemas from files.

use std::io::Read;
use std::path::Path;

use fieldmanager_schema::Schema;
use fieldmanager_value::Value;

use crate::error::Failure;

/// How a file is called in messages.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() }
}

fn text(path: &Path) -> Result<String, Failure> {
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

pub(crate) fn schema(path: &Path) -> Result<Schema, Failure> {
    Schema::from_yaml(&text(path)?).map_err(|error| {
        let file = name(path);
        // Every fault on a line of its own, each with the file.
        let message = error.to_string().replace('\n', &format!("\n       {file}: "));
        Failure::input(file, message)
    })
}
