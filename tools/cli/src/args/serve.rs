//! Arguments of `serve`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use fieldmanager_apiserver::ServiceNetwork;
use fieldmanager_managedfields::Time;

/// Run a Kubernetes API server
#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on. Other addresses than those of the loopback interface need --tls
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) listen: IpAddr,
    /// The port; 0 is a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Serve HTTPS only, with a certificate that is made for this run. Without it, a server with tokens answers both HTTPS, with
    /// such a certificate, and HTTP
    #[arg(long)]
    pub(crate) tls: bool,
    /// A certificate in PEM, instead of one that is made
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A name or address by which clients reach the server, besides `localhost` and the address to listen on: others are
    /// refused in `Host`. It is in the certificate that is made; may be repeated
    #[arg(long, value_name = "NAME", alias = "tls-name")]
    pub(crate) host_name: Vec<String>,
    /// Accept the bearer tokens of this file, instead of one that is made and written to the kubeconfig: a line for each,
    /// `TOKEN`, `TOKEN,USER` or `TOKEN,USER,UID,"GROUP,..."`
    #[arg(long, value_name = "FILE", alias = "token-auth-file")]
    pub(crate) token_file: Option<PathBuf>,
    /// What decides whether a user may do what a request asks for: `allow` everything, or the roles and bindings that are
    /// stored (`rbac`)
    #[arg(long, value_name = "MODE", default_value = "allow")]
    pub(crate) authorization: AuthorizationArg,
    /// Whether requests without credentials are those of `system:anonymous`, instead of being refused. With
    /// `--authorization rbac` they are by default
    #[arg(long, value_name = "BOOL")]
    pub(crate) anonymous_auth: Option<bool>,
    /// The authorities, in PEM, whose certificates name users: the common name is the user, organizations are its groups
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca_file: Option<PathBuf>,
    /// Admission plugins to run besides those that run by default, by their names in kube-apiserver; may be repeated
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) enable_admission_plugins: Vec<String>,
    /// Admission plugins not to run; may be repeated
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) disable_admission_plugins: Vec<String>,
    /// The URL of the webhook behind a service, in place of the address of the service: that of a server in a test; may be
    /// repeated
    #[arg(long, value_name = "NAMESPACE/NAME=URL", value_parser = webhook_service)]
    pub(crate) webhook_service: Vec<(String, String, String)>,
    /// The authorities, in PEM, that signed the certificates of webhooks whose configuration has no `caBundle`
    #[arg(long, value_name = "FILE")]
    pub(crate) webhook_authority: Option<PathBuf>,
    /// The issuer of tokens of service accounts; if repeated, tokens of the others are accepted too
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://kubernetes.default.svc.cluster.local"
    )]
    pub(crate) service_account_issuer: Vec<String>,
    /// The private key, in PEM, that signs tokens of service accounts; one is made by default
    #[arg(long, value_name = "FILE")]
    pub(crate) service_account_signing_key_file: Option<PathBuf>,
    /// Keys, in PEM, that verify tokens of service accounts, instead of the one that signs them; may be repeated
    #[arg(
        long,
        value_name = "FILE",
        requires = "service_account_signing_key_file"
    )]
    pub(crate) service_account_key_file: Vec<PathBuf>,
    /// An audience of the server in tokens of service accounts, instead of their issuer; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) api_audiences: Vec<String>,
    /// Accept requests without a token: every program of this machine can send them. Web pages of other sites are refused
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) no_token: bool,
    /// The network, in IPv4, of the addresses that Services get
    #[arg(long, value_name = "NETWORK", default_value_t)]
    pub(crate) service_cluster_ip_range: ServiceNetwork,
    /// Where to write the kubeconfig of a client; a file in a folder of its own in the temporary folder by default
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Where objects are stored: `memory`, `file:PATH` for a file that survives the end of the server, or
    /// `etcd:URL,...` for an etcd that several servers may share
    #[arg(long, value_name = "STORE", default_value = "memory")]
    pub(crate) store: StoreArg,
    /// The certificates, in PEM, that the servers of etcd are trusted with, for URLs with https
    #[arg(long, value_name = "FILE")]
    pub(crate) etcd_authority: Option<PathBuf>,
    /// The certificate, in PEM, that is shown to etcd
    #[arg(long, value_name = "FILE", requires = "etcd_key")]
    pub(crate) etcd_certificate: Option<PathBuf>,
    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "etcd_certificate")]
    pub(crate) etcd_key: Option<PathBuf>,
    /// A folder or a file with CustomResourceDefinitions to create at the start, unless the store has them; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) crd: Vec<PathBuf>,
    /// A folder or a file with objects to create at the start, unless the store has them; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) load: Vec<PathBuf>,
    /// Keep the dependents of deleted objects and the objects of deleted namespaces, and leave aggregated roles empty
    #[arg(long)]
    pub(crate) no_collector: bool,
    /// Whether unions have an effect, of built-in kinds and of custom resources
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) unions: bool,
    /// Whether requests are classified by flow schemas, which the headers of answers say; no request waits because of it
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub(crate) enable_priority_and_fairness: bool,
    /// The largest body of a request
    #[arg(long, value_name = "SIZE", default_value = "3MiB")]
    pub(crate) max_body: ByteSize,
    /// The most bytes of the headers of a request
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub(crate) max_headers: ByteSize,
    /// The most memory for what clients have sent or not read: heads, bodies, selectors, answers and events
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    pub(crate) max_buffers: ByteSize,
    /// The most connections at once
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub(crate) max_connections: usize,
    /// The most requests and watches at once on one connection of HTTP/2
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    pub(crate) max_streams: u32,
    /// The most memory for stored objects; a write that needs more is answered with 507. Not with --store etcd:URL
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_stored: Option<ByteSize>,
    /// The most requests at once, apart from watches
    #[arg(long, value_name = "NUMBER", default_value_t = 400)]
    pub(crate) max_requests: usize,
    /// The most watches at once
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub(crate) max_watches: usize,
    /// The most changes that are kept for watches and pages of lists
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    pub(crate) max_history: usize,
    /// The most memory for these changes
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) max_history_size: ByteSize,
    /// Stop when standard input ends, so that the server ends with the program that started it, however that ends
    #[arg(long)]
    pub(crate) stop_with_stdin: bool,
    /// The time for a TLS handshake and for the headers of a request
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) header_time: Duration,
    /// The time to send the body of a request, and the time to read an answer or an event of a watch
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) request_time: Duration,
    /// The time during which a client may send nothing of a body, or read nothing of what the server sends
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub(crate) stall_time: Duration,
    /// The time that a connection of HTTP/2 may have no request
    #[arg(long, value_name = "TIME", default_value = "90s", value_parser = duration)]
    pub(crate) idle_time: Duration,
    /// The time after its last write at which an Event is deleted
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) event_ttl: Duration,
    /// The time after which no list is answered at a revision that is no longer the current one, and at most twice that time;
    /// 0 for no such time
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) etcd_compaction_interval: Duration,
    /// The time after which a request that is not answered is stopped, with 504
    #[arg(long, value_name = "TIME", default_value = "34s", value_parser = duration)]
    pub(crate) request_deadline: Duration,
    /// The time that requests have to end after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) stop_time: Duration,
    /// Do not serve the page for people below /ui, and keep no revisions of objects for it
    #[arg(long)]
    pub(crate) no_ui: bool,
    /// The most revisions of one object that the page shows, with the requests that were refused
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    pub(crate) max_revisions: usize,
    /// The most memory for the revisions of all objects, besides what they share with stored objects
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) max_revisions_size: ByteSize,
    /// Answer requests below /test, by which tests restore snapshots, inject faults, read the log and set the clock
    #[arg(long)]
    pub(crate) test_api: bool,
    /// The seed of uids, generated names and the probabilities of faults, for tests that repeat
    #[arg(long, value_name = "NUMBER", requires = "test_api")]
    pub(crate) seed: Option<u64>,
    /// The time at which the clock stops, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", requires = "test_api")]
    pub(crate) time: Option<Time>,
    /// The most memory for the log of a server with --test-api
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) max_log: ByteSize,
    /// Log requests to standard error; twice: and connections
    #[arg(short = 'v', long = "verbose", action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Log as JSON, one object on each line
    #[arg(long)]
    pub(crate) log_json: bool,
    /// Whether the server stands in for kube-apiserver, and says so in its version.
    #[arg(skip)]
    pub(crate) stands_in: bool,
}

impl ServeArgs {
    /// Whether the server answers over TLS only.
    pub(crate) fn wants_tls(&self) -> bool {
        self.tls || self.tls_certificate.is_some()
    }
}

/// The longest time of an option, one year. The end of a much longer one is not a time of the system.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A time such as `90s` or `1m30s`.
fn duration(argument: &str) -> Result<Duration, String> {
    if argument == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed = argument
        .parse::<jiff::SignedDuration>()
        .ok()
        .and_then(|time| Duration::try_from(time).ok());
    parsed.filter(|time| *time <= LONGEST).ok_or_else(|| {
        "expected a time such as `500ms`, `90s` or `1m30s`, at most `8760h`".to_owned()
    })
}

/// What decides about requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AuthorizationArg {
    /// Everybody who is authenticated may do everything.
    #[value(alias = "AlwaysAllow")]
    Allow,
    /// Roles and bindings.
    #[value(alias = "RBAC")]
    Rbac,
}

/// Where objects are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreArg {
    /// In memory.
    Memory,
    /// In a file.
    File(PathBuf),
    /// In etcd, with the URLs of its servers.
    Etcd(Vec<String>),
}

impl std::str::FromStr for StoreArg {
    type Err = String;

    fn from_str(argument: &str) -> Result<Self, String> {
        match argument.split_once(':') {
            None if argument == "memory" => Ok(StoreArg::Memory),
            Some(("file", path)) if !path.is_empty() => Ok(StoreArg::File(PathBuf::from(path))),
            Some(("etcd", urls)) if !urls.is_empty() => {
                Ok(StoreArg::Etcd(urls.split(',').map(str::to_owned).collect()))
            }
            _ => Err("expected `memory`, `file:PATH` or `etcd:URL,...`".to_owned()),
        }
    }
}

/// The namespace and the name of a service, and a URL.
fn webhook_service(text: &str) -> Result<(String, String, String), String> {
    let parts = text.split_once('=').and_then(|(service, url)| {
        let (namespace, name) = service.split_once('/')?;
        let is_url = url.starts_with("https://") || url.starts_with("http://");
        is_url.then(|| (namespace.to_owned(), name.to_owned(), url.to_owned()))
    });
    parts.ok_or_else(|| {
        "expected NAMESPACE/NAME=URL, as shop/hooks=https://127.0.0.1:9443".to_owned()
    })
}
