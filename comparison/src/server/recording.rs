//! Recordings: sequences with the answers of a real server, as gzipped JSON lines.
//!
//! The first line has the definitions of the custom kinds, each other line a sequence: `kind`, `path`, `name` and
//! `steps`, each with its `answer`: `code`, `body`, `warnings` if there are any, and `live` if the object that is stored
//! afterwards is not the body of the answer.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};

use super::kinds::Catalog;
use super::request::Step;
use super::session::stored_after;
use crate::Error;
use crate::json::{items, member, set, text};

/// The sequences of a recording, and their requests, each with the object that it found.
pub struct Recording {
    /// The definitions of the custom kinds, as the server stored them.
    pub definitions: Arc<Vec<Json>>,
    /// The recorded sequences.
    pub sequences: Arc<Vec<Json>>,
    /// Sequences of one step, with the object before the last change of the live one.
    pub requests: Arc<Vec<Json>>,
}

/// Puts the answers into the steps of a sequence.
pub(super) fn answered(case: &Json, answer: &Json) -> Json {
    let mut out = case.clone();
    set(&mut out, "name", text(answer, "name"));
    // Few answers have warnings, so that an empty list is left out of the file.
    let steps = out.get_mut("steps").and_then(Json::as_array_mut);
    for (step, answer) in steps.into_iter().flatten().zip(items(answer, "answers")) {
        let mut answer = answer.clone();
        if items(&answer, "warnings").is_empty()
            && let Some(members) = answer.as_object_mut()
        {
            members.remove("warnings");
        }
        set(step, "answer", answer);
    }

    // A step without an answer was not sent, since the object existed already.
    if let Some(steps) = out.get_mut("steps").and_then(Json::as_array_mut) {
        steps.retain(|step| !member(step, "answer").is_null());
    }
    out
}

impl Recording {
    /// Reads a recording, and cuts its sequences into steps.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is no recording.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let failed = Error::file(path);
        let file = fs::File::open(path).map_err(failed)?;
        let mut definitions = Vec::new();
        let (mut sequences, mut requests) = (Vec::new(), Vec::new());
        for (number, line) in BufReader::new(GzDecoder::new(file)).lines().enumerate() {
            let line = line.map_err(failed)?;
            let line: Json = serde_json::from_str(&line).map_err(|source| Error::Json {
                path: path.to_owned(),
                source,
            })?;

            if number == 0 {
                definitions = items(&line, "definitions").to_vec();
            } else {
                cut(&line, &mut requests)?;
                sequences.push(line);
            }
        }

        Ok(Recording {
            definitions: Arc::new(definitions),
            sequences: Arc::new(sequences),
            requests: Arc::new(requests),
        })
    }
}

/// The steps of a sequence, as sequences of one step that start with the live object.
fn cut(case: &Json, out: &mut Vec<Json>) -> Result<(), Error> {
    let kind = Catalog::get()?.of(case)?;
    let (mut before, mut live) = (Json::Null, Json::Null);
    for json in items(case, "steps") {
        let step = Step::new(json, kind);
        // A request with the object that it found is a case of its own, which needs no earlier answer.
        if step.is_write() {
            let mut single = case.clone();
            set(&mut single, "before", before.clone());
            set(&mut single, "live", live.clone());
            set(&mut single, "steps", json!([json]));
            out.push(single);
        }

        if let Some(stored) = stored_after(&step, kind, member(json, "answer"), &live) {
            before = std::mem::replace(&mut live, stored);
        }
    }

    Ok(())
}
