//! `serve`: a Kubernetes API server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use bytesize::ByteSize;
use fieldmanager_apiserver::admission::plugins::{KNOWN as KNOWN_PLUGINS, NAMES as PLUGINS};
use fieldmanager_apiserver::net::{Listening, Tls, random_token};
use fieldmanager_apiserver::store::{File, HistoryLimits, Memory, SharedStore, StoreError};
use fieldmanager_apiserver::{
    ApiServer, Authorization, Builder, ClientAuthorities, Collection, Keys, Limits, LoadError,
    Random, StaticTokens, TokenIssuer, User,
};
use fieldmanager_value::Value;
use fieldmanager_value::internal::escape_untrusted;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::{AuthorizationArg, ServeArgs, StoreArg};
use crate::error::Failure;
use crate::files::{self, Files};
use crate::output;
use crate::run_folder::RunFolder;

/// Runs the server until it gets SIGTERM or SIGINT, or, if it was asked to, until standard input ends.
pub(crate) fn run(args: &ServeArgs, files: Files) -> Result<ExitCode, Failure> {
    log(args);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(serve(args, files));
    // A request that cannot be stopped does not keep the program from its end.
    runtime.shutdown_background();
    ended
}

/// A server that is ready, and the port on which it is to listen.
pub(crate) struct Ready {
    pub(crate) server: ApiServer,
    pub(crate) listening: Listening,
    /// The token of the kubeconfig.
    token: Option<String>,
}

/// Makes the server of the arguments, with the objects of their files. `store` is in place of the one that they name.
pub(crate) async fn prepare(
    args: &ServeArgs,
    files: Files,
    shared: Option<SharedStore>,
) -> Result<Ready, Failure> {
    let (tokens, token) = tokens(args, files)?;
    let has_users = !tokens.is_empty() || args.client_ca_file.is_some();
    let tls = tls(args, has_users)?;

    if !args.listen.is_loopback() && (!has_users || !args.wants_tls()) {
        return Err(Failure::Usage(format!(
            "--listen {} makes the server reachable from other machines: add --tls, and do not use --no-token",
            args.listen
        )));
    }

    let limits = limits(args);
    let history = HistoryLimits::default()
        .events(args.max_history)
        .bytes(size(args.max_history_size));
    let collection = if args.no_collector {
        Collection::Stepped
    } else {
        Collection::On
    };
    let store = match shared {
        Some(store) => store,
        None => store(args, history).await?,
    };
    let builder = ApiServer::builder().store(store);
    let builder = access(builder.limits(limits).tokens(tokens), args, files)?;
    let builder = webhooks(plugins(builder, args)?, args, files)?;
    let random = Random::system();

    // A seed and a time make the uids, names and times of a run repeatable.
    if let Some(seed) = args.seed {
        random.set_seed(seed);
    }
    if let Some(time) = args.time {
        random.set_time(time);
    }

    let builder = builder
        .unions(args.unions)
        .priority_and_fairness(args.enable_priority_and_fairness)
        .service_network(args.service_cluster_ip_range)
        .build_metadata(if args.stands_in { "fieldmanager" } else { "" })
        .collection(collection)
        .source(random)
        .test_api(args.test_api)
        .page(!args.no_ui)
        .export(fieldmanager_harness::export_history);
    let failed = |error: StoreError| Failure::Other(error.to_string());
    let server = builder.build().await.map_err(failed)?;
    load(&server, args, files).await?;

    // A reset keeps what was loaded. Other stores than that in memory have no snapshots.
    if args.store == StoreArg::Memory {
        server.mark_start().await.map_err(failed)?;
    }

    let address = SocketAddr::new(args.listen, args.port);
    let listening = Listening::bind(address, tls).await;
    let listening = listening
        .map_err(|error| Failure::Other(format!("cannot listen on {address}: {error}")))?;
    let listening = listening.names(args.host_name.clone());

    // A made certificate is known to the clients of the kubeconfig only.
    let listening = if args.wants_tls() {
        listening
    } else {
        listening.plain_too()
    };
    Ok(Ready {
        server,
        listening,
        token,
    })
}

async fn serve(args: &ServeArgs, files: Files) -> Result<ExitCode, Failure> {
    allow_open_files();
    let Ready {
        server,
        listening,
        token,
    } = prepare(args, files, None).await?;

    // Removed at the end: the file of a run that has ended is of no use.
    let folder = match args.kubeconfig {
        Some(_) => None,
        None => Some(RunFolder::new()?),
    };
    let path = args
        .kubeconfig
        .clone()
        .or_else(|| Some(folder.as_ref()?.kubeconfig()))
        .unwrap_or_default();
    let kubeconfig = listening.kubeconfig(token.as_deref());
    kubeconfig
        .write(&path)
        .map_err(|error| Failure::input(path.display(), error))?;

    let signals = signals()?;
    // A script waits for this line: the server answers from now on.
    let page = server.page_path()?;
    let line = format!("serving {}; kubeconfig {}", listening.url(), path.display());
    output::out().line(line.as_str())?;

    if !args.no_ui {
        let line = format!("page {}{page}", listening.url());
        // A script may have read the first line and closed the output.
        let _ = output::out().line(line.as_str());
    }

    let stdin = end_of_stdin(args.stop_with_stdin);
    let stop = async move {
        tokio::select! {
            () = signals => {}
            () = stdin => {}
        }
    };
    listening
        .run(server, stop)
        .await
        .map_err(|error| Failure::Other(error.to_string()))?;

    Ok(ExitCode::SUCCESS)
}

/// Waits for SIGTERM or SIGINT, which from now on do not end the process by themselves.
pub(crate) fn signals() -> Result<impl Future<Output = ()> + Send, Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Waits until standard input has ended; for ever if that is not `wanted`.
async fn end_of_stdin(wanted: bool) {
    if !wanted {
        return std::future::pending().await;
    }
    let (ended, end) = tokio::sync::oneshot::channel();

    // A thread of its own: the runtime would wait for a read in one of its threads when the server stops for another reason.
    std::thread::spawn(move || {
        // An input that cannot be read has ended.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}

fn limits(args: &ServeArgs) -> Limits {
    let mut limits = Limits::default();
    limits.body = size(args.max_body);
    limits.buffers = size(args.max_buffers);
    limits.stored = args.max_stored.map(size);
    limits.headers = u32::try_from(args.max_headers.as_u64()).unwrap_or(u32::MAX);
    limits.requests = args.max_requests;
    limits.watches = args.max_watches;
    limits.revisions = args.max_revisions;
    limits.revisions_size = size(args.max_revisions_size);
    limits.log = if args.test_api { size(args.max_log) } else { 0 };
    limits.connections = args.max_connections;
    limits.streams = args.max_streams;

    limits.header_time = args.header_time;
    limits.request_time = args.request_time;
    limits.stall_time = args.stall_time;
    limits.idle_time = args.idle_time;
    limits.event_time = args.event_ttl;
    limits.compaction_interval = args.etcd_compaction_interval;
    limits.request_deadline = args.request_deadline;
    limits.stop_time = args.stop_time;

    limits
}

async fn store(args: &ServeArgs, history: HistoryLimits) -> Result<SharedStore, Failure> {
    Ok(match &args.store {
        StoreArg::Memory => Arc::new(Memory::new(history)),
        StoreArg::File(path) => {
            Arc::new(File::open(path, history).map_err(|error| Failure::Other(error.to_string()))?)
        }
        StoreArg::Etcd(urls) => etcd(urls, args, history).await?,
    })
}

#[cfg(feature = "etcd")]
async fn etcd(
    urls: &[String],
    args: &ServeArgs,
    history: HistoryLimits,
) -> Result<SharedStore, Failure> {
    use fieldmanager_apiserver::store::{Etcd, EtcdTls};
    use fieldmanager_harness::MAX_INPUT;

    let read = |path: &Option<PathBuf>| match path {
        Some(path) => Files {
            max_input: MAX_INPUT,
        }
        .text(path)
        .map(|text| Some(text.into_bytes())),
        None => Ok(None),
    };
    let mut tls = EtcdTls::default();
    tls.authority = read(&args.etcd_authority)?;
    tls.identity = read(&args.etcd_certificate)?.zip(read(&args.etcd_key)?);
    let store = Etcd::connect(urls, &tls, history).await;

    Ok(Arc::new(store.map_err(|error| {
        Failure::Other(format!("{}: {error}", urls.join(",")))
    })?))
}

#[cfg(not(feature = "etcd"))]
async fn etcd(urls: &[String], _: &ServeArgs, _: HistoryLimits) -> Result<SharedStore, Failure> {
    let urls = urls.join(",");
    Err(Failure::Usage(format!(
        "--store etcd:{urls} needs a program that is built with the feature `etcd`"
    )))
}

/// Raises the number of files and connections that may be open to what the system allows.
pub(crate) fn allow_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    // A limit that stays low is met later, as connections that wait.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    );
}

fn size(size: ByteSize) -> usize {
    usize::try_from(size.as_u64()).unwrap_or(usize::MAX)
}

/// Writes logs to standard error if they are wanted.
pub(crate) fn log(args: &ServeArgs) {
    let level = match args.verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };

    // Clients can make the library of HTTP/2 warn as often as they connect.
    let mut targets = Targets::new().with_default(level);
    if args.verbose < 2 {
        targets = targets.with_target("h2", LevelFilter::ERROR);
    }

    // Values are of clients: a line has no control characters, and an event is one line.
    let fields = format::debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        let value = escape_untrusted(&value);
        match field.name() {
            "message" => write!(writer, "{value}"),
            name => write!(writer, "{name}={value}"),
        }
    });
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false);

    if args.log_json {
        let log = log.json().with_writer(output::json_log);
        log.finish().with(targets).init();
    } else {
        let log = log.with_writer(output::log);
        let log = log.fmt_fields(fields.delimited(" "));
        log.finish().with(targets).init();
    }
}

/// The certificate: a given one, or one that is made. Go clients send tokens over TLS only.
fn tls(args: &ServeArgs, has_tokens: bool) -> Result<Option<Tls>, Failure> {
    let made = match (&args.tls_certificate, &args.tls_key) {
        (Some(certificate), Some(key)) => Tls::from_files(certificate, key),
        _ if args.tls || has_tokens => {
            let listen = args.listen.to_string();
            let names: Vec<String> = args.host_name.iter().cloned().chain([listen]).collect();
            Tls::made(&names)
        }
        _ => return Ok(None),
    };

    made.map(Some)
        .map_err(|error| Failure::Usage(error.to_string()))
}

/// The tokens of the server, and the one of the kubeconfig: the first of a file, or one that is made.
fn tokens(args: &ServeArgs, files: Files) -> Result<(StaticTokens, Option<String>), Failure> {
    let Some(path) = &args.token_file else {
        if args.no_token {
            return Ok((StaticTokens::default(), None));
        }
        let token = random_token()?;
        let mut tokens = StaticTokens::default();
        tokens.insert(token.as_str(), User::admin());
        return Ok((tokens, Some(token)));
    };

    let tokens = StaticTokens::from_csv(&files.text(path)?)
        .map_err(|error| Failure::input(files::name(path), error))?;
    let token = tokens.first().map(str::to_owned);
    Ok((tokens, token))
}

/// The builder with what finds out who sends a request, and whether they may.
fn access(builder: Builder, args: &ServeArgs, files: Files) -> Result<Builder, Failure> {
    let read = |path: &PathBuf| files.text(path);
    let unusable =
        |path: &Path, error: &dyn std::fmt::Display| Failure::input(files::name(path), error);
    let is_rbac = args.authorization == AuthorizationArg::Rbac;
    let mut builder = builder
        .authorization(if is_rbac {
            Authorization::Rbac
        } else {
            Authorization::Allow
        })
        .anonymous(args.anonymous_auth.unwrap_or(is_rbac));

    if let Some(path) = &args.client_ca_file {
        let authorities = ClientAuthorities::from_pem(&read(path)?);
        builder = builder.client_authorities(authorities.map_err(|error| unusable(path, &error))?);
    }

    // Tokens of service accounts live as long as the key, so one that is made is for this run.
    let keys = match &args.service_account_signing_key_file {
        None => Keys::generate().map(|(keys, _)| keys),
        Some(path) => {
            let signing = read(path)?;
            let others = args.service_account_key_file.iter().map(read);
            let others = others.collect::<Result<Vec<_>, _>>()?;
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            Keys::from_pem(Some(&signing), &others)
        }
    };
    let named = args.service_account_signing_key_file.as_deref();
    let keys = keys.map_err(|error| unusable(named.unwrap_or(Path::new("-")), &error))?;
    let (first, others) = args
        .service_account_issuer
        .split_first()
        .ok_or_else(|| Failure::Usage("--service-account-issuer is missing".to_owned()))?;
    let issuer = TokenIssuer::new(first, keys).with(others.to_vec(), args.api_audiences.clone());
    Ok(builder.token_issuer(issuer))
}

/// The builder with the admission plugins that are wanted.
fn plugins(builder: Builder, args: &ServeArgs) -> Result<Builder, Failure> {
    let (enabled, disabled) = (
        &args.enable_admission_plugins,
        &args.disable_admission_plugins,
    );
    for (flag, names) in [("enable", enabled), ("disable", disabled)] {
        let unknown = |name: &&String| !KNOWN_PLUGINS.contains(&name.as_str());
        if let Some(name) = names.iter().find(unknown) {
            let message = format!("{flag}-admission-plugins plugin {name:?} is unknown");
            return Err(Failure::Usage(message));
        }
    }

    // The server itself does what the first of them does, calls webhooks, and has policies.
    let others = [
        "NamespaceLifecycle",
        "MutatingAdmissionWebhook",
        "MutatingAdmissionPolicy",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
    ];
    let has = |name: &str| PLUGINS.contains(&name) || others.contains(&name);
    let is_missing = |name: &&String| !has(name);
    if let Some(name) = enabled.iter().find(is_missing) {
        let message = format!("this server has no admission plugin {name}");
        return Err(Failure::Usage(message));
    }
    if let Some(name) = enabled.iter().find(|name| disabled.contains(name)) {
        let message =
            format!("{name} in enable-admission-plugins and disable-admission-plugins overlapped");
        return Err(Failure::Usage(message));
    }

    let is_disabled = |name: &&str| disabled.iter().any(|disabled| disabled == name);
    let names: Vec<&str> = KNOWN_PLUGINS
        .iter()
        .copied()
        .filter(|name| !is_disabled(name))
        .collect();
    Ok(builder.admission_plugins(&names))
}

/// The builder that knows where webhooks are.
fn webhooks(mut builder: Builder, args: &ServeArgs, files: Files) -> Result<Builder, Failure> {
    for (namespace, name, url) in &args.webhook_service {
        builder = builder.webhook_service(namespace, name, url);
    }
    let Some(path) = &args.webhook_authority else {
        return Ok(builder);
    };
    let text = files.text(path)?;
    let checked = builder.webhook_authorities(&text);
    checked.map_err(|error| Failure::input(files::name(path), error))
}

/// Creates the objects of files: definitions first, then namespaces, then the others.
async fn load(server: &ApiServer, args: &ServeArgs, files: Files) -> Result<(), Failure> {
    let mut objects: Vec<(u8, PathBuf, Value)> = Vec::new();
    let paths = args.crd.iter().chain(&args.load);
    let paths = paths
        .map(|path| documents_of(path))
        .collect::<Result<Vec<_>, _>>()?;

    for path in paths.into_iter().flatten() {
        for document in files.documents(&path)? {
            // A `List`, as kubectl writes it, stands for its items.
            let items = match document.get("items").and_then(Value::as_list) {
                Some(items) => items.iter().cloned().collect(),
                None => vec![document],
            };
            objects.extend(items.into_iter().map(|object| {
                let order = match object.get("kind").and_then(Value::as_str) {
                    Some("CustomResourceDefinition") => 0,
                    Some("Namespace") => 1,
                    _ => 2,
                };
                (order, path.clone(), object)
            }));
        }
    }

    // The sort keeps the order of the files for objects of one step.
    objects.sort_by_key(|(order, ..)| *order);
    for (_, path, object) in objects {
        match server.load(&object).await {
            // An earlier run created it.
            Err(LoadError::Exists(_)) if args.store != StoreArg::Memory => {}
            loaded => loaded.map_err(|error| Failure::input(files::name(&path), error))?,
        }
    }

    Ok(())
}

/// The files of a folder, sorted by name, or the file itself.
fn documents_of(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |error: std::io::Error| Failure::input(path.display(), error);
    let mut found = Vec::new();

    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let is_document =
            |ending: &std::ffi::OsStr| ["yaml", "yml", "json"].iter().any(|known| ending == *known);
        if entry.extension().is_some_and(is_document) && entry.is_file() {
            found.push(entry);
        }
    }
    found.sort();

    Ok(found)
}
