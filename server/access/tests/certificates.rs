//! Client certificates that Go made, with what kube-apiserver makes of them (`comparison/oracle/server/cmd/tokens
//! certificates`), and handshakes.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fieldmanager_access::certificates::{CertificateError, ClientAuthorities};
use fieldmanager_managedfields::Time;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion,
};
use serde_json::{Value as Json, json};

/// A certificate that Go accepts and this crate does not: the verifier takes no certificate of an authority for that of a client,
/// unless the bundle has it.
const STRICTER: &str = "authority";

fn vectors() -> Json {
    serde_json::from_str(include_str!("data/certificates.json")).unwrap()
}

fn chain(vector: &Json) -> Vec<CertificateDer<'static>> {
    let chain = vector["chain"].as_array().unwrap();
    chain
        .iter()
        .map(|der| {
            BASE64_STANDARD
                .decode(der.as_str().unwrap())
                .unwrap()
                .into()
        })
        .collect()
}

fn time(seconds: i64) -> Time {
    Time::from_unix_seconds(seconds).unwrap()
}

#[test]
fn certificates_of_go_are_judged_as_there() {
    let vectors = vectors();
    let authorities = ClientAuthorities::from_pem(vectors["bundle"].as_str().unwrap()).unwrap();
    let now = time(vectors["now"].as_i64().unwrap());
    let chains = vectors["chains"].as_array().unwrap();
    assert!(chains.len() > 50, "{}", chains.len());
    let mut differences = Vec::new();
    for vector in chains {
        let found = authorities.user(&chain(vector), now);
        let name = vector["name"].as_str().unwrap();
        let mut expected = vector["verdict"].clone();
        expected.as_object_mut().unwrap().remove("error");
        let shown = match &found {
            Err(_) => json!({"accepted": false}),
            Ok(user) => {
                let everybody = |group: &&String| *group != "system:authenticated";
                let groups: Vec<&String> = user.groups.iter().filter(everybody).collect();
                let mut shown = json!({"accepted": true, "name": user.name, "extra": user.extra});
                if !user.uid.is_empty() {
                    shown["uid"] = user.uid.as_str().into();
                }
                if !groups.is_empty() {
                    shown["groups"] = json!(groups);
                }
                shown
            }
        };
        if shown != expected && !(name == STRICTER && found.is_err()) {
            differences.push(format!("{name}: here {found:?}, in Go {expected}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn bundles_need_a_certificate() {
    for text in ["", "text"] {
        assert_eq!(
            ClientAuthorities::from_pem(text).unwrap_err(),
            CertificateError::NoAuthority
        );
    }
    let noise = pem::encode(&pem::Pem::new("CERTIFICATE", vec![0; 100]));
    assert_eq!(
        ClientAuthorities::from_pem(&noise).unwrap_err(),
        CertificateError::Malformed
    );
}

#[test]
fn nothing_that_is_sent_panics() {
    let vectors = vectors();
    let authorities = ClientAuthorities::from_pem(vectors["bundle"].as_str().unwrap()).unwrap();
    let now = time(vectors["now"].as_i64().unwrap());
    assert_eq!(authorities.user(&[], now), Err(CertificateError::Malformed));
    let all = vectors["chains"].as_array().unwrap();
    for name in ["name", "version 1"] {
        let vector = all.iter().find(|vector| vector["name"] == name).unwrap();
        let valid = chain(vector)[0].to_vec();
        assert!(authorities.user(&[valid.clone().into()], now).is_ok());
        for at in 0..valid.len() {
            let mut changed = valid.clone();
            changed[at] ^= 1;
            assert!(
                authorities.user(&[changed.into()], now).is_err(),
                "{name} {at}"
            );
            assert!(
                authorities
                    .user(&[valid[..at].to_vec().into()], now)
                    .is_err()
            );
        }
    }
    let large = CertificateDer::from(vec![0x30; 1 << 20]);
    assert!(authorities.user(&[large.clone(), large], now).is_err());
}

struct Party {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn party(
    issuer: &CertifiedIssuer<'_, KeyPair>,
    host: &str,
    name: &str,
    purpose: ExtendedKeyUsagePurpose,
) -> Party {
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
        .distinguished_name
        .push(DnType::OrganizationName, "dev");
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    Party {
        certificate: certificate.into(),
        key,
    }
}

/// The certificates that a server sees of a client.
fn handshake(
    authorities: &ClientAuthorities,
    version: &'static SupportedProtocolVersion,
    client: Option<Party>,
) -> Result<Vec<CertificateDer<'static>>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let root = authority("servers");
    let own = party(
        &root,
        "server",
        "server",
        ExtendedKeyUsagePurpose::ServerAuth,
    );
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(authorities.verifier())
        .with_single_cert(vec![own.certificate], own.key)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(root.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap();
    let builder = builder.with_root_certificates(roots);
    let client = match client {
        // A resolver, since rustls itself checks a certificate that it is given.
        Some(party) => {
            let key = rustls::crypto::ring::sign::any_supported_type(&party.key).unwrap();
            let key = CertifiedKey::new(vec![party.certificate], key);
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(key)))
        }
        None => builder.with_no_client_auth(),
    };

    let mut client =
        ClientConnection::new(Arc::new(client), ServerName::try_from("server").unwrap()).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets()?;
        let mut bytes = Vec::new();
        server.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    Ok(server
        .peer_certificates()
        .unwrap_or_default()
        .iter()
        .map(|der| der.clone().into_owned())
        .collect())
}

#[test]
fn handshakes_take_any_certificate_and_requests_are_judged() {
    let (own, other) = (authority("clients"), authority("clients"));
    let authorities = ClientAuthorities::from_pem(&own.pem()).unwrap();
    let now = time(1_800_000_000);
    let client = ExtendedKeyUsagePurpose::ClientAuth;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let user = |party: Party| {
            authorities.user(&handshake(&authorities, version, Some(party)).unwrap(), now)
        };
        let alice = user(party(&own, "c", "alice", client.clone())).unwrap();
        assert_eq!(
            (alice.name.as_str(), alice.groups[0].as_str()),
            ("alice", "dev")
        );
        assert!(
            alice.extra["authentication.kubernetes.io/credential-id"][0].starts_with("X509SHA256=")
        );

        let unverified = |found| {
            assert!(
                matches!(found, Err(CertificateError::Unverified(_))),
                "{found:?}"
            )
        };
        unverified(user(party(&other, "c", "alice", client.clone())));
        unverified(user(party(
            &own,
            "c",
            "alice",
            ExtendedKeyUsagePurpose::ServerAuth,
        )));
        assert_eq!(
            user(party(&own, "c", "", client.clone())),
            Err(CertificateError::NoName)
        );
        let none = handshake(&authorities, version, None).unwrap();
        assert!(none.is_empty());

        // The key must be that of the certificate.
        let (one, two) = (
            party(&own, "c", "alice", client.clone()),
            party(&own, "c", "bob", client.clone()),
        );
        let mixed = Party {
            certificate: one.certificate,
            key: two.key,
        };
        let found = handshake(&authorities, version, Some(mixed));
        assert!(found.is_err(), "{found:?}");
    }
}

#[test]
fn certificates_of_version_1_finish_handshakes() {
    let vectors = vectors();
    let authorities = ClientAuthorities::from_pem(vectors["bundle"].as_str().unwrap()).unwrap();
    let all = vectors["chains"].as_array().unwrap();
    let vector = all
        .iter()
        .find(|vector| vector["name"] == "version 1")
        .unwrap();
    let key = pem::parse(vector["key"].as_str().unwrap()).unwrap();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let key = PrivateKeyDer::try_from(key.contents().to_vec()).unwrap();
        let client = Party {
            certificate: chain(vector)[0].clone(),
            key,
        };
        let found = handshake(&authorities, version, Some(client));
        let user = authorities
            .user(&found.unwrap(), time(vectors["now"].as_i64().unwrap()))
            .unwrap();
        assert_eq!(user.name, "alice");
    }
}
