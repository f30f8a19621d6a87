//! The role of etcd: it has the objects, and serves them when processes named kube-apiserver ask for it.

use std::convert::Infallible;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

use super::ending::ending;
use super::hosting::{Stores, host, serve_args, socket};
use crate::commands::serve::{allow_open_files, log};
use crate::error::Failure;
use crate::output;

/// What this program says about itself.
const ABOUT: &str = "this is fieldmanager in the role of etcd, as `fieldmanager envtest` installs it: it has no keys, and serves \
    the objects of kube-apiserver of the same folder";

/// The flags, with what their values are called. Only the first has an effect.
const FLAGS: [(&str, &str); 28] = [
    ("listen-client-urls", "URLs"),
    ("advertise-client-urls", "URLs"),
    ("auto-compaction-mode", "MODE"),
    ("auto-compaction-retention", "TIME"),
    ("data-dir", "DIR"),
    ("election-timeout", "MS"),
    ("enable-v2", ""),
    ("force-new-cluster", ""),
    ("heartbeat-interval", "MS"),
    ("initial-advertise-peer-urls", "URLs"),
    ("initial-cluster", "MEMBERS"),
    ("initial-cluster-state", "STATE"),
    ("initial-cluster-token", "TOKEN"),
    ("listen-metrics-urls", "URLs"),
    ("listen-peer-urls", "URLs"),
    ("log-format", "FORMAT"),
    ("log-level", "LEVEL"),
    ("log-outputs", "OUTPUTS"),
    ("logger", "LOGGER"),
    ("max-request-bytes", "BYTES"),
    ("max-txn-ops", "NUMBER"),
    ("max-wals", "NUMBER"),
    ("metrics", "LEVEL"),
    ("name", "NAME"),
    ("quota-backend-bytes", "BYTES"),
    ("snapshot-count", "NUMBER"),
    ("unsafe-no-fsync", ""),
    ("wal-dir", "DIR"),
];

/// Runs until SIGTERM or SIGINT, or until the parent has ended.
///
/// # Errors
///
/// Flags that etcd does not know, and addresses that cannot be bound.
pub(super) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    if let Some(text) = told(arguments) {
        output::out().lines(text.lines())?;
        return Ok(ExitCode::SUCCESS);
    }
    let urls = client_urls(arguments)?;
    log(&*serve_args(&[])?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(serve(&urls));
    // A request that cannot be stopped does not keep the program from its end.
    runtime.shutdown_background();
    ended
}

/// What `--help` or `--version` print.
fn told(arguments: &[String]) -> Option<String> {
    let has = |names: [&str; 3]| arguments.iter().any(|one| names.contains(&one.as_str()));
    if has(["--version", "-version", "version"]) {
        return Some(format!("etcd Version: none; {ABOUT}"));
    }
    let flags = FLAGS
        .iter()
        .map(|(name, value)| format!("  --{name} {value}"));
    let flags: Vec<String> = flags.collect();
    let help = || {
        format!(
            "{ABOUT}.\n\nFlags, of which --listen-client-urls alone has an effect:\n\n{}",
            flags.join("\n")
        )
    };
    has(["--help", "-help", "-h"]).then(help)
}

/// The addresses of the URLs for clients.
///
/// Behaviour: `Parse` of Go's `flag`: one or two dashes, and the value behind `=` or in the next argument.
fn client_urls(arguments: &[String]) -> Result<Vec<String>, Failure> {
    let mut urls = "http://localhost:2379".to_owned();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let flag = argument.strip_prefix("--").or(argument.strip_prefix('-'));
        let flag =
            flag.ok_or_else(|| Failure::Usage(format!("'{argument}' is not a valid flag")))?;
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (flag, None),
        };
        // A flag without a kind is a boolean one, whose value is not in an argument of its own.
        let known = FLAGS.iter().find(|(known, _)| *known == name);
        let (_, kind) = known
            .ok_or_else(|| Failure::Usage(format!("flag provided but not defined: -{name}")))?;

        let value = match value {
            Some(value) => value,
            None if kind.is_empty() => continue,
            None => rest
                .next()
                .cloned()
                .ok_or_else(|| Failure::Usage(format!("flag needs an argument: -{name}")))?,
        };
        if name == "listen-client-urls" {
            urls = value;
        }
    }

    let address = |url: &str| {
        let address = url
            .strip_prefix("http://")
            .map(|rest| rest.trim_end_matches('/'));
        address
            .map(str::to_owned)
            .ok_or_else(|| Failure::Usage(format!("{url}: {ABOUT}; its URLs begin with http://")))
    };
    urls.split(',').map(address).collect()
}

async fn serve(addresses: &[String]) -> Result<ExitCode, Failure> {
    allow_open_files();
    let failed =
        |what: &str, error: io::Error| Failure::Other(format!("cannot listen on {what}: {error}"));
    let ending = ending()?;
    let stores = Arc::<Stores>::default();
    let mut tasks = JoinSet::new();
    let mut sockets = Vec::new();

    for address in addresses {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| failed(address, error))?;
        let port = listener.local_addr()?.port();
        let path = socket(port).map_err(|error| failed("a socket", error))?;
        // The port is that of this process, so the socket is one of a process that was killed.
        let _ = std::fs::remove_file(&path);
        let shown = path.display().to_string();
        let asked = UnixListener::bind(&path).map_err(|error| failed(&shown, error))?;
        tasks.spawn(answer_all(listener));
        tasks.spawn(host_all(asked, stores.clone()));
        sockets.push(path);
    }

    ending.await;
    for path in sockets {
        // Another start removes it.
        let _ = std::fs::remove_file(path);
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves for each process that asks.
async fn host_all(listener: UnixListener, stores: Arc<Stores>) {
    let mut servers = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = servers.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let stores = stores.clone();
                    servers.spawn(async move {
                        if let Err(error) = host(stream, &stores).await {
                            tracing::warn!(%error, "a server has ended");
                        }
                    });
                }
                // Too many open files: later connections may succeed.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
}

/// Answers clients of etcd.
async fn answer_all(listener: TcpListener) {
    let mut http = Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new());
    http.http2().timer(TokioTimer::new());
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let http = http.clone();
                    connections.spawn(async move {
                        // A client that has gone needs no answer.
                        let _ = http.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
}

/// The answer to a client of etcd: it is healthy, and has no keys.
///
/// Behaviour: `HandleHealth` of `go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp/health.go`; an error of gRPC is in headers.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_grpc = request.headers().get("content-type");
    let is_grpc = is_grpc.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    let (code, kind, body) = match request.uri().path() {
        "/health" => (
            200,
            "application/json",
            "{\"health\":\"true\",\"reason\":\"\"}",
        ),
        _ if is_grpc => (200, "application/grpc", ""),
        _ => (501, "text/plain", ABOUT),
    };

    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    let mut add = |name, value| {
        let value = http::HeaderValue::from_static(value);
        response
            .headers_mut()
            .insert(http::HeaderName::from_static(name), value);
    };
    add("content-type", kind);
    if is_grpc {
        // The code of what is not implemented.
        add("grpc-status", "12");
        add("grpc-message", ABOUT);
    }
    Ok(response)
}
