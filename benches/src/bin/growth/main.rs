//! How the time of requests grows with the number of objects: a table and a plot for docs/apiserver.md.
//!
//! The servers are in this process and have no port, so the figures are those of the server alone. A time that is quoted for
//! each object is that of the whole, by the number of objects: it stays the same if the cost is linear.
//!
//! ```console
//! $ cargo run --release -p fieldmanager-benches --bin growth -- --docs
//! ```
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it shows its progress, and its output is the table"
)]

mod figures;
mod plot;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use figures::{FIGURES, Figure};

/// The marks around the table in docs/apiserver.md.
const BEGIN: &str = "<!-- growth: written by the command above -->\n";
const END: &str = "<!-- end of growth -->\n";

/// Measures requests to servers with few and with many objects, and prints a table.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// The numbers of objects
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    sizes: Vec<usize>,
    /// The file for the plots; none are drawn by default
    #[arg(long)]
    plots: Option<PathBuf>,
    /// Write the table to docs/apiserver.md, and the plots to docs/apiserver/growth.svg
    #[arg(long)]
    docs: bool,
}

/// A figure with its microseconds at each size.
struct Row {
    figure: &'static Figure,
    times: Vec<f64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let rows = match measure(&arguments.sizes) {
        Ok(rows) => rows,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };

    let table = table(&arguments.sizes, &rows);
    print!("{table}");
    match write(&arguments, &rows, &table) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(sizes: &[usize]) -> Result<Vec<Row>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;

    let mut rows = Vec::new();
    for figure in &FIGURES {
        let mut times = Vec::new();
        for &size in sizes {
            let time = runtime.block_on((figure.measure)(size))?;
            let parts = if figure.is_for_each { size } else { 1 };
            times.push(time.as_secs_f64() * 1e6 / f64::from(u32::try_from(parts).unwrap_or(1)));
            eprintln!("{}, {size} objects: {time:?}", figure.title);
        }
        rows.push(Row { figure, times });
    }
    Ok(rows)
}

fn table(sizes: &[usize], rows: &[Row]) -> String {
    let cells = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = sizes.iter().map(|size| format!("{size} objects"));
    let mut table = cells(std::iter::once(String::new()).chain(heads).collect());
    table += &format!("|{}\n", "---|".repeat(sizes.len() + 1));

    for row in rows {
        let title = if row.figure.is_for_each {
            format!("{}, for each object", row.figure.title)
        } else {
            row.figure.title.to_owned()
        };
        let times = row.times.iter().map(|time| match time {
            time if *time < 10.0 => format!("{time:.1} µs"),
            time => format!("{time:.0} µs"),
        });
        table += &cells(std::iter::once(title).chain(times).collect());
    }
    table
}

/// Writes the plots and the document that the arguments ask for.
fn write(arguments: &Arguments, rows: &[Row], table: &str) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let plots = match (&arguments.plots, arguments.docs) {
        (Some(path), _) => Some(path.clone()),
        (None, true) => Some(root.join("docs/apiserver/growth.svg")),
        (None, false) => None,
    };
    if let Some(path) = plots {
        plot::draw(&path, &arguments.sizes, rows)?;
    }
    if !arguments.docs {
        return Ok(());
    }

    let path = root.join("docs/apiserver.md");
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let parts = text.split_once(BEGIN);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or("docs/apiserver.md lacks the marks of the table")?;
    let text = format!("{before}{BEGIN}\n{table}\n{END}{after}");
    std::fs::write(&path, text).map_err(|error| error.to_string())
}
