//! Recorded answers of Go, which are compared without Go.

use std::fs::File;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::{check, protobuf};
use crate::driver::Options;
use crate::json::text;
use crate::oracle::{CoProcess, Oracle};
use crate::tally::Tally;
use crate::{Difference, Error, Suite, files, oracle};

/// Writes generated cases with the answers of Go to a file.
///
/// # Errors
///
/// If Go cannot answer, or the file cannot be written.
pub fn record<S: Suite>(suite: &S, options: &Options, path: &Path) -> Result<(), Error> {
    let program = match &options.oracle {
        Some(program) => program.clone(),
        None => oracle::build(S::ORACLE)?,
    };
    let seeds = options.seed..options.seed.saturating_add(options.cases.unwrap_or(1000));
    let cases: Vec<Value> = seeds.map(|seed| suite.generate(seed)).collect();
    let answers = CoProcess::new(program, Vec::new()).run(&cases)?;
    let recorded: Vec<Value> =
        cases.into_iter().zip(answers).map(|(case, answer)| json!([case, answer])).collect();
    let failed = |source| Error::File { path: path.to_owned(), source };
    let mut file = GzEncoder::new(File::create(path).map_err(failed)?, Compression::best());
    serde_json::to_writer(&mut file, &recorded).map_err(|source| failed(source.into()))?;
    file.finish().map_err(failed)?;
    Ok(())
}

/// Compares the library with the answers in a file. Returns the counts, and the cases that differ.
///
/// # Errors
///
/// If the file cannot be read.
pub fn replay(path: &Path) -> Result<(Tally, Vec<(Value, Difference)>), Error> {
    let mut tally = Tally::default();
    let mut differences = Vec::new();
    let recorded = files::read(path)?;
    for pair in recorded.as_array().into_iter().flatten() {
        let (Some(case), Some(answer)) = (pair.get(0), pair.get(1)) else { continue };
        let judge = if text(case, "op") == "protobuf" { protobuf::judge } else { check::judge };
        let verdict = judge(case, answer)?;
        tally.cases += 1;
        tally.merge(verdict.tally);
        differences.extend(verdict.difference.map(|difference| (case.clone(), difference)));
    }
    Ok((tally, differences))
}
