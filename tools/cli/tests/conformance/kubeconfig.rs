//! The server that arguments and a kubeconfig name.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::common::{Folder, line, run};
use crate::conformance::{CASES, Server};

#[test]
fn servers_that_do_not_look_like_tests_are_refused() {
    let refused = run(&[
        "conformance",
        "--server",
        "https://api.shop.example.com:6443",
    ]);
    assert_eq!(
        (refused.code, refused.err.as_str()),
        (
            2,
            "error: https://api.shop.example.com:6443 does not look like a server for tests, and a run creates \
             namespaces and CustomResourceDefinitions: expected a word such as kind, k3d, dev or test in the name \
             of the context, of the cluster or of the host without its last label, or a loopback address by \
             --server; --yes runs on it nevertheless\n"
        )
    );
    let silent = run(&["conformance", "--server", "http://127.0.0.1:1"]);
    assert_eq!(silent.code, 2);
    assert!(
        silent
            .err
            .starts_with("error: http://127.0.0.1:1 does not answer: "),
        "{}",
        silent.err
    );
    assert!(silent.err.contains("Connection refused"), "{}", silent.err);
    let wrong = run(&["conformance", "--server", "nowhere"]);
    assert!(
        wrong
            .err
            .contains("`nowhere` is not the address of a server"),
        "{}",
        wrong.err
    );
}

#[test]
fn kubeconfig_leads_to_the_server_with_tokens_and_exec_plugins() {
    let server = Server::start(&["--tls", "--token-file", "@/tokens"]);
    let line = |arguments: &str| {
        let line = server.folder.line(&format!(
            "conformance {arguments} @/cases.yaml --filter created"
        ));
        run(&line.split_whitespace().collect::<Vec<_>>())
    };
    let by_file = line("--kubeconfig @/kubeconfig");
    assert_eq!(
        (by_file.code, by_file.err.as_str()),
        (0, ""),
        "{}",
        by_file.out
    );
    let url = server.url.clone();
    let by_token = line(&format!("--server {url} --token secret --insecure"));
    assert_eq!(by_token.code, 0, "{}{}", by_token.out, by_token.err);
    let without = line(&format!("--server {url} --insecure"));
    assert_eq!(without.code, 2, "{}", without.out);
    let unknown_authority = line(&format!("--server {url} --token secret"));
    assert_eq!(unknown_authority.code, 2, "{}", unknown_authority.out);
    for part in ["certificate", "--certificate-authority", "--insecure"] {
        assert!(
            unknown_authority.err.contains(part),
            "{}",
            unknown_authority.err
        );
    }
    // The token by a plugin, the certificate by a file.
    let kubeconfig: serde_json::Value =
        serde_json::from_slice(&std::fs::read(server.folder.path().join("kubeconfig")).unwrap())
            .unwrap();
    let credential = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"secret"}}"#;
    let mut by_plugin = kubeconfig;
    by_plugin["users"][0]["user"] = serde_json::json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": [credential], "interactiveMode": "Never",
    }});
    let path = server.folder.path().join("plugin");
    std::fs::write(&path, by_plugin.to_string()).unwrap();
    let context = by_plugin["contexts"][0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let by_plugin = line(&format!("--kubeconfig @/plugin --context {context}"));
    assert_eq!(by_plugin.code, 0, "{}{}", by_plugin.out, by_plugin.err);
    let unknown = line("--kubeconfig @/plugin --context other");
    assert_eq!(unknown.code, 2, "{}", unknown.out);
    assert!(
        unknown
            .err
            .contains(&format!("no context `other`: expected one of {context}")),
        "{}",
        unknown.err
    );
}

#[test]
fn plugins_of_a_kubeconfig_run_after_the_guard_and_their_arguments_are_not_shown() {
    let folder = Folder::new(&[("cases.yaml", CASES)]);
    let marker = folder.path().join("marker");
    for (context, is_run) in [("shop", false), ("shop-prod", false), ("kind-shop", true)] {
        let script = format!("touch {}; echo geheim; exit 3", marker.display());
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": context,
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {"exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
                "env": [{"name": "PASSWORD", "value": "geheim"}], "interactiveMode": "Never",
            }}}],
            "contexts": [{"name": context, "context": {"cluster": "c", "user": "u"}}],
        });
        std::fs::write(folder.path().join("config"), kubeconfig.to_string()).unwrap();
        let run = line(&folder.line("conformance --kubeconfig @/config @/cases.yaml"));
        assert_eq!(
            (run.code, marker.exists()),
            (2, is_run),
            "{context}: {}",
            run.err
        );
        assert!(!run.err.contains("geheim"), "{}", run.err);
        let expected = if is_run {
            "the plugin of the kubeconfig failed with exit status: 3"
        } else {
            "does not look like"
        };
        assert!(run.err.contains(expected), "{}", run.err);
    }
}

/// Starts a TLS proxy that requires a client certificate, and returns its port.
fn guarded(runtime: &tokio::runtime::Runtime, target: String, config: ServerConfig) -> u16 {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, target) = (acceptor.clone(), target.clone());
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(stream).await else {
                    return;
                };
                let mut server = TcpStream::connect(target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

#[test]
fn kubeconfig_leads_to_the_server_with_a_client_certificate() {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.signed_by(&key, &authority).unwrap(), key)
    };
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .unwrap();
    let (certificate, key) = signed("127.0.0.1");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients)
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let server = Server::start(&[]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let target = server.url.strip_prefix("http://").unwrap().to_owned();
    let port = guarded(&runtime, target, config);

    let (certificate, key) = signed("alice");
    let encoded = |text: String| STANDARD.encode(text);
    let user = serde_json::json!({"client-certificate-data": encoded(certificate.pem()), "client-key-data": encoded(key.serialize_pem())});
    for (user, code) in [(user, 0), (serde_json::json!({}), 2)] {
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": format!("https://127.0.0.1:{port}"), "certificate-authority-data": encoded(authority.pem())}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        });
        std::fs::write(server.folder.path().join("guarded"), kubeconfig.to_string()).unwrap();
        let run = line(
            &server
                .folder
                .line("conformance --yes --kubeconfig @/guarded @/cases.yaml --filter created"),
        );
        assert_eq!(run.code, code, "{}{}", run.out, run.err);
        let managers = server
            .folder
            .line("managers namespaces/default --kubeconfig @/guarded");
        assert_eq!(line(&managers).code, code);
    }
}
