//! Recorded answers of Go, which are compared without Go.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::builtin::{BuiltIn, BuiltInSuite};
use crate::driver::{self, Options};
use crate::oracle::{CoProcess, Oracle};
use crate::tally::Tally;
use crate::{Difference, Error, files, oracle};

/// Options of suites whose oracle takes long to build.
#[derive(Args, Clone, Debug, Default)]
pub struct Recorded {
    /// The options that all suites have
    #[command(flatten)]
    pub options: Options,
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
pub fn run<B: BuiltInSuite>(recorded: &Recorded, out: &mut dyn Write) -> Result<bool, Error> {
    let options = &recorded.options;
    // A recording is made or compared in one process, so only the last form uses threads.
    match (&recorded.record, &recorded.replay) {
        (Some(path), _) => record::<B>(options, path).map(|()| true),
        (None, Some(path)) => {
            let (tally, differences) = replay::<B>(path)?;
            for (case, found) in differences.iter().take(options.report) {
                let (what, reference, candidate) =
                    (&found.what, &found.reference, &found.candidate);
                writeln!(
                    out,
                    "{case}\n{what}:\nGo:          {reference}\nthe library: {candidate}\n"
                )
                .map_err(Error::Output)?;
            }
            write!(out, "{tally}").map_err(Error::Output)?;

            Ok(differences.is_empty())
        }
        (None, None) => driver::run(options, &BuiltIn::<B>::default, out),
    }
}

/// Writes generated cases with the answers of Go to a file.
///
/// # Errors
///
/// If Go cannot answer, or the file cannot be written.
fn record<B: BuiltInSuite>(options: &Options, path: &Path) -> Result<(), Error> {
    let program = match &options.oracle {
        Some(program) => program.clone(),
        None => oracle::build(B::ORACLE)?,
    };
    // Suites of built-in kinds take the kinds in turn, so consecutive seeds reach all of them.
    let seeds = options.seed..options.seed.saturating_add(options.cases.unwrap_or(1000));
    let cases: Vec<Value> = seeds.map(B::generate).collect();
    let answers = CoProcess::new(program, Vec::new()).run(&cases)?;
    let pairs = cases.into_iter().zip(answers);
    let recorded: Vec<Value> = pairs.map(|(case, answer)| json!([case, answer])).collect();
    files::write_gzipped(path, &[json!(recorded)])
}

/// Compares the library with the answers in a file. Returns the counts, and the cases that differ.
///
/// # Errors
///
/// If the file cannot be read.
pub fn replay<B: BuiltInSuite>(path: &Path) -> Result<(Tally, Vec<(Value, Difference)>), Error> {
    let mut tally = Tally::default();
    let mut differences = Vec::new();
    let recorded = files::read(path)?;
    for pair in recorded.as_array().into_iter().flatten() {
        let (Some(case), Some(answer)) = (pair.get(0), pair.get(1)) else {
            continue;
        };
        let verdict = B::judge(case, answer)?;
        tally.cases += 1;
        // Nothing is asked of Go again here, so each case is one operation and its first answer counts.
        tally.operations += 1;
        tally.differences += u64::from(verdict.difference.is_some());
        verdict
            .deviations
            .iter()
            .for_each(|rule| tally.count("deviations", *rule));
        tally.merge(verdict.tally);

        differences.extend(
            verdict
                .difference
                .map(|difference| (case.clone(), difference)),
        );
    }

    Ok((tally, differences))
}
