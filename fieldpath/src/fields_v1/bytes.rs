//! Search for bytes that JSON escapes, eight bytes at a time.

/// A word that contains the same byte eight times.
const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the top bit of each zero byte. Bits above the lowest match may also be set.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(repeat(1)) & !word & repeat(0x80)
}

/// Sets the top bit of each quote, backslash and control character. Bits above the lowest match may also be set.
const fn escaped(word: u64) -> u64 {
    // Toggling the bit that distinguishes a quote from a space moves only the quote below 0x21.
    let low = (word ^ repeat(b'"' ^ b' ')).wrapping_sub(repeat(b' ' + 1)) & !word & repeat(0x80);
    low | zeros(word ^ repeat(b'\\'))
}

/// The index of the first quote, backslash or control character.
#[inline]
pub(super) fn plain_end(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks();
    let mut at = 0;
    for word in words {
        let found = escaped(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }

    rest.iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))
        .map(|n| at + n)
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
                        assert_eq!(plain_end(&text), escaped.then_some(at), "{text:?}");
                        assert_eq!(plain_end(&text[at + 1..]), None, "{text:?}");
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
                assert_eq!(plain_end(&text), Some(first));
            }
        }
        assert_eq!(plain_end(b""), None);
    }
}
