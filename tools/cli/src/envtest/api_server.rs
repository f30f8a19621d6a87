//! The role of kube-apiserver.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use fieldmanager_apiserver::net::Tls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::ending::ending;
use super::flags::{CommandLine, FlagEffect, FlagKind, PREFIX, flags, parse};
use super::hosting::{ask, ready, serve_args, socket};
use crate::commands::serve::{Ready, allow_open_files, log};
use crate::error::Failure;
use crate::output;

/// What `--help` says before the flags.
const ABOUT: [&str; 7] = [
    "This is fieldmanager in the role of kube-apiserver 1.37.1, as `fieldmanager envtest` installs it.",
    "",
    "Usage:",
    "  kube-apiserver [flags]",
    "",
    "Flags:",
    "",
];

/// The time that a server has to stop.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs until SIGTERM or SIGINT, or until the parent or the process of etcd has ended.
///
/// # Errors
///
/// Flags that are not supported, and what `serve` refuses.
pub(super) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let wanted = match parse(arguments).map_err(Failure::Usage)? {
        CommandLine::Help => {
            output::out().lines(help())?;
            return Ok(ExitCode::SUCCESS);
        }
        CommandLine::Version => {
            output::out().line("Kubernetes v1.37.1+fieldmanager")?;
            return Ok(ExitCode::SUCCESS);
        }
        CommandLine::Serve(wanted) => wanted,
    };
    if !wanted.ignored.is_empty() {
        let names: Vec<String> = wanted
            .ignored
            .iter()
            .map(|name| format!("--{name}"))
            .collect();
        // Suites that read nothing may have closed it.
        let _ = output::err().line(format!(
            "fieldmanager: without an effect: {}",
            names.join(", ")
        ));
    }

    let arguments = with_certificate(wanted.arguments, wanted.certificates.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if let Some(stream) = runtime.block_on(host_of(&wanted.etcd)) {
        return runtime.block_on(be_served(stream, &wanted.prefix, &arguments));
    }
    drop(runtime);
    if wanted.prefix != PREFIX {
        let message = format!(
            "--etcd-prefix={} needs the etcd of this folder",
            wanted.prefix
        );
        return Err(Failure::Usage(message));
    }
    serve(arguments, &wanted.etcd)
}

/// The lines of `--help`: a flag on each, with what it does.
fn help() -> Vec<String> {
    let line = |flag: super::flags::Flag| {
        let kind = match flag.kind {
            FlagKind::Bool => "",
            FlagKind::Int => " int",
            FlagKind::Text => " string",
            FlagKind::Path => " file",
            FlagKind::List | FlagKind::Array => " strings",
            FlagKind::Paths => " files",
        };
        let effect = match flag.effect {
            FlagEffect::Option(option) => format!("as `fieldmanager serve --{option}`"),
            FlagEffect::Own => "supported".to_owned(),
            FlagEffect::Nothing => "without an effect".to_owned(),
            FlagEffect::Refused => "refused".to_owned(),
        };
        format!("      --{}{kind}   {effect}", flag.name)
    };
    ABOUT
        .into_iter()
        .map(str::to_owned)
        .chain(flags().map(line))
        .collect()
}

/// The arguments with the certificate of a folder, which is made there if it is missing.
fn with_certificate(
    mut arguments: Vec<String>,
    folder: Option<&Path>,
) -> Result<Vec<String>, Failure> {
    let Some(folder) = folder else {
        return Ok(arguments);
    };
    let (certificate, key) = (folder.join("apiserver.crt"), folder.join("apiserver.key"));
    if !certificate.exists() || !key.exists() {
        let args = serve_args(&arguments)?;
        let listen = args.listen.to_string();
        let names: Vec<String> = args.host_name.iter().cloned().chain([listen]).collect();
        let failed = |error: &dyn std::fmt::Display| Failure::input(folder.display(), error);
        std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        Tls::made_in_files(&certificate, &key, &names).map_err(|error| failed(&error))?;
    }

    arguments.push(format!("--tls-certificate={}", certificate.display()));
    arguments.push(format!("--tls-key={}", key.display()));
    Ok(arguments)
}

/// The connection to the process in the role of etcd with one of some URLs; `None` if there is no such process.
async fn host_of(urls: &[String]) -> Option<UnixStream> {
    for url in urls {
        let port = url.trim_end_matches('/').rsplit(':').next();
        let Some(port) = port.and_then(|port| port.parse().ok()) else {
            continue;
        };
        if let Ok(path) = socket(port)
            && let Ok(stream) = UnixStream::connect(path).await
        {
            return Some(stream);
        }
    }
    None
}

/// Is served by the process in the role of etcd.
async fn be_served(
    stream: UnixStream,
    prefix: &str,
    arguments: &[String],
) -> Result<ExitCode, Failure> {
    let ending = ending()?;
    let mut stream = ask(stream, prefix, arguments).await?;
    tokio::select! {
        () = ending => {}
        _ = stream.read_u8() => {
            return Err(Failure::Other("the process of etcd has ended".to_owned()));
        }
    }

    // The other side is closed when the server has ended; one that cannot end does not keep this process.
    let _ = stream.shutdown().await;
    let _ = tokio::time::timeout(PATIENCE, stream.read_u8()).await;
    Ok(ExitCode::SUCCESS)
}

/// Serves in this process, with the objects in etcd.
fn serve(mut arguments: Vec<String>, urls: &[String]) -> Result<ExitCode, Failure> {
    let urls = urls.join(",");
    if !cfg!(feature = "etcd") {
        return Err(Failure::Other(format!(
            "no etcd of `fieldmanager envtest` runs at {urls}; a program that is built with the feature `etcd` takes any etcd"
        )));
    }
    arguments.push(format!("--store=etcd:{urls}"));
    log(&*serve_args(&arguments)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;

    let ended = runtime.block_on(async {
        allow_open_files();
        let ending = ending()?;
        let Ready {
            server, listening, ..
        } = ready(&arguments, None).await?;
        let ended = listening.run(server, ending).await;
        ended.map_err(|error| Failure::Other(error.to_string()))
    });
    runtime.shutdown_background();
    ended.map(|()| ExitCode::SUCCESS)
}
