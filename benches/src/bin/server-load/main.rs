//! Measures `fieldmanager serve` beside kube-apiserver under load, and prints a table for docs/apiserver.md.
//!
//! Both servers have the same clients: HTTP/1.1 over TLS, a token, JSON, and a connection for each client. They share the
//! processors with the clients. kube-apiserver is the program of `comparison/oracle/server/build.sh`, with etcd in the same
//! process; `fieldmanager` needs the feature `etcd`:
//!
//! ```console
//! $ cargo build --release -p fieldmanager-cli --features etcd
//! $ comparison/oracle/server/build.sh target/kube-apiserver
//! $ cargo run --release -p fieldmanager-benches --bin server-load -- \
//!       target/release/fieldmanager target/kube-apiserver --mixed 600 --docs
//! ```
#![allow(clippy::print_stderr, reason = "it shows its progress")]

mod client;
mod error;
mod figures;
mod mixed;
mod plot;
mod report;
mod server;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use error::Error;
use figures::{Sizes, Times, quantile};
use plot::{Line, Titles};
use report::Runs;
use server::{Kind, Programs};

/// The marks around the figures in docs/apiserver.md.
const BEGIN: &str = "<!-- measured under load: written by the command above -->\n";
const END: &str = "<!-- end of what was measured under load -->\n";

/// Measures API servers under load, and prints medians and ratios as a table.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// The program `fieldmanager`
    fieldmanager: PathBuf,
    /// The program `kube-apiserver` with etcd; without it `fieldmanager` is measured alone
    kube_apiserver: Option<PathBuf>,
    /// A short run with few objects, to see that everything works; errors end it
    #[arg(long)]
    quick: bool,
    /// How often each server is measured; medians are printed
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only servers whose title contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Seconds of mixed load of `fieldmanager` with the store in memory; 0 for none
    #[arg(long, default_value_t = 0)]
    mixed: u64,
    /// The folder for data on a disk
    #[arg(long, default_value = "/var/tmp")]
    disk: PathBuf,
    /// The folder for data in memory
    #[arg(long, default_value = "/dev/shm")]
    tmpfs: PathBuf,
    /// The folder for the plots `applies.svg` and `memory.svg`; none are drawn by default
    #[arg(long)]
    plots: Option<PathBuf>,
    /// Write the table to docs/apiserver.md, and the plots to docs/apiserver
    #[arg(long)]
    docs: bool,
    /// The seed of the mixed load; a random one by default
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let ended = runtime.map_err(|error| Error::request("a runtime", error));
    match ended.and_then(|runtime| runtime.block_on(run(&arguments, &mut io::stdout().lock()))) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Error> {
    let printed = Error::file(Path::new("standard output"));
    let programs = Programs {
        fieldmanager: arguments.fieldmanager.clone(),
        kube: arguments.kube_apiserver.clone(),
        disk: arguments.disk.clone(),
        tmpfs: arguments.tmpfs.clone(),
    };
    let sizes = if arguments.quick {
        Sizes::quick()
    } else {
        Sizes::full()
    };
    let runs = if arguments.quick { 1 } else { arguments.runs };
    let kinds: Vec<Kind> = programs
        .kinds()
        .filter(|kind| kind.title().contains(&arguments.only))
        .collect();
    let (mut all, mut curves) = (Runs::new(), BTreeMap::new());
    for run in 1..=runs {
        let mut common = None;
        for kind in kinds.iter().copied() {
            let (figures, times) = figures::measure(&programs, kind, &sizes, common).await?;
            eprintln!("{run}/{runs} {}: {figures:.1?}", kind.title());
            if kind == Kind::KubeMemory {
                common = figures.get("peak").map(|peak| peak / 2.0);
            }
            all.entry(kind).or_default().push(figures);
            curves.insert(kind, times);
        }
    }
    let title = |row: &str| {
        row.replace("{objects}", &sizes.objects.to_string())
            .replace("{watchers}", &sizes.watchers.to_string())
            .replace("{changes}", &sizes.changes.to_string())
    };
    let mut text = report::markdown(&all, title);
    let mut lines = Vec::new();
    let mut is_faultless = true;
    let seconds = if arguments.quick { 3 } else { arguments.mixed };
    if seconds > 0 {
        let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..));
        eprintln!("seed {seed}");
        let found =
            mixed::mixed(&programs, Kind::Memory, Duration::from_secs(seconds), seed).await?;
        text = format!("{text}\nMixed load: {}", report::mixed(&found));
        is_faultless = found.is_faultless();
        lines.push(Line {
            name: Kind::Memory.title().replace('`', ""),
            points: found.memory,
        });
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let folder = arguments
        .plots
        .clone()
        .or_else(|| arguments.docs.then(|| docs.join("apiserver")));
    if let Some(folder) = folder {
        plots(&folder, &curves, &lines)?;
    }
    if arguments.docs {
        write_docs(&docs.join("apiserver.md"), &text, !lines.is_empty())?;
    }
    out.write_all(text.as_bytes()).map_err(printed)?;
    Ok(if is_faultless {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Replaces the figures of a page.
fn write_docs(page: &Path, report: &str, has_memory: bool) -> Result<(), Error> {
    let text = std::fs::read_to_string(page).map_err(Error::file(page))?;
    let parts = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        parts.ok_or_else(|| Error::request(&page.display().to_string(), "it has no marks"))?;
    let mut plots = "![Times of an apply](apiserver/applies.svg)\n".to_owned();
    if has_memory {
        plots.push_str("\n![Memory under mixed load](apiserver/memory.svg)\n");
    }
    let text = format!("{before}{BEGIN}\n{report}\n{plots}\n{END}{after}");
    std::fs::write(page, text).map_err(Error::file(page))
}

/// Draws the times of applies at half the peak rate, and the memory of the mixed load.
fn plots(folder: &Path, curves: &BTreeMap<Kind, Times>, memory: &[Line]) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let applies: Vec<Line> = curves
        .iter()
        .map(|(kind, times)| Line {
            name: kind.title().replace('`', ""),
            points: (1..1000)
                .map(|part| {
                    (
                        f64::from(part) / 10.0,
                        quantile(times, f64::from(part) / 1000.0),
                    )
                })
                .collect(),
        })
        .collect();
    let titles = Titles {
        caption: "An apply at half the greatest rate",
        x: "percentile",
        y: "ms",
    };
    plot::draw(&folder.join("applies.svg"), &titles, &applies, true)?;
    if memory.is_empty() {
        return Ok(());
    }
    let titles = Titles {
        caption: "Memory under mixed load",
        x: "seconds",
        y: "MiB",
    };
    plot::draw(&folder.join("memory.svg"), &titles, memory, false)
}
