//! Certificates: given ones, or one that is made for this run.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use fieldmanager_access::certificates::ClientAuthorities;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The bytes that are read of a file at most. More than that has no certificate or key.
const MAX_FILE: u64 = 16 << 20;

/// The certificate of a server.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    authority: String,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

/// The error of a certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// A file has no certificate or no key in PEM.
    #[error("{path}: expected {expected} in PEM: {found}")]
    Pem {
        /// The file.
        path: String,
        /// The accepted content.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// The certificate cannot be used with the key.
    #[error("the certificate cannot be used: {0}")]
    Unusable(String),
    /// A certificate cannot be made.
    #[error("a certificate cannot be made: {0}")]
    Making(#[from] rcgen::Error),
}

/// A certificate for names and addresses, its key, and the certificate of the authority that signed it, in PEM.
fn make(names: &[String]) -> Result<(Certificate, KeyPair, String), TlsError> {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "fieldmanager authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let own = [
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default.svc",
    ]
    .map(str::to_owned);

    let names: Vec<String> = own.into_iter().chain(names.iter().cloned()).collect();
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "fieldmanager");
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &authority)?;
    Ok((certificate, key, authority.pem()))
}

impl Tls {
    /// Makes a certificate for names and addresses, signed by an authority of its own. `localhost` and the addresses of
    /// the loopback interface are always names of the server.
    ///
    /// # Errors
    ///
    /// [`TlsError::Making`] for a name that no certificate can have.
    pub fn made(names: &[String]) -> Result<Self, TlsError> {
        let (certificate, key, authority) = make(names)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Self::of(vec![certificate.der().clone()], key, authority)
    }

    /// As [`made`](Self::made), and keeps the certificate with that of its authority, and the key, in two files in PEM. Only
    /// the user can read the key.
    ///
    /// # Errors
    ///
    /// [`TlsError::Making`]; [`TlsError::File`] if a file cannot be written.
    pub fn made_in_files(
        certificate: &Path,
        key: &Path,
        names: &[String],
    ) -> Result<Self, TlsError> {
        let (made, private, authority) = make(names)?;
        let write = |path: &Path, mode: u32, text: String| {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
            let written = options
                .open(path)
                .and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|source| TlsError::File {
                path: path.display().to_string(),
                source,
            })
        };
        write(key, 0o600, private.serialize_pem())?;
        write(certificate, 0o644, format!("{}{authority}", made.pem()))?;
        Self::from_files(certificate, key)
    }

    /// The certificate and the key of two files in PEM.
    ///
    /// # Errors
    ///
    /// [`TlsError`] if a file cannot be read, or if the parts do not fit together.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let read = |path: &Path| {
            let mut bytes = Vec::new();
            let read = std::fs::File::open(path)
                .and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes));
            read.map(|_| bytes).map_err(|source| TlsError::File {
                path: path.display().to_string(),
                source,
            })
        };
        let pem = read(certificate)?;
        let unexpected = |path: &Path, expected, found: String| TlsError::Pem {
            path: path.display().to_string(),
            expected,
            found,
        };

        let of_certificate = |found| unexpected(certificate, "a certificate", found);
        let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(|error| of_certificate(error.to_string()))?;
        if certificates.is_empty() {
            return Err(of_certificate("no certificate".to_owned()));
        }

        let private = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|error| unexpected(key, "a private key", error.to_string()))?;
        Self::of(
            certificates,
            private,
            String::from_utf8_lossy(&pem).into_owned(),
        )
    }

    fn of(
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        authority: String,
    ) -> Result<Self, TlsError> {
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let unusable = |error: tokio_rustls::rustls::Error| TlsError::Unusable(error.to_string());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth();
        let mut config = config
            .with_single_cert(certificates, key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];

        Ok(Tls {
            config: Arc::new(config),
            authority,
        })
    }

    /// The certificates that clients trust, in PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// What accepts connections. It asks clients for a certificate if there are authorities whose certificates name users.
    pub(super) fn acceptor(&self, authorities: Option<&ClientAuthorities>) -> TlsAcceptor {
        let Some(authorities) = authorities else {
            return TlsAcceptor::from(self.config.clone());
        };
        let builder = ServerConfig::builder_with_provider(self.config.crypto_provider().clone());
        // The versions fit the provider, as they did for the other configuration.
        let Ok(builder) = builder.with_safe_default_protocol_versions() else {
            return TlsAcceptor::from(self.config.clone());
        };
        let mut config = builder
            .with_client_cert_verifier(authorities.verifier())
            .with_cert_resolver(self.config.cert_resolver.clone());
        config.alpn_protocols = self.config.alpn_protocols.clone();
        TlsAcceptor::from(Arc::new(config))
    }
}
