//! Calls over HTTPS: what fails, in the words of kube-apiserver, and which connections are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fieldmanager_admission::internal::probe;
use fieldmanager_admission::webhooks::{
    Authorities, CallError, Caller, ClientConfig, HttpCaller, MAX_ANSWER_BYTES, MAX_REQUESTS,
    Resolver, WebhookAddress,
};
use futures::future::{BoxFuture, ready};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::block_on;

const TIMEOUT: Duration = Duration::from_secs(10);
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

const LAST: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";

/// Where services are: at the address, unless their name says that they are not.
struct Services(String);

impl Resolver for Services {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
        name: &'a str,
        _: u16,
    ) -> BoxFuture<'a, Result<String, String>> {
        let found = match name {
            "nosuch" => Err(format!("service {name:?} not found")),
            _ => Ok(self.0.clone()),
        };
        Box::pin(ready(found))
    }
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
struct Identity(String, String);

struct Certificates {
    ca: String,
    good: Identity,
    other_name: Identity,
    expired: Identity,
    own: Identity,
}

fn certificates() -> Certificates {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params.clone(), KeyPair::generate().unwrap()).unwrap();
    let signed = |names: &[&str], year: i32| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        Identity(
            params.signed_by(&key, &ca).unwrap().pem(),
            key.serialize_pem(),
        )
    };
    let own_key = KeyPair::generate().unwrap();
    let mut own = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Certificates {
        ca: ca.pem(),
        good: signed(&["localhost", "127.0.0.1", "web.shop.svc"], 4000),
        other_name: signed(&["a.example", "b.example"], 4000),
        expired: signed(&["127.0.0.1"], 2021),
        own: Identity(
            own.self_signed(&own_key).unwrap().pem(),
            own_key.serialize_pem(),
        ),
    }
}

/// A server that answers each request on a connection with the next text, and closes the connection after the last one.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
}

async fn serve(identity: Option<&Identity>, answers: &'static [&'static str]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = identity.map(|Identity(certificate, key)| {
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let config = builder
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    });
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                match acceptor {
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(stream).await {
                            answer(stream, answers).await;
                        }
                    }
                    None => answer(stream, answers).await,
                }
            });
        }
    });
    Server { port, connections }
}

async fn answer<S>(mut stream: S, answers: &[&str])
where
    S: AsyncReadExt + AsyncWriteExt + Unpin,
{
    let mut buffer = [0; 4096];
    for answer in answers {
        let mut read = Vec::new();
        // A `GET` has no body.
        while !(read.ends_with(b"{\"x\":1}")
            || read.starts_with(b"GET") && read.ends_with(b"\r\n\r\n"))
        {
            match stream.read(&mut buffer).await {
                Ok(count) if count > 0 => read.extend_from_slice(&buffer[..count]),
                _ => return,
            }
            if answer.starts_with("garbage") {
                break;
            }
        }
        if *answer == "wait" {
            std::future::pending::<()>().await;
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }
    let _ = stream.shutdown().await;
}

fn url(port: u16) -> WebhookAddress {
    WebhookAddress::Url(format!("https://127.0.0.1:{port}/hook"))
}

fn service(name: &str) -> WebhookAddress {
    WebhookAddress::Service {
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        path: "/hook".to_owned(),
        port: 443,
    }
}

fn caller(address: &str, roots: &str) -> HttpCaller {
    let authorities = Authorities::from_pem(roots.as_bytes()).unwrap();
    HttpCaller::new(Arc::new(Services(address.to_owned())), authorities)
}

async fn post(caller: &HttpCaller, target: WebhookAddress, bundle: &str) -> Result<String, String> {
    let config = ClientConfig {
        target,
        ca_bundle: bundle.as_bytes().to_vec(),
    };
    let answer = caller.call(&config, b"{\"x\":1}".to_vec(), TIMEOUT).await;
    let answer = answer.map_err(|error| error.message())?;
    Ok(String::from_utf8(answer).unwrap())
}

#[test]
fn failures_have_the_words_of_kube_apiserver() {
    block_on(async {
        let made = certificates();
        let other = certificates().ca;
        let caller = caller("127.0.0.1:1", "");
        let prefix = |port: u16| format!("Post \"https://127.0.0.1:{port}/hook?timeout=10s\": ");
        let tls = "tls: failed to verify certificate: x509: ";

        let refused = post(&caller, url(1), &made.ca).await.unwrap_err();
        assert_eq!(
            refused,
            prefix(1) + "dial tcp 127.0.0.1:1: connect: connection refused"
        );
        let missing = post(&caller, service("nosuch"), &made.ca)
            .await
            .unwrap_err();
        let of_service = "Post \"https://nosuch.shop.svc:443/hook?timeout=10s\": ";
        assert_eq!(missing, format!("{of_service}service \"nosuch\" not found"));
        let refused = post(&caller, service("web"), &made.ca).await.unwrap_err();
        assert!(
            refused.ends_with(": dial tcp 127.0.0.1:1: connect: connection refused"),
            "{refused}"
        );
        let lookup = WebhookAddress::Url("https://nosuch.invalid/hook".to_owned());
        let lookup = post(&caller, lookup, &made.ca).await.unwrap_err();
        assert!(
            lookup.ends_with(": dial tcp: lookup nosuch.invalid: no such host"),
            "{lookup}"
        );

        let good = Some(&made.good);
        let no_address =
            "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs";
        let cases: [(Option<&Identity>, &'static [&'static str], &str, String); 12] = [
            (
                good,
                &[OK],
                &other,
                format!("{tls}certificate signed by unknown authority"),
            ),
            (
                good,
                &[OK],
                "",
                format!("{tls}certificate signed by unknown authority"),
            ),
            (
                Some(&made.other_name),
                &[OK],
                &made.ca,
                format!("{tls}{no_address}"),
            ),
            (
                Some(&made.expired),
                &[OK],
                &made.ca,
                format!("{tls}certificate has expired or is not yet valid: current time "),
            ),
            (
                None,
                &["garbage garbage\r\n\r\n"],
                &made.ca,
                "tls: first record does not look like a TLS handshake".to_owned(),
            ),
            (None, &[], &made.ca, "EOF".to_owned()),
            (good, &[], &made.ca, "EOF".to_owned()),
            (
                good,
                &["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"],
                &made.ca,
                "unexpected EOF".to_owned(),
            ),
            (
                good,
                &["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"],
                &made.ca,
                "the server could not find the requested resource".to_owned(),
            ),
            (
                good,
                &["HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\noops\n"],
                &made.ca,
                "an error on the server (\"oops\") has prevented the request from succeeding"
                    .to_owned(),
            ),
            (
                good,
                &["HTTP/1.1 204 No\r\nContent-Type: text/plain\r\n\r\n"],
                &made.ca,
                "0-length response with status code: 204 and content type: text/plain".to_owned(),
            ),
            (
                good,
                &["HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"],
                &made.ca,
                "the server responded with the status code 302 but did not return more information"
                    .to_owned(),
            ),
        ];
        for (index, (identity, answers, bundle, words)) in cases.into_iter().enumerate() {
            let server = serve(identity, answers).await;
            let error = post(&caller, url(server.port), bundle).await.unwrap_err();
            let error = error.strip_prefix(&prefix(server.port)).unwrap_or(&error);
            let error = error
                .strip_prefix(
                    "unexpected error when reading response body. Please retry. Original error: ",
                )
                .unwrap_or(error);
            match words.strip_suffix("current time ") {
                Some(_) => assert!(
                    error.starts_with(&words) && error.contains("Z is after 2021-01-01T00:00:00Z"),
                    "{error}"
                ),
                None => assert_eq!(error, words, "case {index}"),
            }
        }

        let server = serve(Some(&made.other_name), &[OK]).await;
        let by_service = self::caller(&format!("127.0.0.1:{}", server.port), "");
        let error = post(&by_service, service("web"), &made.ca)
            .await
            .unwrap_err();
        assert!(error.ends_with(": tls: failed to verify certificate: x509: certificate is valid for a.example, b.example, not web.shop.svc"), "{error}");
    });
}

#[test]
fn webhooks_are_reached_by_url_and_by_service() {
    block_on(async {
        let made = certificates();
        let server = serve(Some(&made.good), &[OK, OK, OK]).await;
        let address = format!("https://127.0.0.1:{}/", server.port);
        let trusting = caller(&address, &made.ca);
        assert_eq!(
            post(&trusting, url(server.port), &made.ca).await,
            Ok("{}".to_owned())
        );
        assert_eq!(
            post(&trusting, url(server.port), "").await,
            Ok("{}".to_owned())
        );
        assert_eq!(
            post(&trusting, service("web"), &made.ca).await,
            Ok("{}".to_owned())
        );

        let own = serve(Some(&made.own), &[OK]).await;
        assert_eq!(
            post(&trusting, url(own.port), &made.own.0).await,
            Ok("{}".to_owned())
        );
        let plain = serve(None, &[OK]).await;
        let plain = caller(&format!("http://127.0.0.1:{}", plain.port), "");
        assert_eq!(post(&plain, service("web"), "").await, Ok("{}".to_owned()));
    });
}

#[test]
fn connections_are_kept_while_the_webhook_keeps_them() {
    block_on(async {
        let made = certificates();
        let server = serve(Some(&made.good), &[OK, OK, LAST]).await;
        let caller = caller("", "");
        for _ in 0..6 {
            assert_eq!(
                post(&caller, url(server.port), &made.ca).await,
                Ok("{}".to_owned())
            );
        }
        // Three requests for each connection.
        assert_eq!(server.connections.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_webhook_costs_its_timeout_and_the_limit_of_answers() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    block_on(async {
        let made = certificates();
        let server = serve(Some(&made.good), &["wait"]).await;
        let caller = caller("", "");
        let config = ClientConfig {
            target: url(server.port),
            ca_bundle: made.ca.clone().into_bytes(),
        };
        let late = caller
            .call(&config, b"{\"x\":1}".to_vec(), Duration::from_millis(100))
            .await;
        let late = late.unwrap_err().message();
        assert!(late.ends_with(": context deadline exceeded"), "{late}");

        let long: &'static str =
            Box::leak(format!("{HEAD}{}", "x".repeat(MAX_ANSWER_BYTES + 1)).into_boxed_str());
        let answers: &'static [&'static str] = Box::leak(Box::new([long]));
        let server = serve(None, answers).await;
        let plain = self::caller(&format!("http://127.0.0.1:{}", server.port), "");
        let error = post(&plain, service("web"), "").await.unwrap_err();
        assert!(error.ends_with(": more than 16777216 bytes"), "{error}");
    });
}

#[test]
fn a_busy_webhook_is_called_again() {
    block_on(async {
        let made = certificates();
        let busy = "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
        let answers: &'static [&'static str] = Box::leak(Box::new([busy, OK]));
        let server = serve(Some(&made.good), answers).await;
        let answer = post(&caller("", ""), url(server.port), &made.ca).await;
        assert_eq!(answer, Ok("{}".to_owned()));
        assert_eq!(server.connections.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_bundle_without_certificates_cannot_be_used() {
    block_on(async {
        let config = ClientConfig {
            target: url(1),
            ca_bundle: b"hello".to_vec(),
        };
        let error = caller("", "").call(&config, Vec::new(), TIMEOUT).await;
        let words = "unable to load root certificates: unable to parse bytes as PEM block";
        assert_eq!(error, Err(CallError::Unusable(words.to_owned())));
    });
}

#[test]
fn redirects_are_followed() {
    block_on(async {
        let made = certificates();
        let caller = caller("127.0.0.1:1", "");
        let redirect = |code: u16, place: &str| -> &'static [&'static str] {
            let head = format!("HTTP/1.1 {code} Elsewhere\r\nLocation: {place}\r\n");
            let head: &'static str = (head + "Content-Length: 0\r\n\r\n").leak();
            Box::leak(vec![head; MAX_REQUESTS].into_boxed_slice())
        };
        let good = Some(&made.good);
        let to = async |answers: &'static [&'static str]| {
            let server = serve(good, answers).await;
            let answer = post(&caller, url(server.port), &made.ca).await;
            (server, answer)
        };

        // To another path of the same server.
        let found = "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(to(Box::leak(Box::new([found, OK]))).await.1.unwrap(), "{}");

        // To another server: one that gets the review, one that gets a `GET`, and one without TLS.
        for (code, identity, scheme) in [
            (307, good, "https"),
            (302, good, "https"),
            (308, None, "http"),
        ] {
            let last = serve(identity, &[OK]).await;
            let place = format!("{scheme}://127.0.0.1:{}/last", last.port);
            let (_, answer) = to(redirect(code, &place)).await;
            assert_eq!(answer.unwrap(), "{}", "{code} to {place}");
            assert_eq!(last.connections.load(Ordering::Relaxed), 1);
        }

        // To itself, to what no client speaks, and to what is no URL.
        let (_, endless) = to(redirect(307, "/hook")).await;
        let words = format!("Post \"/hook\": stopped after {MAX_REQUESTS} redirects");
        assert_eq!(endless.unwrap_err(), words);
        for (place, words) in [
            ("ftp://127.0.0.1/x", "unsupported protocol scheme \"ftp\""),
            ("http://[/", "failed to parse Location header \"http://[/\""),
        ] {
            let (server, refused) = to(redirect(302, place)).await;
            let start = format!(
                "Post \"https://127.0.0.1:{}/hook?timeout=10s\": {words}",
                server.port
            );
            let refused = refused.unwrap_err();
            assert!(refused.starts_with(&start), "{refused}");
        }
    });
}

#[test]
fn a_program_of_the_machine_is_probed_whatever_its_certificate() {
    block_on(async {
        let Certificates { expired, .. } = certificates();
        let healthy = &["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"];
        let server = serve(Some(&expired), healthy).await;
        assert_eq!(probe(server.port).await.as_deref(), Ok("ok"));

        let failing = &["HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno"];
        let server = serve(Some(&expired), failing).await;
        let failed = "HTTP probe failed with statuscode: 500".to_owned();
        assert_eq!(probe(server.port).await, Err(failed));

        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = closed.local_addr().unwrap().port();
        drop(closed);
        let refused = format!(
            "Get \"https://127.0.0.1:{port}/healthz\": dial tcp 127.0.0.1:{port}: connect: connection refused"
        );
        assert_eq!(probe(port).await, Err(refused));
    });
}
