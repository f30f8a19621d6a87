//! `fieldmanager-bundle`: writes the schema that `fieldmanager-openapi` bundles, the strategies of
//! `fieldmanager-patch`, and the facts of `fieldmanager-apiserver`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fieldmanager_bundle::{Corrections, apiserver, bundle, patches};
use fieldmanager_openapi::Types;
use fieldmanager_value::Value;

/// Generates the bundled schema from the OpenAPI definitions of a Kubernetes release.
///
/// Also writes `release.txt` with the name of the release, in the folder of FILE.
#[derive(Parser)]
#[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    bundle: Option<Bundle>,
}

#[derive(Subcommand)]
enum Command {
    /// Records what a kube-apiserver serves, for the crate fieldmanager-apiserver
    Apiserver {
        /// The program, which `comparison/oracle/server/build.sh` builds
        #[arg(long, value_name = "FILE")]
        kube_apiserver: PathBuf,
        /// The release of the program, which it does not know
        #[arg(long, value_name = "VERSION", default_value = "v1.37.1")]
        release: String,
        /// The folder of the crate
        #[arg(long, value_name = "FOLDER", default_value = "server/apiserver")]
        out: PathBuf,
        /// Write no files: say what differs from them
        #[arg(long)]
        check: bool,
    },
}

#[derive(clap::Args)]
struct Bundle {
    /// The OpenAPI document of the release, version 2 or 3, or a JSON schema with `$defs`
    #[arg(long, value_name = "FILE")]
    openapi: PathBuf,
    /// The release, such as 1.37
    #[arg(long, value_name = "NAME")]
    release: String,
    /// The corrections of faults and omissions in the document
    #[arg(long, value_name = "FILE")]
    corrections: PathBuf,
    /// Where to write the schema
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Where to write the merge strategies of strategic merge patches
    #[arg(long, value_name = "FILE")]
    patches: PathBuf,
}

fn main() -> ExitCode {
    // If the streams are closed, there is no way to report an error.
    match run(&Args::parse()) {
        Ok(summary) => {
            let _ = writeln!(std::io::stdout(), "{summary}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<String, String> {
    match (&args.command, &args.bundle) {
        (
            Some(Command::Apiserver {
                kube_apiserver,
                release,
                out,
                check,
            }),
            _,
        ) => record(kube_apiserver, release, out, *check).map_err(|error| error.to_string())?,
        (None, Some(args)) => write_bundle(args),
        (None, None) => Err("nothing to do".to_owned()),
    }
}

/// Records facts; the inner error says which of them changed.
fn record(
    program: &Path,
    release: &str,
    out: &Path,
    check: bool,
) -> Result<Result<String, String>, apiserver::Error> {
    let files = apiserver::record(program, release, out)?;
    if !check {
        return Ok(Ok(files.write(out)?.join("\n")));
    }
    let changes = files.changes(out)?;
    Ok(if changes.is_empty() {
        Ok("nothing changed".to_owned())
    } else {
        Err(changes.join("\n"))
    })
}

fn write_bundle(args: &Bundle) -> Result<String, String> {
    let openapi = read(&args.openapi)?;
    let openapi = Value::from_json(&openapi).or_else(|_| Value::from_yaml(&openapi));
    let openapi = openapi.map_err(|error| at(&args.openapi, error))?;
    let corrections = Corrections::from_yaml(&read(&args.corrections)?);
    let corrections = corrections.map_err(|error| at(&args.corrections, error))?;
    let text = bundle(&openapi, &corrections).map_err(|error| error.to_string())?;
    let types = Value::from_json(&text).map_err(|error| error.to_string())?;
    let types = Types::load(&types).map_err(|error| error.to_string())?;
    let strategies = patches(&openapi, &types).map_err(|error| error.to_string())?;
    write(&args.out, &text)?;
    write(&args.patches, &strategies)?;
    write(&args.out.with_file_name("release.txt"), &args.release)?;

    let (kinds, count) = (types.kinds().count(), types.schema().type_names().count());
    Ok(format!(
        "{}: {kinds} kinds, {count} types, {} bytes\n{}: {} bytes",
        args.out.display(),
        text.len(),
        args.patches.display(),
        strategies.len()
    ))
}

fn at(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| at(path, format!("cannot be read: {error}")))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| at(path, format!("cannot be written: {error}")))
}
