//! Users whom the certificates of their clients name.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fieldmanager_apiserver::net::{Listening, Tls};
use fieldmanager_apiserver::{ApiServer, ClientAuthorities, Collection, StaticTokens};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "clients");
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// The certificate and the key of a client.
type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

fn identity(authority: &Authority, change: impl FnOnce(&mut CertificateParams)) -> Identity {
    let (certificate, key) = issued(authority, change);
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    (certificate.der().clone(), key)
}

fn issued(
    authority: &Authority,
    change: impl FnOnce(&mut CertificateParams),
) -> (Certificate, KeyPair) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "alice");
    params
        .distinguished_name
        .push(DnType::OrganizationName, "dev");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate, key)
}

/// Asks a server who the client is, over TLS with a certificate.
async fn who(
    address: std::net::SocketAddr,
    root: &str,
    identity: Option<Identity>,
    token: &str,
) -> (u16, Json) {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(root.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match identity {
        Some((certificate, key)) => config
            .with_client_auth_cert(vec![certificate], key)
            .unwrap(),
        None => config.with_no_client_auth(),
    };

    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap();
    let request = format!(
        "POST /apis/authentication.k8s.io/v1/selfsubjectreviews HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\nAuthorization: {token}\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, serde_json::from_str(body).unwrap())
}

/// A server on a port whose authority names users, and the certificate that clients trust.
async fn running(own: &Authority) -> (std::net::SocketAddr, String) {
    let authorities = ClientAuthorities::from_pem(&own.pem()).unwrap();
    let builder = ApiServer::builder()
        .client_authorities(authorities)
        .tokens(StaticTokens::from_csv("secret,bob,b").unwrap())
        .collection(Collection::Stepped)
        .page(false);
    let server = builder.build().await.unwrap();
    let tls = Tls::made(&[]).unwrap();
    let root = tls.authority().to_owned();
    let listening = Listening::bind("127.0.0.1:0".parse().unwrap(), Some(tls))
        .await
        .unwrap();
    let address = listening.address();
    tokio::spawn(listening.run(server, std::future::pending()));
    (address, root)
}

#[tokio::test]
async fn kube_shows_the_certificate_of_its_kubeconfig() {
    let own = authority();
    let (address, root) = running(&own).await;
    let (certificate, key) = issued(&own, |_| {});
    let encoded = |pem: String| STANDARD.encode(pem);
    let name = "test";
    let config = json!({
        "clusters": [{"name": name, "cluster": {
            "server": format!("https://{address}"), "certificate-authority-data": encoded(root),
        }}],
        "users": [{"name": name, "user": {
            "client-certificate-data": encoded(certificate.pem()), "client-key-data": encoded(key.serialize_pem()),
        }}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    });
    let config = kube::config::Kubeconfig::from_yaml(&config.to_string()).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(config, &options)
        .await
        .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let reviews: kube::Api<SelfSubjectReview> = kube::Api::all(client);
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await
        .unwrap();
    let user = review.status.unwrap().user_info.unwrap();
    assert_eq!(user.username.as_deref(), Some("alice"));
}

#[tokio::test]
async fn a_certificate_names_its_user_and_others_are_refused() {
    let (own, other) = (authority(), authority());
    let (address, root) = running(&own).await;

    let (code, answer) = who(address, &root, Some(identity(&own, |_| {})), "").await;
    let user = &answer["status"]["userInfo"];
    assert_eq!((code, &user["username"]), (201, &json!("alice")));
    assert_eq!(user["groups"], json!(["dev", "system:authenticated"]));
    let id = user["extra"]["authentication.kubernetes.io/credential-id"][0]
        .as_str()
        .unwrap();
    assert!(id.starts_with("X509SHA256="), "{id}");

    let expired = identity(&own, |params| params.not_after = date_time_ymd(2020, 1, 1));
    let nameless = identity(&own, |params| {
        params.distinguished_name.remove(DnType::CommonName);
    });
    let of_server = identity(&own, |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    let foreign = identity(&other, |_| {});
    for refused in [expired, nameless, of_server, foreign] {
        let (code, answer) = who(address, &root, Some(refused), "").await;
        assert_eq!((code, &answer["reason"]), (401, &json!("Unauthorized")));
    }

    // A token is as good as before, also beside a certificate that is not.
    assert_eq!(who(address, &root, None, "").await.0, 401);
    let foreign = identity(&other, |_| {});
    for identity in [None, Some(foreign)] {
        let (code, answer) = who(address, &root, identity, "Bearer secret").await;
        let user = &answer["status"]["userInfo"];
        assert_eq!((code, &user["username"]), (201, &json!("bob")));
    }
}
