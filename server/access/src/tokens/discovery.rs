//! The documents by which others verify tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::{self, Decode, Reader, SliceReader};

use super::issuer::TokenIssuer;
use super::keys::VerificationKey;

/// The path of [`TokenIssuer::configuration`], which is `application/json`.
pub const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";

/// The path of [`TokenIssuer::key_set`], which is `application/jwk-set+json`.
pub const KEY_SET_PATH: &str = "/openid/v1/jwks";

/// A JSON web key, in the order in which Go writes it.
#[derive(Serialize)]
struct WebKey<'a> {
    r#use: &'static str,
    kty: &'static str,
    kid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    crv: Option<&'static str>,
    alg: &'static str,
    #[serde(flatten)]
    numbers: WebKeyNumbers,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WebKeyNumbers {
    Point { x: String, y: String },
    Rsa { n: String, e: String },
}

#[derive(Serialize)]
struct WebKeySet<'a> {
    keys: Vec<WebKey<'a>>,
}

#[derive(Serialize)]
struct ProviderConfiguration<'a> {
    issuer: &'a str,
    jwks_uri: &'a str,
    response_types_supported: [&'static str; 1],
    subject_types_supported: [&'static str; 1],
    id_token_signing_alg_values_supported: Vec<&'static str>,
}

impl TokenIssuer {
    /// The keys, as `/openid/v1/jwks` serves them.
    ///
    /// Behaviour: `openIDKeysetJSON`.
    pub fn key_set(&self) -> String {
        let keys = self.keys.verifying.iter().map(WebKey::of).collect();
        go_json(&WebKeySet { keys })
    }

    /// The description of the issuer with the URL of its keys, if the issuer is a URL that may have one. kube-apiserver has no
    /// such page otherwise.
    ///
    /// Behaviour: `NewOpenIDMetadataProvider`.
    pub fn configuration(&self, jwks_uri: &str) -> Option<String> {
        let issuer = self.issuers.first()?;
        // OpenID Connect requires it, since clients make the URL of this page from the name of the issuer.
        let is_url = |url: &str| url.starts_with("https://");
        if !is_url(issuer) || issuer.contains(['?', '#']) || !is_url(jwks_uri) {
            return None;
        }

        let names = self.keys.verifying.iter().map(|key| key.algorithm.name);
        let mut algorithms: Vec<&str> = names.collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        Some(go_json(&ProviderConfiguration {
            issuer,
            jwks_uri,
            response_types_supported: ["id_token"],
            subject_types_supported: ["public"],
            id_token_signing_alg_values_supported: algorithms,
        }))
    }
}

impl<'a> WebKey<'a> {
    fn of(key: &'a VerificationKey) -> Self {
        let number = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let curve = key.algorithm.curve.as_ref();
        let numbers = if curve.is_some() {
            // An uncompressed point is a 4 and two numbers of the same size.
            let point = key.bytes.get(1..).unwrap_or_default();
            let (x, y) = point.split_at(point.len() / 2);
            WebKeyNumbers::Point {
                x: number(x),
                y: number(y),
            }
        } else {
            let (n, e) = rsa_numbers(&key.bytes).unwrap_or_default();
            WebKeyNumbers::Rsa {
                n: number(n),
                e: number(e),
            }
        };
        WebKey {
            r#use: "sig",
            kty: if curve.is_some() { "EC" } else { "RSA" },
            kid: &key.id,
            crv: curve.map(|curve| curve.name),
            alg: key.algorithm.name,
            numbers,
        }
    }
}

/// The modulus and the exponent of an `RSAPublicKey`.
fn rsa_numbers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = SliceReader::new(der).ok()?;
    let numbers: der::Result<(UintRef<'_>, UintRef<'_>)> =
        reader.sequence(|inner| Ok((UintRef::decode(inner)?, UintRef::decode(inner)?)));
    let (n, e) = numbers.ok()?;
    Some((n.as_bytes(), e.as_bytes()))
}

/// JSON as Go writes it: with the characters of HTML escaped.
fn go_json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
}
