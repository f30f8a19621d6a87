//! Runs cases on a server of this project inside the program: those of the suite, or those of files and folders.
//!
//!     cargo run -p fieldmanager-conformance-suite --example in_process [PATH...]

use std::error::Error;
use std::process::ExitCode;

use fieldmanager_conformance_suite::{Connection, RunOptions, Suite};
use fieldmanager_harness::load;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the result of the program")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let suite = if paths.is_empty() {
        Suite::embedded()?
    } else {
        Suite {
            scenarios: load(paths)?,
        }
    };
    let connection = Connection::in_process().await?;
    let options = RunOptions {
        name: "example".into(),
        jobs: 8,
        keep: true,
    };

    let outcome = suite
        .run(&connection, &options, |_| {}, std::future::pending())
        .await;
    let report = outcome.report;
    for case in report.scenarios.iter().filter(|case| case.failed()) {
        println!(
            "FAIL {}: {}",
            case.area.as_deref().unwrap_or_default(),
            case.name
        );
    }

    println!("{}", report.summary());
    Ok(if report.failed() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}
