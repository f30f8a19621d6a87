//! `envtest`: what test suites expect of kube-apiserver and etcd, without such a suite.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue must fail"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::common::{Run, run};

/// The programs in a folder of a test.
struct Programs {
    folder: tempfile::TempDir,
}

impl Programs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(run(&["envtest", path]).code, 0);
        fs::write(
            folder.path().join("tokens"),
            "secret,alice,1,system:masters\n",
        )
        .unwrap();
        Programs { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a program that ends by itself.
    fn run(&self, name: &str, arguments: &[&str]) -> Run {
        let output = Command::new(self.path(name))
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// What kube-apiserver says of a flag that it refuses.
    fn refusal(&self, argument: &str) -> String {
        let run = self.run(
            "kube-apiserver",
            &["--etcd-servers=http://127.0.0.1:1", argument],
        );
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{argument}");
        run.err.trim_end().to_owned()
    }

    /// Starts an etcd, and waits until it is healthy.
    fn etcd(&self) -> Etcd {
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}");
        let process = Command::new(self.path("etcd"))
            .args([
                &format!("--listen-client-urls={url}"),
                "--unsafe-no-fsync=true",
            ])
            .args([
                "--advertise-client-urls",
                &url,
                "--listen-peer-urls=http://127.0.0.1:0",
            ])
            .arg(format!("--data-dir={}", self.path("data").display()))
            .spawn()
            .unwrap();
        let etcd = Etcd {
            process: Some(process),
            port,
        };
        wait_for(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        etcd
    }

    fn api_server(&self, etcd: &Etcd) -> Server {
        self.api_server_with(etcd, &[])
    }

    fn api_server_with(&self, etcd: &Etcd, flags: &[&str]) -> Server {
        let port = free_port();
        let process = self
            .command(etcd, port)
            .args(flags)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let certificate = self.path("certs/apiserver.crt");
        let server = Server {
            process: Some(process),
            port,
            certificate,
        };
        wait_for(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        server
    }

    fn command(&self, etcd: &Etcd, port: u16) -> Command {
        let mut command = Command::new(self.path("kube-apiserver"));
        command.args(arguments(self.folder.path(), etcd.port, port));
        command
    }
}

/// The arguments of envtest.
fn arguments(folder: &Path, etcd: u16, port: u16) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", folder.join("certs").display()),
        format!("--token-auth-file={}", folder.join("tokens").display()),
        "--bind-address=127.0.0.1".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ]
}

/// A port that nothing has at the moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn wait_for(ready: impl Fn() -> bool) {
    while !ready() {
        std::thread::yield_now();
    }
}

/// Sends SIGTERM, and returns the exit code.
fn stop(process: &mut Child) -> Option<i32> {
    let pid = process.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    process.wait().unwrap().code()
}

/// A process, which is killed if the test fails.
struct Etcd {
    process: Option<Child>,
    port: u16,
}

struct Server {
    process: Option<Child>,
    port: u16,
    certificate: PathBuf,
}

impl Etcd {
    fn get(&self, path: &str) -> String {
        exchange(
            TcpStream::connect(("127.0.0.1", self.port)).unwrap(),
            "GET",
            path,
            "",
        )
    }

    fn stop(mut self) -> Option<i32> {
        stop(self.process.as_mut().unwrap())
    }
}

impl Server {
    /// The answer to a request over TLS, whose certificate is checked.
    fn send(&self, method: &str, path: &str, body: &str) -> String {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(&self.certificate)
            .unwrap()
            .skip(1)
        {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = "127.0.0.1".try_into().unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        exchange(StreamOwned::new(connection, stream), method, path, body)
    }

    fn get(&self, path: &str) -> String {
        self.send("GET", path, "")
    }

    fn stop(mut self) -> Option<i32> {
        stop(self.process.as_mut().unwrap())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.take().map(|mut process| process.kill());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.take().map(|mut process| process.kill());
    }
}

fn exchange(mut stream: impl Read + Write, method: &str, path: &str, body: &str) -> String {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A server may close a connection of TLS without saying so.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn programs_are_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it's new");
    let shown = path.to_str().unwrap();
    assert_eq!(run(&["envtest", shown]).out, format!("{shown}\n"));
    let state = || {
        let names = ["kube-apiserver", "etcd"].map(|name| path.join(name));
        names.map(|name| {
            fs::symlink_metadata(name)
                .map(|found| (found.ino(), found.ctime_nsec()))
                .unwrap()
        })
    };
    let before = state();
    let quoted = format!(
        "export KUBEBUILDER_ASSETS='{}'\n",
        shown.replace('\'', r"'\''")
    );
    assert_eq!(run(&["envtest", shown, "--print-env"]).out, quoted);
    assert_eq!(state(), before);

    // A link of an earlier release is replaced, and a program of somebody else stays.
    fs::remove_file(path.join("etcd")).unwrap();
    std::os::unix::fs::symlink("/nowhere/fieldmanager", path.join("etcd")).unwrap();
    assert_eq!(run(&["envtest", shown]).code, 0);
    assert!(path.join("etcd").exists());
    fs::remove_file(path.join("etcd")).unwrap();
    fs::write(path.join("etcd"), "the real one").unwrap();
    let refused = run(&["envtest", shown]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("another program is there"),
        "{}",
        refused.err
    );
}

#[test]
fn help_lists_flags_and_says_what_the_programs_are() {
    let programs = Programs::new();
    for (name, known, unknown) in [
        ("kube-apiserver", "--secure-port", "--insecure-port"),
        ("etcd", "--unsafe-no-fsync", "--listen-nothing"),
    ] {
        let help = programs.run(name, &["--help"]);
        assert_eq!((help.code, help.err.as_str()), (0, ""));
        assert!(
            help.out
                .contains(&format!("fieldmanager in the role of {name}"))
        );
        let has = |flag: &str| {
            let mut lines = help
                .out
                .lines()
                .filter_map(|line| line.split_whitespace().next());
            lines.any(|word| word == flag)
        };
        assert!(has(known) && !has(unknown), "{}", help.out);
    }
    assert_eq!(
        programs.run("kube-apiserver", &["--version"]).out,
        "Kubernetes v1.37.1+fieldmanager\n"
    );
}

#[test]
fn flags_are_refused_in_the_words_of_kube_apiserver() {
    let programs = Programs::new();
    for (argument, message) in [
        ("--x", "unknown flag: --x"),
        ("--x=1", "unknown flag: --x"),
        ("-x", "unknown shorthand flag: 'x' in -x"),
        ("--secure-port", "flag needs an argument: --secure-port"),
        (
            "foo",
            "\"kube-apiserver\" does not take any arguments, got [\"foo\"]",
        ),
        (
            "--authorization-mode=Foo",
            "authorization-mode \"Foo\" is not a valid mode",
        ),
        (
            "--anonymous-auth=x",
            "invalid argument \"x\" for \"--anonymous-auth\" flag: strconv.ParseBool: parsing \"x\": invalid syntax",
        ),
        (
            "--secure_port=a",
            "invalid argument \"a\" for \"--secure_port\" flag: strconv.ParseInt: parsing \"a\": invalid syntax",
        ),
        (
            "--audit-policy-file=a",
            "no etcd of `fieldmanager envtest` runs at http://127.0.0.1:1; a program that is built with the feature `etcd` takes any etcd",
        ),
        (
            "--oidc-issuer-url=a",
            "fieldmanager stands in for kube-apiserver, and does not support --oidc-issuer-url",
        ),
    ] {
        let found = programs.refusal(argument);
        let last = found.lines().last().unwrap_or_default();
        assert_eq!(last, format!("Error: {message}"), "{argument}");
    }
    let none = programs.run("kube-apiserver", &[]);
    assert_eq!(none.err, "Error: --etcd-servers must be specified\n");
    let unknown = programs.run("etcd", &["--listen-nothing"]);
    assert_eq!(
        (unknown.code, unknown.err.as_str()),
        (1, "Error: flag provided but not defined: -listen-nothing\n")
    );
}

#[test]
fn servers_of_one_etcd_share_objects_that_survive_them() {
    let programs = Programs::new();
    let etcd = programs.etcd();
    assert!(
        etcd.get("/health")
            .ends_with("\r\n\r\n{\"health\":\"true\",\"reason\":\"\"}")
    );
    assert!(
        etcd.get("/v3/kv/range")
            .contains("this is fieldmanager in the role of etcd")
    );

    let first = programs.api_server(&etcd);
    for path in ["/healthz", "/readyz"] {
        assert!(first.get(path).starts_with("HTTP/1.1 200"), "{path}");
    }
    assert!(
        first
            .get("/version")
            .contains("\"gitVersion\": \"v1.37.1+fieldmanager\"")
    );
    assert!(
        first
            .get("/api/v1/namespaces/default/services/kubernetes")
            .contains("\"clusterIP\":\"10.0.0.1\"")
    );
    assert!(
        first
            .get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
            .contains("\"10.0.0.0/24\"")
    );
    let namespace = r#"{"metadata":{"name":"kept"}}"#;
    assert!(
        first
            .send("POST", "/api/v1/namespaces", namespace)
            .starts_with("HTTP/1.1 201")
    );

    let second = programs.api_server(&etcd);
    assert!(
        second
            .get("/api/v1/namespaces/kept")
            .starts_with("HTTP/1.1 200")
    );
    let service = r#"{"metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}"#;
    let path = "/api/v1/namespaces/kept/services";
    assert!(
        second
            .send("POST", path, service)
            .contains("\"clusterIP\":\"10.0.0.16\"")
    );
    assert!(
        first
            .get(&format!("{path}/web"))
            .contains("\"clusterIP\":\"10.0.0.16\"")
    );

    assert_eq!(first.stop(), Some(0));
    let third = programs.api_server(&etcd);
    assert!(
        third
            .get(&format!("{path}/web"))
            .contains("\"clusterIP\":\"10.0.0.16\"")
    );
    // As in envtest, nothing empties a namespace.
    assert!(
        third
            .send("DELETE", "/api/v1/namespaces/kept", "")
            .contains("Terminating")
    );
    assert!(
        second
            .get(&format!("{path}/web"))
            .starts_with("HTTP/1.1 200")
    );

    let mut rest = [second, third];
    assert_eq!(etcd.stop(), Some(0));
    for server in &mut rest {
        assert_eq!(
            server.process.as_mut().unwrap().wait().unwrap().code(),
            Some(1)
        );
    }
}

#[test]
fn a_definition_of_one_server_is_served_by_the_other() {
    let programs = Programs::new();
    let etcd = programs.etcd();
    let (first, second) = (programs.api_server(&etcd), programs.api_server(&etcd));
    let definition = r#"{"metadata":{"name":"shops.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
        "names":{"plural":"shops","kind":"Shop"},"versions":[{"name":"v1","served":true,"storage":true,
        "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert!(
        first
            .send("POST", path, definition)
            .starts_with("HTTP/1.1 201")
    );
    wait_for(|| {
        second
            .get("/apis/example.com/v1/shops")
            .starts_with("HTTP/1.1 200")
    });
    let shop = r#"{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"name":"corner"}}"#;
    assert!(
        second
            .send(
                "POST",
                "/apis/example.com/v1/namespaces/default/shops",
                shop
            )
            .starts_with("HTTP/1.1 201")
    );
    assert!(
        first
            .get("/apis/example.com/v1/namespaces/default/shops/corner")
            .starts_with("HTTP/1.1 200")
    );

    // Its deletion is complete, which is not the work of a collector there either.
    let one = format!("{path}/shops.example.com");
    assert!(second.send("DELETE", &one, "").starts_with("HTTP/1.1 200"));
    wait_for(|| first.get(&one).starts_with("HTTP/1.1 404"));
}

#[test]
fn servers_with_different_prefixes_have_different_objects() {
    let programs = Programs::new();
    let etcd = programs.etcd();
    let first = programs.api_server(&etcd);
    let second = programs.api_server_with(&etcd, &["--etcd-prefix=/other"]);
    let namespace = r#"{"metadata":{"name":"first"}}"#;
    assert!(
        first
            .send("POST", "/api/v1/namespaces", namespace)
            .starts_with("HTTP/1.1 201")
    );
    assert!(
        second
            .get("/api/v1/namespaces/first")
            .starts_with("HTTP/1.1 404")
    );
    assert!(
        second
            .get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
            .starts_with("HTTP/1.1 200")
    );
}

#[test]
fn flags_without_an_effect_are_named_once() {
    let programs = Programs::new();
    let etcd = programs.etcd();
    let port = free_port();
    let mut process = programs
        .command(&etcd, port)
        .args(["-v=2", "--feature-gates=A=true", "--feature-gates=B=true"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert_eq!(stop(&mut process), Some(0));
    let mut errors = String::new();
    process
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert_eq!(
        errors,
        "fieldmanager: without an effect: --allow-privileged, --feature-gates, --v\n"
    );
}

#[test]
fn what_serve_refuses_is_an_error_of_the_program() {
    let programs = Programs::new();
    let etcd = programs.etcd();
    let server = programs.api_server(&etcd);
    let run = |arguments: &[&str]| {
        let mut command = programs.command(&etcd, server.port);
        let output = command.args(arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        (
            output.status.code(),
            errors.lines().last().unwrap_or_default().to_owned(),
        )
    };
    let (code, error) = run(&[]);
    assert_eq!(code, Some(1));
    assert!(
        error.starts_with("Error: cannot listen on 127.0.0.1:"),
        "{error}"
    );
    let (code, error) = run(&["--service-cluster-ip-range=10.0.0.0"]);
    assert_eq!(code, Some(1));
    assert!(
        error.starts_with("Error: invalid value '10.0.0.0' for '--service-cluster-ip-range"),
        "{error}"
    );
    let (code, error) = run(&["--disable-admission-plugins=Foo"]);
    assert_eq!(
        (code, error.as_str()),
        (
            Some(1),
            "Error: disable-admission-plugins plugin \"Foo\" is unknown"
        )
    );
}

#[test]
fn programs_end_with_their_parent() {
    let programs = Programs::new();
    let (etcd_port, api_port) = (free_port(), free_port());
    // A shell starts the program, and does not stop it when it is killed.
    let start = |name: &str, flags: &[String], port: u16| {
        let shell = Command::new("sh")
            .args(["-c", "\"$0\" \"$@\" & wait"])
            .arg(programs.path(name))
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        shell
    };
    let url = format!("--listen-client-urls=http://127.0.0.1:{etcd_port}");
    let etcd = start("etcd", &[url], etcd_port);
    let flags = arguments(programs.folder.path(), etcd_port, api_port);
    let server = start("kube-apiserver", &flags, api_port);
    for mut shell in [server, etcd] {
        shell.kill().unwrap();
        shell.wait().unwrap();
        // The output ends with the last process that has inherited it.
        let mut rest = String::new();
        shell
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut rest)
            .unwrap();
        assert_eq!(rest, "");
    }
}

#[test]
fn the_page_has_the_table_of_flags() {
    let read =
        |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let page = read("../../docs/envtest.md");
    let table = read("src/envtest/flags.txt");
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<Vec<&str>> = lines.map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 172, "kube-apiserver 1.37.1 has as many");

    let section = |title: &str| {
        let (_, rest) = page.split_once(&format!("### {title}\n")).unwrap();
        let text = rest.split("\n#").next().unwrap();
        let words = text.split('`').skip(1).step_by(2);
        words
            .filter_map(|word| word.strip_prefix("--").map(str::to_owned))
            .collect::<BTreeSet<_>>()
    };
    let of = |effect: fn(&str) -> bool| {
        let lines = lines.iter().filter(|line| effect(line[2]));
        lines
            .map(|line| line[0].to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(section("Without an effect"), of(|effect| effect == "-"));
    assert_eq!(section("Refused"), of(|effect| effect == "refused"));
    let supported = of(|effect| effect != "-" && effect != "refused");
    assert_eq!(section("Supported"), supported);
}
