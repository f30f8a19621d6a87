//! The recorded files: written, or compared with those that exist.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value as Json;

use super::error::Error;

/// The folder of the facts that are compiled in, and that of the documents that tests read, below the folder of the crate.
const FOLDERS: [&str; 2] = ["src/facts/data", "tests/data"];

/// The folder of the facts of resources, which the crate `builtin` has.
const RESOURCES: &str = "../builtin/src/data";

/// Recorded files by folder and name, with their decompressed and their compressed content.
#[derive(Debug, Default)]
pub struct Files(BTreeMap<PathBuf, (Vec<u8>, Vec<u8>)>, Vec<PathBuf>);

impl Files {
    /// JSON with one line per item of a list, so that two recordings can be compared.
    pub(super) fn json(&mut self, name: &str, value: &Json) {
        self.bytes(name, lines(value).into_bytes());
    }

    /// The same for facts of resources.
    pub(super) fn resources(&mut self, name: &str, value: &Json) {
        self.add(RESOURCES, name, lines(value).into_bytes());
    }

    pub(super) fn test(&mut self, name: &str, value: &Json) {
        self.test_bytes(name, lines(value).into_bytes());
    }

    /// A file for tests that has times, and so is not compared.
    pub(super) fn sample(&mut self, name: &str, value: &Json) {
        let [_, folder] = FOLDERS;
        self.1.push(Path::new(folder).join(format!("{name}.gz")));
        self.test(name, value);
    }

    pub(super) fn bytes(&mut self, name: &str, bytes: Vec<u8>) {
        let [folder, _] = FOLDERS;
        self.add(folder, name, bytes);
    }

    pub(super) fn test_bytes(&mut self, name: &str, bytes: Vec<u8>) {
        let [_, folder] = FOLDERS;
        self.add(folder, name, bytes);
    }

    /// Appends a member to a file of several compressed members, and returns its compressed size.
    pub(super) fn append(&mut self, name: &str, bytes: Vec<u8>) -> usize {
        let [folder, _] = FOLDERS;
        self.add(folder, name, bytes)
    }

    fn add(&mut self, folder: &str, name: &str, bytes: Vec<u8>) -> usize {
        let compressed = compress(&bytes);
        let size = compressed.len();
        // A file of gzip can have several members behind each other, so appending compressed bytes is valid.
        let file = self
            .0
            .entry(Path::new(folder).join(format!("{name}.gz")))
            .or_default();
        file.0.extend(bytes);
        file.1.extend(compressed);
        size
    }

    /// Writes the files below the folder of the crate, and returns a line for each.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        for (name, (content, compressed)) in &self.0 {
            let path = folder.join(name);
            let failed = |source| Error::File {
                path: path.clone(),
                source,
            };
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(failed)?;
            }

            fs::write(&path, compressed).map_err(failed)?;
            lines.push(format!(
                "{}: {} bytes, {} decompressed",
                path.display(),
                compressed.len(),
                content.len()
            ));
        }

        Ok(lines)
    }

    /// A line for each line of the files below the folder of the crate that changed: `-` what is stored, `+` what was
    /// recorded.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn changes(&self, folder: &Path) -> Result<Vec<String>, Error> {
        let mut out = Vec::new();
        for (name, (content, _)) in self.0.iter().filter(|(name, _)| !self.1.contains(name)) {
            let path = folder.join(name);
            let failed = |source| Error::File {
                path: path.clone(),
                source,
            };
            // The contents are compared: another compressor makes other bytes of the same content.
            let mut stored = Vec::new();
            let file = fs::File::open(&path).map_err(failed)?;
            MultiGzDecoder::new(file)
                .read_to_end(&mut stored)
                .map_err(failed)?;

            if stored != *content {
                out.push(format!("{}:", path.display()));
                out.extend(differences(
                    &String::from_utf8_lossy(&stored),
                    &String::from_utf8_lossy(content),
                ));
            }
        }

        Ok(out)
    }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // A vector takes every write.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn lines(value: &Json) -> String {
    match value {
        Json::Array(items) if !items.is_empty() => {
            let items: Vec<String> = items.iter().map(Json::to_string).collect();
            format!("[\n{}\n]\n", items.join(",\n"))
        }
        Json::Object(members) if !members.is_empty() => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}: {value}", Json::from(name.as_str())))
                .collect();
            format!("{{\n{}\n}}\n", members.join(",\n"))
        }
        other => format!("{other}\n"),
    }
}

/// The lines that only one of two texts has, cut to a readable length.
fn differences(old: &str, new: &str) -> Vec<String> {
    // Lines can move, so they are counted and not compared by position.
    let count = |text: &str| {
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        for line in text.lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    };
    let (old, new) = (count(old), count(new));
    let only =
        |sign: char, here: &BTreeMap<String, i64>, there: &BTreeMap<String, i64>| -> Vec<String> {
            let missing = here
                .iter()
                .filter(|(line, count)| there.get(*line) != Some(count));
            missing
                .map(|(line, _)| format!("{sign} {}", line.chars().take(200).collect::<String>()))
                .collect()
        };

    [only('-', &old, &new), only('+', &new, &old)].concat()
}
