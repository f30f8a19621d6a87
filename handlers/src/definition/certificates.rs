//! Bundles of certificates of webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// Checks that a bundle in base64 has a certificate in a PEM block. The certificate itself is not parsed.
///
/// Behaviour: `rootCertPool` of `k8s.io/client-go/transport`.
pub(super) fn check(bundle: &str) -> Result<(), &'static str> {
    let bytes = STANDARD.decode(bundle).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut rest: &str = &text;
    let mut has_block = false;
    while let Some((label, body, after)) = block(rest) {
        has_block = true;
        let encoded: String = body.split_whitespace().collect();
        if label == "CERTIFICATE"
            && !encoded.contains(':')
            && STANDARD.decode(encoded).is_ok_and(|der| !der.is_empty())
        {
            return Ok(());
        }
        rest = after;
    }
    if has_block && rest.is_empty() {
        return Err("unable to load root certificates: no valid certificate authority data seen");
    }
    Err("unable to load root certificates: unable to parse bytes as PEM block")
}

/// The label and the body of the next block, and what follows.
fn block(text: &str) -> Option<(&str, &str, &str)> {
    let at = if text.starts_with(BEGIN) { 0 } else { text.find(&format!("\n{BEGIN}"))? + 1 };
    let (label, rest) = text.get(at + BEGIN.len()..)?.split_once(DASHES)?;
    let (body, rest) = rest.split_once(&format!("{END}{label}{DASHES}"))?;
    Some((label, body, rest.trim_start_matches(['\r', '\n'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_without_a_block_is_refused() {
        let bundle = STANDARD.encode("not a certificate");
        assert_eq!(
            check(&bundle),
            Err("unable to load root certificates: unable to parse bytes as PEM block")
        );
        let key = STANDARD.encode("-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n");
        assert!(check(&key).is_err_and(|fault| fault.ends_with("no valid certificate authority data seen")));
        let certificate = STANDARD.encode("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        assert_eq!(check(&certificate), Ok(()));
    }
}
