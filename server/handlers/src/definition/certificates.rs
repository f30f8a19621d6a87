//! Bundles of certificates of webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// Checks that a bundle in base64 has a certificate in a PEM block.
///
/// Behaviour: `rootCertPool` of `k8s.io/client-go/transport`.
pub(super) fn check(bundle: &str) -> Result<(), &'static str> {
    let bytes = STANDARD.decode(bundle).unwrap_or_default();
    let blocks = pem::parse_many(&bytes).unwrap_or_default();
    let is_certificate =
        |block: &&pem::Pem| block.tag() == "CERTIFICATE" && block.headers().iter().next().is_none();
    let mut certificates = blocks.iter().filter(is_certificate).peekable();
    if blocks.is_empty() {
        return Err("unable to load root certificates: unable to parse bytes as PEM block");
    }
    if certificates.peek().is_none() {
        return Err("unable to load root certificates: no valid certificate authority data seen");
    }

    if certificates.any(|block| Certificate::from_der(block.contents()).is_ok()) {
        Ok(())
    } else {
        Err(
            "unable to load root certificates: failed to parse certificate: x509: malformed certificate",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(label: &str, body: &str) -> String {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    }

    #[test]
    fn a_bundle_without_a_certificate_is_refused() {
        let fault = |bundle: &str| check(&STANDARD.encode(bundle)).unwrap_err();
        let ends = "unable to load root certificates: ";
        assert_eq!(
            fault("not a certificate"),
            format!("{ends}unable to parse bytes as PEM block")
        );
        let none = format!("{ends}no valid certificate authority data seen");
        assert_eq!(fault(&block("KEY", "AAAA")), none);
        assert_eq!(fault(&block("CERTIFICATE", "Color: red\n\nAAAA")), none);
        let malformed = format!("{ends}failed to parse certificate: x509: malformed certificate");
        assert_eq!(fault(&block("CERTIFICATE", "AAAA")), malformed);
    }

    #[test]
    fn one_valid_certificate_is_enough() {
        let valid = include_str!("certificate.pem");
        assert_eq!(check(&STANDARD.encode(valid)), Ok(()));
        let both = format!("{}{valid}", block("CERTIFICATE", "AAAA"));
        assert_eq!(check(&STANDARD.encode(both)), Ok(()));
    }
}
