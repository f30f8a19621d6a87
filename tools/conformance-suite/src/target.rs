//! The server that options name, before a request is sent.

use std::path::{Path, PathBuf};

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::{Cluster, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::connection::Connection;
use crate::fault::{self, ConnectError};
use crate::guard::{Identity, is_loopback};

/// The most contexts that a message lists.
const SHOWN_CONTEXTS: usize = 20;

/// How to reach a server.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// The address, such as `https://127.0.0.1:6443`. Without it, the kubeconfig names the server.
    pub url: Option<String>,
    /// The bearer token for the address.
    pub token: Option<String>,
    /// A file with the certificate authority of the address, in PEM.
    pub certificate_authority: Option<PathBuf>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// The kubeconfig; without it, the files of `$KUBECONFIG`, `~/.kube/config`, or the service account of a Pod.
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; without it, the current one.
    pub context: Option<String>,
}

/// A server that options name. Nothing was sent to it, and no plugin of the kubeconfig was run.
#[derive(Clone, Debug)]
pub struct Target {
    config: Config,
    url: String,
    identity: Identity,
    certificate_authority: Option<PathBuf>,
}

impl Target {
    /// Reads the options and the kubeconfig.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] for a fault of an option or of a file.
    pub async fn read(options: &ServerOptions) -> Result<Self, ConnectError> {
        let (mut config, identity) = match &options.url {
            Some(url) => by_address(url, options)?,
            None if is_in_cluster(options) => of_pod()?,
            None => by_kubeconfig(options).await?,
        };
        config.accept_invalid_certs |= options.insecure;

        // The runner repeats what may be repeated, and counts the time of each request by itself.
        config.default_retry = false;
        let url = config
            .cluster_url
            .to_string()
            .trim_end_matches('/')
            .to_owned();
        let certificate_authority = options.certificate_authority.clone();

        Ok(Target {
            config,
            url,
            identity,
            certificate_authority,
        })
    }

    /// The address of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The context of the kubeconfig, if the server is from one.
    pub fn context(&self) -> Option<&str> {
        Some(self.identity.context.as_str()).filter(|context| !context.is_empty())
    }

    /// The namespace of the context; `default` if it names none.
    pub fn namespace(&self) -> &str {
        &self.config.default_namespace
    }

    /// Why the server does not look like one for tests, and what would; `None` if it does.
    pub fn refusal(&self) -> Option<String> {
        self.identity.refusal()
    }

    /// Makes a client, for which a plugin of the kubeconfig may be run. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Client`].
    pub fn connect(self) -> Result<Connection, ConnectError> {
        let curl = self.curl();
        let client = Client::try_from(self.config);
        let client = client.map_err(|error| ConnectError::Client(fault::with_causes(&error)))?;
        Ok(Connection::by_client(client, self.url, curl))
    }

    /// Arguments of `curl`, without secrets.
    fn curl(&self) -> Vec<String> {
        let mut curl = Vec::new();
        if self.config.accept_invalid_certs {
            curl.push("--insecure".to_owned());
        } else if let Some(file) = &self.certificate_authority {
            curl.push(format!(
                "--cacert {}",
                crate::connection::quoted(&file.display().to_string())
            ));
        } else if self.config.root_cert.is_some() {
            curl.push("--cacert \"$CERTIFICATE_AUTHORITY\"".to_owned());
        }

        // Secrets are variables for the shell, so that no report has them.
        let info = &self.config.auth_info;
        if info.client_certificate.is_some() || info.client_certificate_data.is_some() {
            curl.push("--cert \"$CERTIFICATE\" --key \"$KEY\"".to_owned());
        } else if info.token.is_some() || info.token_file.is_some() || info.exec.is_some() {
            curl.push("-H \"Authorization: Bearer $TOKEN\"".to_owned());
        }
        curl
    }
}

fn by_address(url: &str, options: &ServerOptions) -> Result<(Config, Identity), ConnectError> {
    let wrong = |reason: String| ConnectError::Url {
        url: fault::without_user(url),
        reason,
    };
    let uri: Uri = url
        .parse()
        .map_err(|error: http::uri::InvalidUri| wrong(error.to_string()))?;
    if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("it has no scheme or no host".into()));
    }

    let host = host_without_user(&uri)?;
    let mut config = Config::new(uri.clone());
    config.auth_info.token = options.token.clone().map(Into::into);
    if let Some(file) = &options.certificate_authority {
        // Read here for the message; the client reads it again.
        let failed = |reason: std::io::Error| ConnectError::File {
            file: file.clone(),
            reason: reason.to_string(),
        };
        std::fs::metadata(file).map_err(failed)?;
        config.root_cert_file = Some(file.clone());
    }

    config.proxy_url = proxy_of_environment(&uri, |name| std::env::var(name).ok())?;
    Ok((
        config,
        Identity {
            host,
            is_address: true,
            ..Identity::default()
        },
    ))
}

/// The host of an address, which must not have a user: clients would not send it.
fn host_without_user(uri: &Uri) -> Result<String, ConnectError> {
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        let url = fault::without_user(&uri.to_string());
        return Err(ConnectError::Url {
            url,
            reason: "it has a user, which a client does not send".into(),
        });
    }

    Ok(uri.host().unwrap_or_default().to_owned())
}

/// Whether the program runs in a Pod, and nothing names a kubeconfig: then a Pod uses its own credentials, as with kubectl.
fn is_in_cluster(options: &ServerOptions) -> bool {
    let is_named = options.kubeconfig.is_some()
        || options.context.is_some()
        || std::env::var_os("KUBECONFIG").is_some_and(|files| !files.is_empty());
    !is_named && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() && !own_kubeconfig().exists()
}

/// The credentials of the service account of a Pod.
fn of_pod() -> Result<(Config, Identity), ConnectError> {
    let config = Config::incluster().map_err(|error| {
        let reason = fault::with_causes(&error);
        ConnectError::Kubeconfig(format!(
            "there is none, and the service account of this Pod cannot be used: {reason}"
        ))
    })?;
    let identity = Identity {
        host: host_without_user(&config.cluster_url)?,
        ..Identity::default()
    };
    Ok((config, identity))
}

async fn by_kubeconfig(options: &ServerOptions) -> Result<(Config, Identity), ConnectError> {
    let kubeconfig = match &options.kubeconfig {
        Some(file) => read(file)?,
        None => kubeconfig_of_environment()?,
    };
    let names = || {
        let names: Vec<_> = kubeconfig
            .contexts
            .iter()
            .map(|context| context.name.as_str())
            .collect();
        // A kubeconfig may have thousands of contexts.
        let shown = names.get(..SHOWN_CONTEXTS).unwrap_or(&names);
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        if names.is_empty() {
            "it has no contexts".into()
        } else {
            format!("expected one of {}{more}", shown.join(", "))
        }
    };

    let name = options
        .context
        .clone()
        .or_else(|| kubeconfig.current_context.clone());
    let name = name.ok_or_else(|| {
        ConnectError::Kubeconfig(format!(
            "it has no current context, and there is no --context: {}",
            names()
        ))
    })?;
    let context = kubeconfig
        .contexts
        .iter()
        .find(|context| context.name == name);

    let context = context.and_then(|context| context.context.clone());
    let context = context.ok_or_else(|| {
        ConnectError::Kubeconfig(format!("there is no context `{name}`: {}", names()))
    })?;
    // A missing cluster is an error of the client below, so here it only has no proxy.
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|cluster| cluster.name == context.cluster);
    let cluster = cluster
        .and_then(|cluster| cluster.cluster.clone())
        .unwrap_or_default();
    let chosen = KubeConfigOptions {
        context: Some(name.clone()),
        ..KubeConfigOptions::default()
    };

    let mut config = Config::from_custom_kubeconfig(kubeconfig, &chosen)
        .await
        .map_err(|error| ConnectError::Kubeconfig(fault::of_kubeconfig(&error)))?;
    let host = host_without_user(&config.cluster_url)?;
    let proxy = cluster
        .proxy_url
        .as_deref()
        .filter(|proxy| !proxy.is_empty());

    // The client would compare NO_PROXY with the address of the proxy.
    config.proxy_url = match proxy {
        Some(proxy) => Some(parsed_proxy("proxy-url", proxy)?),
        None => proxy_of_environment(&config.cluster_url, |name| std::env::var(name).ok())?,
    };
    // From these, `refusal` decides whether the server looks like one for tests.
    let identity = Identity {
        host,
        is_address: false,
        context: name,
        user: context.user.unwrap_or_default(),
        tls_server_name: cluster.tls_server_name.clone().unwrap_or_default(),
        has_proxy: proxy.is_some(),
        is_minikube: is_minikube(&cluster),
        cluster: context.cluster,
    };

    Ok((config, identity))
}

fn is_minikube(cluster: &Cluster) -> bool {
    let mut extensions = cluster.extensions.iter().flatten();
    extensions.any(|extension| {
        extension.extension.get("provider") == Some(&"minikube.sigs.k8s.io".into())
    })
}

/// `~/.kube/config`
fn own_kubeconfig() -> PathBuf {
    let home = std::env::home_dir().unwrap_or_default();
    home.join(".kube").join("config")
}

/// The files of `$KUBECONFIG`, as kubectl reads them: those that do not exist are skipped, and the first to set a value wins.
fn kubeconfig_of_environment() -> Result<Kubeconfig, ConnectError> {
    let list = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let files: Vec<_> = std::env::split_paths(&list)
        .filter(|file| !file.as_os_str().is_empty())
        .collect();
    if files.is_empty() {
        return read(&own_kubeconfig());
    }
    merged(&files)
}

fn merged(files: &[PathBuf]) -> Result<Kubeconfig, ConnectError> {
    let existing: Vec<_> = files.iter().filter(|file| file.exists()).collect();
    if existing.is_empty() {
        let files: Vec<_> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let message = format!("no file of $KUBECONFIG exists: {}", files.join(", "));
        return Err(ConnectError::Kubeconfig(message));
    }

    let failed = |error: KubeconfigError| ConnectError::Kubeconfig(fault::of_kubeconfig(&error));
    existing
        .into_iter()
        .try_fold(Kubeconfig::default(), |all, file| {
            all.merge(read(file)?).map_err(failed)
        })
}

fn read(file: &Path) -> Result<Kubeconfig, ConnectError> {
    let mut kubeconfig = Kubeconfig::read_from(file).map_err(|error| match error {
        KubeconfigError::ReadConfig(error, file) => ConnectError::File {
            file,
            reason: error.to_string(),
        },
        other => ConnectError::Kubeconfig(format!(
            "{}: {}",
            file.display(),
            fault::of_kubeconfig(&other)
        )),
    })?;
    kubeconfig.current_context = kubeconfig
        .current_context
        .filter(|context| !context.is_empty());

    Ok(kubeconfig)
}

/// The proxy that the variables of the environment name for an address. Loopback addresses have none.
fn proxy_of_environment(
    url: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Uri>, ConnectError> {
    let first = |names: &[&'static str]| {
        let mut found = names
            .iter()
            .filter_map(|name| Some((*name, variable(name)?)));
        found.find(|(_, value)| !value.is_empty())
    };
    let proxy = match url.scheme_str() {
        Some("https") => first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
        _ => first(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
    };
    let Some((name, proxy)) = proxy.filter(|_| !is_loopback(url.host().unwrap_or_default())) else {
        return Ok(None);
    };

    let excluded = first(&["NO_PROXY", "no_proxy"])
        .map(|(_, value)| value)
        .unwrap_or_default();
    let matcher = Matcher::builder().all("http://proxy").no(excluded).build();
    matcher
        .intercept(url)
        .map(|_| parsed_proxy(name, &proxy))
        .transpose()
}

fn parsed_proxy(name: &str, proxy: &str) -> Result<Uri, ConnectError> {
    let whole = if proxy.contains("://") {
        proxy.to_owned()
    } else {
        format!("http://{proxy}")
    };
    let parsed: Option<Uri> = whole.parse().ok();
    let is_known = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https" | "socks5"));

    parsed.filter(is_known).ok_or_else(|| ConnectError::Proxy {
        name: name.to_owned(),
        url: fault::without_user(proxy),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &'static str, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let found = proxy_of_environment(&Uri::from_static(url), variable);
        found
            .map_err(|error| error.to_string())
            .unwrap()
            .map(|uri| uri.to_string())
    }

    #[test]
    fn environment_names_a_proxy_except_for_loopback_and_excluded_hosts() {
        let variables = [
            ("HTTPS_PROXY", "proxy.example.com:3128"),
            ("NO_PROXY", "10.0.0.0/8,.shop.test,localhost,"),
        ];
        let through = Some("http://proxy.example.com:3128/".to_owned());
        assert_eq!(proxy("https://api.example.com", &variables), through);
        for direct in [
            "https://127.0.0.1:6443",
            "https://localhost",
            "https://[::1]:6443",
            "https://10.1.2.3",
            "https://api.shop.test",
            "http://api.example.com",
        ] {
            assert_eq!(proxy(direct, &variables), None, "{direct}");
        }
        assert_eq!(proxy("https://api.example.com", &[]), None);
        assert_eq!(
            proxy(
                "http://api.example.com",
                &[("http_proxy", "socks5://p:1080")]
            ),
            Some("socks5://p:1080/".into())
        );
    }

    #[test]
    fn unknown_proxy_is_refused_without_its_password() {
        let error = parsed_proxy("proxy-url", "ftp://alice:secret@p")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "proxy-url: `ftp://p` is not the address of a proxy: expected one with http, https or socks5"
        );
    }

    fn written(folder: &Path, name: &str, content: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    #[test]
    fn lists_of_kubeconfigs_skip_missing_files_and_empty_contexts() {
        let folder = tempfile::tempdir().unwrap();
        let first = written(
            folder.path(),
            "first",
            "{apiVersion: v1, kind: Config, current-context: ''}",
        );
        let second = written(
            folder.path(),
            "second",
            "{apiVersion: v1, kind: Config, current-context: kind}",
        );
        let missing = folder.path().join("missing");
        let merged_files = merged(&[missing.clone(), first, second]).unwrap();
        assert_eq!(merged_files.current_context.as_deref(), Some("kind"));
        let error = merged(std::slice::from_ref(&missing))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            format!(
                "the kubeconfig: no file of $KUBECONFIG exists: {}",
                missing.display()
            )
        );
    }

    #[test]
    fn faults_of_a_kubeconfig_do_not_show_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(
            folder.path(),
            "config",
            "users:\n- name: a\n  user:\n    token: {geheim: 1}\n",
        );
        let error = read(&file).unwrap_err().to_string();
        assert!(
            error.contains("is not a kubeconfig") && error.contains("line 4"),
            "{error}"
        );
        assert!(!error.contains("geheim"), "{error}");
    }

    #[tokio::test]
    async fn unknown_context_names_those_that_exist() {
        let folder = tempfile::tempdir().unwrap();
        let content =
            "{contexts: [{name: a, context: {cluster: c}}, {name: b, context: {cluster: c}}]}";
        let file = written(folder.path(), "config", content);
        let message = async |context: Option<&str>| {
            let options = ServerOptions {
                kubeconfig: Some(file.clone()),
                context: context.map(str::to_owned),
                ..ServerOptions::default()
            };
            Target::read(&options).await.unwrap_err().to_string()
        };
        assert_eq!(
            message(Some("x")).await,
            "the kubeconfig: there is no context `x`: expected one of a, b"
        );
        assert_eq!(
            message(None).await,
            "the kubeconfig: it has no current context, and there is no --context: expected one of a, b"
        );
    }

    #[tokio::test]
    async fn user_in_an_address_is_refused_and_not_shown() {
        for url in [
            "https://alice:secret@example.com",
            "https://alice:secret@exa mple.com",
        ] {
            let options = ServerOptions {
                url: Some(url.into()),
                ..ServerOptions::default()
            };
            let error = Target::read(&options).await.unwrap_err().to_string();
            assert!(
                !error.contains("secret")
                    && error.contains("example.com") | error.contains("mple.com"),
                "{error}"
            );
        }
    }
}
