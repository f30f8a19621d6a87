//! Writes the inputs to files, for the Go side.

use std::fs;
use std::io;
use std::path::Path;

use crate::objects::{OBJECTS, object, schema_text};
use crate::operations::{self, BYTES, bytes_texts, fields_of};
use crate::sizes;

/// Writes the schemas and the objects.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_objects(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for name in ["kubernetes", "catalog", "sizes"] {
        fs::write(
            folder.join(format!("schema-{name}.yaml")),
            schema_text(name),
        )?;
    }
    for name in OBJECTS {
        let Some(object) = object(name) else { continue };
        fs::write(folder.join(format!("object-{name}.json")), &object.json)?;
        // One line: the file of the schema, and the name of the type in it.
        fs::write(
            folder.join(format!("type-{name}.txt")),
            format!("{} {}", object.schema, object.type_name),
        )?;
        let fields = fields_of(name).unwrap_or_default();
        fs::write(
            folder.join(format!("fields-{name}-reversed.json")),
            operations::reverse(&fields),
        )?;
        fs::write(folder.join(format!("fields-{name}.json")), fields)?;
    }
    Ok(())
}

/// Writes the live objects and configurations of `bytes`.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_bytes(folder: &Path) -> io::Result<()> {
    for name in OBJECTS {
        for what in BYTES {
            let Some(texts) = bytes_texts(name, what) else {
                continue;
            };
            fs::write(folder.join(format!("live-{name}-{what}.json")), texts.live)?;
            fs::write(
                folder.join(format!("config-{name}-{what}.json")),
                texts.config,
            )?;
        }
    }
    Ok(())
}

/// Writes the objects and sets of a size.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_size(folder: &Path, n: usize) -> io::Result<()> {
    let write = |name: &str, text: String| fs::write(folder.join(format!("{name}-{n}.json")), text);
    write("list", sizes::list(n))?;
    write("map", sizes::map(n))?;
    for round in [0, 1] {
        write(&format!("list-change{round}"), sizes::list_change(n, round))?;
        write(&format!("map-change{round}"), sizes::map_change(n, round))?;
    }
    let parts: Vec<String> = (0..sizes::MANAGERS)
        .map(|manager| sizes::list_part(n, manager))
        .collect();
    write("list-parts", format!("[{}]", parts.join(",")))?;
    write("set", sizes::set(n))?;
    write("set-reversed", sizes::set_reversed(n))?;
    write("set-change", sizes::set_change(n))?;
    write("set-new", sizes::set_new(n))
}
