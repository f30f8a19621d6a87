//! Compares the speed of the library with that of the Go package.
//!
//! Both sides run the same cells, which this crate and `benches/oracle` define, on the same files. They alternate,
//! round after round, so that a change in the load of the machine affects both; the fastest round counts. Before a cell
//! is measured both sides return its result, and the results must be equal.

mod cells;
mod error;
mod figures;
mod go;
mod memory;
mod plot;
mod report;
mod run;
mod targets;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use fieldmanager_benches::inputs;

use self::cells::Plan;
use self::error::Error;
use self::go::Go;
use self::plot::plot;
use self::report::markdown;
use self::run::{Settings, measure};
use self::targets::verdicts;

/// The marks around the figures in docs/performance.md.
const BEGIN: &str = "<!-- measured: written by the command above -->\n";
const END: &str = "<!-- end of what was measured -->\n";

/// Measures the library and the Go package alternately on the same objects, and prints both with their ratios.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// A short run: fewer rounds, and no sizes above 10,000
    #[arg(long)]
    quick: bool,
    /// Only cells whose name contains this, such as `table/Pod` or `list/again`
    #[arg(long, default_value = "")]
    only: String,
    /// Rounds of each cell; the fastest counts
    #[arg(long)]
    rounds: Option<usize>,
    /// The duration of a round on each side, in milliseconds
    #[arg(long)]
    millis: Option<u64>,
    /// Write the tables and the plot to docs/performance.md
    #[arg(long)]
    docs: bool,
    /// Fail if a target is missed
    #[arg(long)]
    check: bool,
    /// The folder for the plot [default: in the target folder]
    #[arg(long)]
    plots: Option<PathBuf>,
}

fn main() -> ExitCode {
    start(&Arguments::parse(), &mut io::stdout().lock()).unwrap_or_else(|error| {
        // If standard error is closed too, there is no way to report.
        let _ = writeln!(io::stderr(), "error: {error}");
        ExitCode::from(2)
    })
}

fn start(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let plan = Plan::new(arguments.quick, &arguments.only);
    let settings = Settings {
        rounds: arguments
            .rounds
            .unwrap_or(if arguments.quick { 3 } else { 11 }),
        millis: arguments
            .millis
            .unwrap_or(if arguments.quick { 10 } else { 25 }),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = go::target();
    let folder = target.join("inputs");
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| Error::File { path, source }
    };
    inputs::write_objects(&folder).map_err(failed(&folder))?;
    inputs::write_bytes(&folder).map_err(failed(&folder))?;
    for size in &plan.sizes {
        inputs::write_size(&folder, *size).map_err(failed(&folder))?;
    }
    let mut go = Go::start(&folder.canonicalize().map_err(failed(&folder))?)?;
    let results = measure(
        &plan,
        settings,
        &mut go,
        arguments.only.is_empty(),
        &mut io::stderr(),
    )?;
    let report = markdown(&results, &plan);
    let page = root.join("docs").join("performance.md");
    let plots_folder = match &arguments.plots {
        _ if arguments.docs => root.join("docs").join("performance"),
        Some(folder) => folder.clone(),
        None => target,
    };
    writeln!(out, "{report}").map_err(failed(Path::new("standard output")))?;
    let plot = plot(&results, &plan, &plots_folder)?;
    writeln!(out, "{}", plot.display()).map_err(failed(Path::new("standard output")))?;
    if arguments.docs {
        let text = fs::read_to_string(&page).map_err(failed(&page))?;
        fs::write(&page, replaced(&text, &report)).map_err(failed(&page))?;
    }
    let missed = verdicts(&results, &plan)
        .iter()
        .any(|verdict| !verdict.is_met());
    let wrong = !results.different.is_empty() || (arguments.check && missed);
    Ok(if wrong {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The page with new figures; a page without the markers gets them at its end.
fn replaced(page: &str, report: &str) -> String {
    let report = report.trim();
    match (page.split_once(BEGIN), page.split_once(END)) {
        (Some((before, _)), Some((_, after))) => {
            format!("{before}{BEGIN}\n{report}\n\n{END}{after}")
        }
        _ => format!("{page}\n{BEGIN}\n{report}\n\n{END}"),
    }
}
