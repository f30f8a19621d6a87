//! Base64 as Go's `base64.StdEncoding` reads it: with line ends anywhere, and with any bits in the last character.

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

/// Decodes with any bits in the last character.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Encodes bytes with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The canonical form of a string in base64; `None` if the string is canonical.
///
/// # Errors
///
/// The position that Go reports, if the string is not base64.
pub(crate) fn canonical(text: &str) -> Result<Option<String>, usize> {
    if STANDARD.decode(text).is_ok() {
        return Ok(None);
    }

    // Go ignores line ends in base64, and bits after the last byte.
    let without_ends: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    match LENIENT.decode(without_ends) {
        Ok(bytes) => Ok(Some(encode(&bytes))),
        Err(_) => Err(fault(text)),
    }
}

/// The position of the fault that Go reports for a string that is not base64.
fn fault(text: &str) -> usize {
    let mut digits = 0;
    let mut rest = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| !matches!(byte, b'\n' | b'\r'));

    // Only complete groups of four digits are valid, so the position within a group says what may follow.
    while let Some((at, byte)) = rest.next() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') {
            digits = (digits + 1) % 4;
            continue;
        }
        if byte != b'=' || digits < 2 {
            return at;
        }

        // After two digits, the padding has a second character. Go reports the position before a wrong one.
        return match if digits == 2 {
            rest.next()
        } else {
            Some((at, byte))
        } {
            None => text.len(),
            Some((_, b'=')) => rest.next().map_or(text.len(), |(at, _)| at),
            Some((at, _)) => at - 1,
        };
    }

    // Go reports the start of the incomplete group.
    text.len() - digits
}

/// The bytes of a string that was decoded before; none if it is not base64.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    LENIENT.decode(text).unwrap_or_default()
}

/// The types of the blocks of PEM in a file: base64 between two lines.
pub(crate) fn pem_types(file: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(file);
    let blocks = text.split("-----BEGIN ").skip(1).filter_map(|block| {
        let (block, _) = block.split_once("-----END ")?;
        let (ty, body) = block.split_once("-----")?;
        // Headers precede the data.
        let body = body.rsplit("\n\n").next().unwrap_or(body);
        let body: String = body.split_whitespace().collect();
        canonical(&body).is_ok().then(|| ty.to_owned())
    });
    blocks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_base64_is_kept() {
        for text in ["", "aGk=", "aGkh", "aA==", "+/+/"] {
            assert_eq!(canonical(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn line_ends_and_unused_bits_are_dropped() {
        for (text, written) in [
            ("aG\nk=", "aGk="),
            ("aGl=", "aGk="),
            ("aB==\r\n", "aA=="),
            ("a\nA\n=\n=\n", "aA=="),
            ("\n", ""),
        ] {
            assert_eq!(canonical(text), Ok(Some(written.to_owned())), "{text:?}");
        }
    }

    #[test]
    fn errors_have_the_positions_of_go() {
        for (text, at) in [
            ("a", 0),
            ("aG", 0),
            ("aGk", 0),
            ("aGkh!", 4),
            ("=", 0),
            ("a=", 1),
            ("aG=", 3),
            ("aG=x", 2),
            ("aGk=x", 4),
            ("é", 0),
            ("aGkhaG", 4),
        ] {
            assert_eq!(canonical(text), Err(at), "{text}");
        }
    }
}
