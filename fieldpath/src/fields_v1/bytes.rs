//! Search for bytes that JSON escapes, eight bytes at a time.

/// A word with the same byte at all eight positions.
const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the top bit of each byte that is zero. Bits above the lowest match can be set too.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(repeat(1)) & !word & repeat(0x80)
}

/// Sets the top bit of each quote, backslash and control character. Bits above the lowest match can be set too.
const fn escaped(word: u64) -> u64 {
    // Toggling the bit that separates a quote from a space moves the quote, and nothing else, below 0x21.
    let low = (word ^ repeat(b'"' ^ b' ')).wrapping_sub(repeat(b' ' + 1)) & !word & repeat(0x80);
    low | zeros(word ^ repeat(b'\\'))
}

/// As [`escaped`], with the bytes that Go's encoder escapes for HTML: `<`, `>`, `&`, and 0xe2, the first byte of the
/// line separators.
const fn escaped_in_html(word: u64) -> u64 {
    // `<` and `>` differ in one bit.
    let angle = (word | repeat(b'<' ^ b'>')) ^ repeat(b'>');
    escaped(word) | zeros(angle) | zeros(word ^ repeat(b'&')) | zeros(word ^ repeat(0xe2))
}

/// The position of the first quote, backslash or control character at or after `start`.
#[inline]
pub(super) fn plain_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (words, rest) = bytes.get(start..)?.as_chunks();
    let mut at = start;
    for word in words {
        let found = escaped(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).map(|n| at + n)
}

/// Whether every JSON encoder writes the string without an escape. It is false for some strings that need none.
#[inline]
pub(super) fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(end) = bytes.last_chunk() else { return escaped_in_html(short(bytes)) == 0 };
    // The last word overlaps the one before it.
    let mut found = escaped_in_html(u64::from_le_bytes(*end));
    for word in bytes.as_chunks().0 {
        found |= escaped_in_html(u64::from_le_bytes(*word));
    }
    found == 0
}

/// The bytes of a string of less than eight bytes in any order, with repetitions or letters to fill the word.
#[inline]
fn short(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    match *bytes {
        [] => repeat(b'a'),
        [a] => repeat(a),
        [a, b] => u64::from_le_bytes([a, b, a, b, a, b, a, b]),
        [a, b, c, ..] => u64::from_le_bytes([a, b, c, a, b, c, a, b]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_classified_at_every_position() {
        for byte in 0..0x80_u8 {
            for length in 1..27 {
                for at in 0..length {
                    for around in [b'a', b'!', b'#', b'[', b']', b'=', 0x7f] {
                        let mut text = vec![around; length];
                        text[at] = byte;
                        let escaped = matches!(byte, b'"' | b'\\' | 0..0x20);
                        let html = matches!(byte, b'<' | b'>' | b'&');
                        assert_eq!(plain_end(&text, 0), escaped.then_some(at), "{text:?}");
                        assert_eq!(plain_end(&text, at + 1), None, "{text:?}");
                        let text = String::from_utf8(text).unwrap();
                        assert_eq!(is_plain(&text), !escaped && !html, "{text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_of_two_matches_is_found() {
        for second in 0..16 {
            for first in 0..=second {
                let mut text = [0x21; 16];
                (text[second], text[first]) = (b'"', 0x1f);
                assert_eq!(plain_end(&text, 0), Some(first));
            }
        }
        assert_eq!((plain_end(b"", 0), plain_end(b"\"", 7)), (None, None));
        assert!(is_plain("") && is_plain("é") && !is_plain("\u{2028}"));
    }
}
