//! The users of client certificates.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fieldmanager_managedfields::Time;
use ring::digest::{SHA256, digest};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, ring as provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, TrustAnchor, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use webpki::{
    EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeId, KeyPurposeIdIter, RawPublicKeyEntity,
};
use x509_cert::certificate::{Certificate, Version};
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::oid::db::rfc5280::{ANY_EXTENDED_KEY_USAGE, ID_KP_CLIENT_AUTH};
use x509_cert::der::{self, Decode, Encode, Tag, Tagged};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage};
use x509_cert::name::Name;
use x509_cert::time::Time as CertificateTime;

use crate::User;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
const UID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57683.2");

/// The authorities whose certificates name users, as the flag `--client-ca-file` of kube-apiserver has them.
///
/// Behaviour: `Authenticator` and `CommonNameUserConversion` of `k8s.io/apiserver/pkg/authentication/request/x509`.
pub struct ClientAuthorities(Vec<Authority>);

/// Why a certificate does not name a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A bundle has no certificate.
    #[error("no certificate in the bundle")]
    NoAuthority,
    /// It cannot be read.
    #[error("the certificate is malformed")]
    Malformed,
    /// It is not of one of the authorities, not for this time, or not for clients.
    #[error("verifying the certificate failed: {0}")]
    Unverified(String),
    /// It has no common name.
    #[error("the certificate has no common name")]
    NoName,
    /// Its uid is not one string.
    #[error("the certificate has several uids, or one that is not text")]
    Uid,
}

struct Authority {
    certificate: Certificate,
    anchor: TrustAnchor<'static>,
}

impl ClientAuthorities {
    /// Reads the certificates of authorities from PEM blocks.
    ///
    /// # Errors
    ///
    /// [`CertificateError`] if there are none, or one is malformed.
    pub fn from_pem(bundle: &str) -> Result<Self, CertificateError> {
        let mut all = Vec::new();
        let ders = CertificateDer::pem_slice_iter(bundle.as_bytes());
        for der in ders.map_while(Result::ok) {
            let certificate = read(&der)?;
            // The name, the key and the name constraints of the certificate.
            let anchor = webpki::anchor_from_trusted_cert(&der);
            let anchor = anchor.map_err(|_| CertificateError::Malformed)?.to_owned();
            all.push(Authority {
                certificate,
                anchor,
            });
        }
        if all.is_empty() {
            Err(CertificateError::NoAuthority)
        } else {
            Ok(ClientAuthorities(all))
        }
    }

    /// The user of a certificate, which is the first of a chain; the others may lead to an authority.
    ///
    /// A certificate of the bundle names a user too, whether it is of an authority or not; only authorities sign others.
    ///
    /// A certificate is for clients if it says so, says that it is for anything, or does not say what it is for. One of
    /// version 1 has no place to say it, and must be of an authority itself.
    ///
    /// # Errors
    ///
    /// [`CertificateError`]; kube-apiserver answers 401.
    pub fn user(&self, chain: &[CertificateDer<'_>], now: Time) -> Result<User, CertificateError> {
        let (first, others) = chain.split_first().ok_or(CertificateError::Malformed)?;
        let certificate = read(first)?;
        let now = u64::try_from(now.unix_seconds()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
        // The verifier does not look at the times of authorities; Go does.
        let valid = self.0.iter().filter(|one| is_valid(&one.certificate, now));
        let is_own = valid.clone().any(|one| one.certificate == certificate);
        if is_own && is_for_clients(&certificate) {
            return user(&certificate, first);
        }
        let mut signers = valid.filter(|one| one.may_sign());

        // The verifier refuses version 1, which `openssl x509 -req` makes without extensions.
        if certificate.tbs_certificate().version() == Version::V1 {
            let is_signed = signers.any(|one| one.has_signed(&certificate) == Some(true));
            if !is_signed || !is_valid(&certificate, now) {
                let text = "expired, or not signed by an authority";
                return Err(CertificateError::Unverified(text.to_owned()));
            }
        } else {
            let anchors: Vec<TrustAnchor<'_>> = signers.map(|one| one.anchor.clone()).collect();
            let unverified = |error: webpki::Error| CertificateError::Unverified(error.to_string());
            let entity = EndEntityCert::try_from(first).map_err(unverified)?;
            let all = webpki::ALL_VERIFICATION_ALGS;
            let path = entity.verify_for_usage(all, &anchors, others, now, ForClients, None, None);
            path.map_err(unverified)?;
        }
        user(&certificate, first)
    }

    /// The verifier of handshakes: it asks for a certificate, takes any whose key the client has, and also none, so that
    /// [`user`](Self::user) decides about each request.
    pub fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        let names = self.0.iter().flat_map(|one| one.subject().to_der());
        Arc::new(HandshakeVerifier {
            names: names.map(DistinguishedName::from).collect(),
            algorithms: provider::default_provider().signature_verification_algorithms,
        })
    }
}

impl fmt::Debug for ClientAuthorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subjects = self.0.iter().map(|one| one.subject().to_string());
        f.debug_list().entries(subjects).finish()
    }
}

impl Authority {
    fn subject(&self) -> &Name {
        self.certificate.tbs_certificate().subject()
    }

    /// Whether this is the certificate of an authority: those of version 1 do not say.
    fn may_sign(&self) -> bool {
        let body = self.certificate.tbs_certificate();
        let constraints = body.get_extension::<BasicConstraints>();
        body.version() == Version::V1
            || constraints.is_ok_and(|found| found.is_some_and(|(_, constraints)| constraints.ca))
    }

    /// Whether a certificate of version 1 is of this authority; nothing if it cannot be read.
    fn has_signed(&self, certificate: &Certificate) -> Option<bool> {
        let body = certificate.tbs_certificate();
        let key = public_key(&self.certificate).ok()?;
        let key = RawPublicKeyEntity::try_from(&key).ok()?;
        let message = body.to_der().ok()?;
        let signature = certificate.signature().as_bytes()?;
        let algorithm = certificate.signature_algorithm().to_der().ok()?;

        // The identifiers of algorithms are without the tag and the length of their sequence.
        let is_signed = |one: &&dyn SignatureVerificationAlgorithm| {
            algorithm.get(2..) == Some(one.signature_alg_id().as_ref())
                && key.verify_signature(*one, &message, signature).is_ok()
        };
        Some(body.issuer() == self.subject() && webpki::ALL_VERIFICATION_ALGS.iter().any(is_signed))
    }
}

fn read(der: &[u8]) -> Result<Certificate, CertificateError> {
    Certificate::from_der(der).map_err(|_| CertificateError::Malformed)
}

/// Whether a certificate is for clients, for anything, or does not say what it is for.
fn is_for_clients(certificate: &Certificate) -> bool {
    let purposes = certificate
        .tbs_certificate()
        .get_extension::<ExtendedKeyUsage>();
    let is_client = |purpose: &ObjectIdentifier| {
        *purpose == ID_KP_CLIENT_AUTH || *purpose == ANY_EXTENDED_KEY_USAGE
    };
    purposes.is_ok_and(|found| found.is_none_or(|(_, found)| found.0.iter().any(is_client)))
}

fn is_valid(certificate: &Certificate, now: UnixTime) -> bool {
    let validity = certificate.tbs_certificate().validity();
    let seconds = |time: CertificateTime| time.to_unix_duration().as_secs();
    (seconds(validity.not_before)..=seconds(validity.not_after)).contains(&now.as_secs())
}

/// The key of a certificate, whatever its version is.
fn public_key(certificate: &Certificate) -> der::Result<SubjectPublicKeyInfoDer<'static>> {
    let info = certificate.tbs_certificate().subject_public_key_info();
    info.to_der().map(SubjectPublicKeyInfoDer::from)
}

/// The user that a certificate names. The last of several common names counts, as in Go.
fn user(certificate: &Certificate, der: &[u8]) -> Result<User, CertificateError> {
    let subject = certificate.tbs_certificate().subject();
    let name = texts(subject, COMMON_NAME)
        .flatten()
        .last()
        .unwrap_or_default();
    if name.is_empty() {
        return Err(CertificateError::NoName);
    }
    let groups: Vec<String> = texts(subject, ORGANIZATION).flatten().collect();
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let mut user = User::new(&name, &groups);

    // The feature gate `AllowParsingUserUIDFromCertAuth` is on by default.
    let uids: Vec<Option<String>> = texts(subject, UID).collect();
    match uids.as_slice() {
        [] => {}
        [Some(uid)] if !uid.is_empty() => user.uid.clone_from(uid),
        _ => return Err(CertificateError::Uid),
    }

    let hash = digest(&SHA256, der);
    let hash: String = hash
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let id = vec![format!("X509SHA256={hash}")];
    let key = "authentication.kubernetes.io/credential-id";
    user.extra.insert(key.to_owned(), id);
    Ok(user)
}

/// The values of an attribute of a name; nothing for those that are not text.
fn texts(name: &Name, attribute: ObjectIdentifier) -> impl Iterator<Item = Option<String>> {
    let values = name.iter().filter(move |one| one.oid == attribute);
    values.map(|one| {
        let bytes = one.value.value();
        match one.value.tag() {
            Tag::Utf8String
            | Tag::PrintableString
            | Tag::Ia5String
            | Tag::NumericString
            | Tag::VisibleString => String::from_utf8(bytes.to_vec()).ok(),
            // As Latin-1, which is what Go makes of it.
            Tag::TeletexString => Some(bytes.iter().map(|&byte| char::from(byte)).collect()),
            Tag::BmpString => {
                let (pairs, _) = bytes.as_chunks();
                let units: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
                String::from_utf16(&units).ok()
            }
            _ => None,
        }
    })
}

/// The purpose `clientAuth`, or any, or none.
struct ForClients;

impl ExtendedKeyUsageValidator for ForClients {
    fn validate(&self, purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let (client, any): (&[usize], &[usize]) =
            (&[1, 3, 6, 1, 5, 5, 7, 3, 2], &[2, 5, 29, 37, 0]);
        let purposes: Vec<_> = purposes.collect::<Result<_, _>>()?;
        let mut ids = purposes.iter().map(KeyPurposeId::to_decoded_oid);
        // Without the extension there are no purposes, and the certificate is for all.
        if purposes.is_empty() || ids.any(|id| id == client || id == any) {
            Ok(())
        } else {
            Err(webpki::Error::EndEntityUsedAsCa)
        }
    }
}

#[derive(Debug)]
struct HandshakeVerifier {
    names: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// Certificates of version 1 have keys too, so only the key of a handshake is used.
fn handshake_key(
    certificate: &CertificateDer<'_>,
) -> Result<SubjectPublicKeyInfoDer<'static>, rustls::Error> {
    let bad = rustls::Error::InvalidCertificate(rustls::CertificateError::BadEncoding);
    let certificate = read(certificate).ok();
    let key = certificate.and_then(|certificate| public_key(&certificate).ok());
    key.ok_or(bad)
}

impl ClientCertVerifier for HandshakeVerifier {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.names
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let bad = rustls::Error::InvalidCertificate(rustls::CertificateError::BadSignature);
        let key = handshake_key(certificate)?;
        let key = RawPublicKeyEntity::try_from(&key).map_err(|_| bad.clone())?;
        // A scheme of TLS 1.2 has an algorithm for each curve.
        let mut schemes = self.algorithms.mapping.iter();
        let found = schemes.find(|(scheme, _)| *scheme == signed.scheme);
        let mut algorithms = found
            .into_iter()
            .flat_map(|(_, algorithms)| algorithms.iter());
        let signature = signed.signature();
        if algorithms.any(|one| key.verify_signature(*one, message, signature).is_ok()) {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(bad)
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let key = handshake_key(certificate)?;
        rustls::crypto::verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
