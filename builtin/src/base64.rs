//! Base64 as Go's `base64.StdEncoding` reads it: with line ends anywhere, and with any bits in the last character.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = ALPHABET.get((bits >> (18 - 6 * at)) as usize & 63).copied().unwrap_or_default();
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// The canonical form of a string in base64; `None` if the string is canonical.
///
/// # Errors
///
/// The position that Go reports, if the string is not base64.
pub(crate) fn canonical(text: &str) -> Result<Option<String>, usize> {
    let bytes = text.as_bytes();
    if is_canonical(bytes) {
        return Ok(None);
    }
    decode(bytes).map(|bytes| Some(encode(&bytes)))
}

fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// Whether the encoder writes this.
fn is_canonical(text: &[u8]) -> bool {
    let padding = text.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let (digits, _) = text.split_at(text.len() - padding);
    let unused = match padding {
        0 => 0,
        1 => 3,
        _ => 15,
    };
    text.len().is_multiple_of(4)
        && digits.iter().all(|byte| digit(*byte).is_some())
        && digits.last().and_then(|byte| digit(*byte)).is_none_or(|digit| digit & unused == 0)
}

fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut group: Vec<u8> = Vec::with_capacity(4);
    let mut rest = text.iter().copied().enumerate().filter(|(_, byte)| !matches!(byte, b'\n' | b'\r'));
    let mut push = |group: &[u8]| {
        let digit = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = digit(0) << 18 | digit(1) << 12 | digit(2) << 6 | digit(3);
        bytes.extend([(bits >> 16) as u8, (bits >> 8) as u8, bits as u8].iter().take(group.len() - 1));
    };
    while let Some((at, byte)) = rest.next() {
        if let Some(digit) = digit(byte) {
            group.push(digit);
            if group.len() == 4 {
                push(&group);
                group.clear();
            }
            continue;
        }
        if byte != b'=' || group.len() < 2 {
            return Err(at);
        }
        if group.len() == 2 {
            // The second character of the padding. Go reports the position before a wrong one.
            match rest.next() {
                None => return Err(text.len()),
                Some((_, b'=')) => {}
                Some((at, _)) => return Err(at - 1),
            }
        }
        push(&group);
        return match rest.next() {
            None => Ok(bytes),
            Some((at, _)) => Err(at),
        };
    }
    match group.len() {
        0 => Ok(bytes),
        read => Err(text.len() - read),
    }
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
        for (text, written) in
            [("aG\nk=", "aGk="), ("aGl=", "aGk="), ("aB==\r\n", "aA=="), ("a\nA\n=\n=\n", "aA=="), ("\n", "")]
        {
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
