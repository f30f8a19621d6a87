//! Recorded answers of Go, which are compared without Go.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::decode::{decoded, from_protobuf};
use crate::defaults::defaulted;
use crate::driver::{self, Options};
use crate::json::text;
use crate::oracle::{CoProcess, Oracle};
use crate::tally::Tally;
use crate::{Difference, Error, Suite, files, oracle};

/// Options of suites whose oracle takes long to build.
#[derive(Args, Clone, Debug, Default)]
pub struct Recorded {
    /// Write the answers of Go to this file, and compare nothing
    #[arg(long)]
    pub record: Option<PathBuf>,
    /// Compare with the answers in this file, without Go
    #[arg(long)]
    pub replay: Option<PathBuf>,
}

/// Runs a suite, records the answers of Go, or compares with recorded ones. Returns whether both sides agree.
///
/// # Errors
///
/// If Go cannot answer, or a file cannot be read or written.
pub fn run<S: Suite>(
    options: &Options,
    recorded: &Recorded,
    suite: &(dyn Fn() -> S + Sync),
    out: &mut dyn Write,
) -> Result<bool, Error> {
    match (&recorded.record, &recorded.replay) {
        (Some(path), _) => record(&suite(), options, path).map(|()| true),
        (None, Some(path)) => {
            let (tally, differences) = replay(path)?;
            for (case, found) in differences.iter().take(options.report) {
                let (what, reference, candidate) = (&found.what, &found.reference, &found.candidate);
                writeln!(out, "{case}\n{what}:\nGo:          {reference}\nthe library: {candidate}\n")
                    .map_err(Error::Output)?;
            }
            write!(out, "{tally}").map_err(Error::Output)?;
            Ok(differences.is_empty())
        }
        (None, None) => driver::run(options, suite, out),
    }
}

/// Writes generated cases with the answers of Go to a file.
///
/// # Errors
///
/// If Go cannot answer, or the file cannot be written.
fn record<S: Suite>(suite: &S, options: &Options, path: &Path) -> Result<(), Error> {
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
        let judge = match text(case, "op") {
            "protobuf" => from_protobuf,
            // A case of the suite `defaults` is a write.
            "" => defaulted,
            _ => decoded,
        };
        let verdict = judge(case, answer)?;
        tally.cases += 1;
        tally.operations += 1;
        tally.differences += u64::from(verdict.difference.is_some());
        verdict.deviations.iter().for_each(|rule| tally.count("deviations", *rule));
        tally.merge(verdict.tally);
        differences.extend(verdict.difference.map(|difference| (case.clone(), difference)));
    }
    Ok((tally, differences))
}
